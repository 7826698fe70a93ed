"""Text that stands in the place of media: when a turn is stored, saved, restored, or the row does not take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import BlockView, InlineMedia, Lens, MediaReference, replace_blocks
from doc_processing_toolkit.media.sniff import human_size

Held = InlineMedia | MediaReference


def decoded_size(data: str) -> int:
    """Return how many bytes base64 text stands for."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


def placeholder(held: Held, reason: str, *, size: int | None = None) -> str:
    """Return the text for a media part: ``[image/png, 136 B, removed on save]``."""
    kind = held.mime_type or "media"
    if isinstance(held, MediaReference):
        return f"[{kind}, {reason}]"
    return f"[{kind}, {human_size(decoded_size(held.data) if size is None else size)}, {reason}]"


def replace_media(
    messages: Sequence[Message], lens: Lens, decide: Callable[[int, BlockView, Held], BlockView | None]
) -> list[Message]:
    """Return the messages with each media block as ``decide(index, view, held)`` says; ``None`` leaves it."""
    changed: list[Message] = []
    for index, message in enumerate(messages):
        new: list[BlockView] = []
        for view in lens.media_views(message):
            held = lens.media(view)
            block = None if held is None else decide(index, view, held)
            if block is not None:
                new.append(block)
        changed.append(replace_blocks(message, new) if new else message)
    return changed


def strip_media(
    messages: Sequence[Message], lens: Lens, *, first_index: int
) -> tuple[list[Message], list[dict[str, Any]]]:
    """Return the messages without media, inline and referenced, and a report entry for each (J08)."""
    report: list[dict[str, Any]] = []

    def decide(index: int, view: BlockView, held: Held) -> BlockView:
        entry: dict[str, Any] = {
            "reason": "stripped",
            "source": "preserve_media",
            "mime_type": held.mime_type,
            "message_index": first_index + index,
        }
        if isinstance(held, MediaReference):
            entry["uri"] = held.uri
        else:
            entry["size"] = decoded_size(held.data)
        report.append(entry)
        return lens.text_block(view, placeholder(held, "not kept"))

    return replace_media(messages, lens, decide), report
