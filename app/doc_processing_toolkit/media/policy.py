"""What a save and a restore do with media: inline, in a store under its digest, or a placeholder (J01–J05)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.protocols import MediaStore, Message
from doc_processing_toolkit.dialects.view import BlockView, Lens, MediaReference
from doc_processing_toolkit.media.placeholders import Held, decoded_size, placeholder, replace_media

log = logging.getLogger(__name__)

POLICIES = ("auto", "inline", "externalize", "strip")
MARKER = "$media:"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class SavedMedia:
    """The messages as they are written, the media table's new rows, and what was not kept."""

    messages: list[Message]
    table: dict[str, Any] = field(default_factory=dict)
    report: list[dict[str, Any]] = field(default_factory=list)


def applied_policy(policy: str, store: MediaStore | None) -> str:
    """Return the policy that a save applies. Raises ``ValueError`` for an unknown one, or one that lacks its store."""
    if policy not in POLICIES:
        raise ValueError(f"media is {policy!r}; it must be one of {', '.join(POLICIES)}")
    if policy == "externalize" and store is None:
        raise ValueError("media is 'externalize' and there is no media_store; give one, or save with 'inline'")
    if policy == "auto":
        return "inline" if store is None else "externalize"
    return policy


def save_media(messages: Sequence[Message], lens: Lens, policy: str, store: MediaStore | None) -> SavedMedia:
    """Return the messages as a save under ``policy`` writes them; references stay as they are."""
    if policy == "inline":
        return SavedMedia(list(messages))
    table: dict[str, Any] = {}
    report: list[dict[str, Any]] = []

    def externalize(index: int, view: BlockView, held: Held) -> BlockView | None:
        data = _bytes_of(held)
        if data is None or store is None:
            return None
        sha256 = hashlib.sha256(data).hexdigest()
        ref = store.put(sha256, held.mime_type, data)
        table[ref] = {"ref": ref, "sha256": sha256, "mime_type": held.mime_type, "size": len(data)}
        return lens.with_media(view, MARKER + ref)

    def strip(index: int, view: BlockView, held: Held) -> BlockView | None:
        if isinstance(held, MediaReference):
            return None
        size = decoded_size(held.data)
        report.append({"reason": "stripped", "mime_type": held.mime_type, "size": size, "message_index": index})
        return lens.text_block(view, placeholder(held, "removed on save"))

    changed = replace_media(messages, lens, externalize if policy == "externalize" else strip)
    return SavedMedia(changed, table, report)


def restore_media(
    messages: Sequence[Message], lens: Lens, table: Mapping[str, Any], store: MediaStore | None
) -> SavedMedia:
    """Return the messages with the stored bytes back inline; what cannot be had becomes a placeholder, and is reported.

    ``table`` of the result holds the rows that are still needed: those that do not belong to an inline part.
    """
    report: list[dict[str, Any]] = []
    used: set[str] = set()

    def inline(index: int, view: BlockView, held: Held) -> BlockView | None:
        if isinstance(held, MediaReference) or not held.data.startswith(MARKER):
            return None
        ref = held.data[len(MARKER) :]
        used.add(ref)
        row = table.get(ref)
        data = _fetched(ref, row, store)
        if data is not None:
            return lens.with_media(view, base64_text(data))
        size = _size_in(row)
        report.append({"reason": "missing_blob", "mime_type": held.mime_type, "size": size, "message_index": index})
        return lens.text_block(view, placeholder(held, "not available on restore", size=size or 0))

    changed = replace_media(messages, lens, inline)
    if report:
        log.warning("%d media part(s) are not available on restore", len(report))
    return SavedMedia(changed, {ref: row for ref, row in table.items() if ref not in used}, report)


def base64_text(data: bytes) -> str:
    """Return the bytes as base64 text, encoded in pieces so that other threads get their turn."""
    view, piece = memoryview(data), _PIECE // 4 * 3
    return "".join(
        base64.b64encode(view[start : start + piece]).decode("ascii") for start in range(0, len(view), piece)
    )


def bytes_of_base64(text: str) -> bytes | None:
    """Return what base64 text stands for, decoded in pieces; ``None`` when it is not base64."""
    try:
        if len(text) <= _PIECE or "\n" in text:
            return base64.b64decode(text, validate="\n" not in text)
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except (binascii.Error, ValueError):
        return None


def _bytes_of(held: Held) -> bytes | None:
    """Return the bytes of an inline part; ``None`` for a reference, a marker, or what is not base64."""
    if isinstance(held, MediaReference) or held.data.startswith(MARKER):
        return None
    return bytes_of_base64(held.data)


def _fetched(ref: str, row: Any, store: MediaStore | None) -> bytes | None:
    if store is None:
        return None
    try:
        data: Any = store.get(ref)
    except Exception as error:  # noqa: BLE001 - a store is the host's own and may raise anything (J04)
        log.info("the media store has no blob for a reference: %s", type(error).__name__)
        return None
    expected = row.get("sha256") if isinstance(row, Mapping) else None
    if not isinstance(data, bytes | bytearray):
        return None
    if isinstance(expected, str) and hashlib.sha256(data).hexdigest() != expected:
        return None
    return bytes(data)


def _size_in(row: Any) -> int | None:
    size = row.get("size") if isinstance(row, Mapping) else None
    return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None
