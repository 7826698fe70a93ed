"""Sending a history again: which of its items the server takes, and what goes when it cannot read its reasoning."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.openai import wire_item
from doc_processing_toolkit.dialects.openai_items import is_written_by_model, mend, settled, type_of, without_id


def sendable(messages: Sequence[Message], unreadable: Collection[str] = ()) -> list[Message]:
    """Return the items to send: the stored messages as they are, without what the server is known to refuse.

    ``unreadable`` are reasoning items (see :func:`mark_of`) that go, with all that hangs on them. In a history that
    was stored here nothing else changes.
    """
    items = [wire_item(message) for message in messages]
    if unreadable:
        readable = [item for item in items if type_of(item) != "reasoning" or mark_of(item) not in unreadable]
        items = mend(items, readable)
    return settled(items)


def retreat(items: Sequence[Message]) -> list[Message] | None:
    """Return the items with less reasoning, for a server that refused it; ``None`` when there is none left.

    First the closed turns lose theirs, then all of it goes, and every id that stood for something on the server.
    """
    question = max((at for at, item in enumerate(items) if item.get("role") == "user"), default=0)
    closed = [*_without_reasoning(items[:question]), *items[question:]]
    if len(closed) < len(items):
        return closed
    bare = [without_id(item) if is_written_by_model(item) else item for item in _without_reasoning(items)]
    is_less = len(bare) < len(items) or any(new is not old for new, old in zip(bare, items, strict=True))
    return bare if is_less else None


def mark_of(reasoning: Message) -> str:
    """Return what a reasoning item is known by: its id, else the beginning of its payload."""
    identifier = reasoning.get("id")
    return identifier if isinstance(identifier, str) else str(reasoning.get("encrypted_content"))[:64]


def reasoning_in(items: Sequence[Message]) -> set[str]:
    """Return the marks of all reasoning items."""
    return {mark_of(item) for item in items if type_of(item) == "reasoning"}


def _without_reasoning(items: Sequence[Message]) -> list[Message]:
    return mend(items, [item for item in items if type_of(item) != "reasoning"])
