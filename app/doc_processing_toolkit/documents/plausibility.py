"""Whether bytes look like text at all, and which by a byte order mark or by wide characters."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter

_SAMPLE = 32 << 10
# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_WIDE = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
_WIDE_SHARE = 0.9
# Chinese of both scripts, Japanese and Korean in everyday use: the first level of each national standard.
_EVERYDAY = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("euc_jp", 0xA1, 0xCF), ("euc_kr", 0xB0, 0xC8))
# Control bytes that no text in a byte-oriented encoding holds. Tab, line ends, form feed, backspace, shift in and out,
# Ctrl-Z and escape do occur in texts, and so do 0x05 and 0x15: tab and line end of EBCDIC.
CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {5, 8, 9, 10, 11, 12, 13, 0x0E, 0x0F, 0x15, 0x1A, 0x1B}))
_NOT_CONTROLS = bytes(sorted(set(range(256)) - set(CONTROLS)))
# A crash or a pre-allocated log leaves long runs of NUL in a text: a run is one fault.
_NUL_RUN = re.compile(rb"\x00{8,}")


def looks_like_text(data: bytes | bytearray) -> bool:
    """Whether ``data`` (a file's beginning, or all of it) may be text; a stray control character does no harm."""
    if not data.strip(b"\x00"):
        return False
    return detect_bom(data) is not None or not has_many_controls(data) or detect_wide(data) is not None


def has_many_controls(data: bytes | bytearray) -> bool:
    """Whether more control characters stand in ``data`` than strayed into it: above one in twelve, or in fifty.

    The stricter measure is for what is not ASCII: compressed data has one in ten, UTF-16 in most scripts one in two.
    """
    shorter = _NUL_RUN.sub(b"\x00", data)
    strays = len(shorter.translate(None, _NOT_CONTROLS))
    allowed = len(shorter) // (12 if shorter.isascii() else 50)
    return strays > max(allowed, 1 if len(shorter) >= 8 else 0)


def detect_bom(data: bytes | bytearray) -> tuple[str, int] | None:
    """Return the codec that a byte order mark at the beginning declares, and the mark's length."""
    for mark, codec in _MARKS:
        # UTF-16 whose first character is NUL begins like UTF-32.
        if data.startswith(mark) and (codec != "utf-32-le" or _beginning(data, codec, 4) is not None):
            return codec, len(mark)
    return None


def detect_wide(data: bytes | bytearray) -> str | None:
    """Return the UTF-16 or UTF-32 codec of text without a byte order mark, ``None`` when it is neither.

    It is that in which nearly all characters are everyday ones; other data read so is rare signs from everywhere. Of
    two byte orders, that in which they are of fewer scripts.
    """
    texts = {codec: _beginning(data, codec, unit) or "" for codec, unit in _WIDE}
    fitting = [codec for codec, text in texts.items() if _familiar_share(text) > _WIDE_SHARE]
    return min(fitting, key=lambda codec: len({ord(c) >> 8 for c in texts[codec]}), default=None)


def _beginning(data: bytes | bytearray, codec: str, unit: int) -> str | None:
    """Return the first characters of ``data``, ``None`` when they are not in this encoding."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(bytes(data[: min(len(data), _SAMPLE) // unit * unit]))
    except UnicodeDecodeError:
        return None


def _familiar_share(text: str) -> float:
    return sum(number for character, number in Counter(text).items() if _is_familiar(character)) / max(1, len(text))


def _is_familiar(character: str) -> bool:
    if character < "\u3000" or character > "\uffff":
        return character in "\t\n\r\x0c" or unicodedata.category(character) not in {"Cc", "Cn", "Co"}
    for codec, first, last in _EVERYDAY:
        try:
            lead = character.encode(codec)[0]
        except UnicodeEncodeError:
            continue
        if first <= lead <= last:
            return True
    return False
