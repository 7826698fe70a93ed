"""Whether bytes look like text at all, in any encoding."""

from __future__ import annotations

import re

from doc_processing_toolkit.documents.wide import detect_bom, detect_wide

# Control bytes that no text in a byte-oriented encoding holds; tab, line ends, form feed, backspace, shift in and
# out, Ctrl-Z and escape do occur in texts.
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {8, 9, 10, 11, 12, 13, 0x0E, 0x0F, 0x1A, 0x1B}))
_NOT_CONTROLS = bytes(sorted(set(range(256)) - set(_CONTROLS)))
# A crash or a pre-allocated log leaves long runs of NUL in a text: a run is one fault.
_NUL_RUN = re.compile(rb"\x00{8,}")


def looks_like_text(data: bytes | bytearray) -> bool:
    """Whether ``data`` (a file's beginning, or all of it) may be text; a stray control character does no harm."""
    if not data.strip(b"\x00"):
        return False
    return detect_bom(data) is not None or not has_many_controls(data) or detect_wide(data) is not None


def has_many_controls(data: bytes | bytearray) -> bool:
    """Whether more control characters stand in ``data`` than strayed into it: above one in twelve, or in fifty.

    The stricter measure is for what is not ASCII: compressed data has one in nine, UTF-16 in most scripts one in two.
    """
    shorter = _NUL_RUN.sub(b"\x00", data)
    strays = len(shorter.translate(None, _NOT_CONTROLS))
    allowed = len(shorter) // (12 if shorter.isascii() else 50)
    return strays > max(allowed, 1 if len(shorter) >= 8 else 0)
