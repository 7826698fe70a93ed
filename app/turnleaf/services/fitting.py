"""Whether a question fits a model's window, and which part of its documents would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.documents import DocumentText, estimate_tokens
from doc_processing_toolkit.registry import ModelRow
from turnleaf.services.attachment import Attachment, attachment_of

DEFAULT_RESERVE = 1_024
TOKENS_PER_PART = 16
"""What the words around a question and each document take."""
CAUTION = 0.9
"""Of the room that is left, a cut document fills this much: counts are estimates."""
SMALLEST_PART = 64
"""Tokens below which a piece of a document is of no use."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a question fits the model's window. Counts are estimated tokens; ``text`` is a plain sentence if not.

    ``suggestion`` are the attachments cut to the part that fits, or ``None`` when not even that helps. ``window`` is
    0 when nobody knows it; then everything fits until the server says otherwise.
    """

    ok: bool
    needed_tokens: int
    window: int
    suggestion: tuple[Attachment, ...] | None = None
    text: str = ""


def fits(attachments: Sequence[Attachment], question: str, history_tokens: int, row: ModelRow) -> Fit:
    """Say whether history, question and documents leave room for an answer, and which part of the documents would.

    Cheap when they fit; where documents must be cut it reads as much text as the window holds, so call it in a thread.
    """
    window = row.context_window or 0
    fixed = history_tokens + estimate_tokens(question) + TOKENS_PER_PART * (1 + len(attachments)) + _reserve(row)
    documents = sum(_tokens(attachment) for attachment in attachments)
    needed = fixed + documents
    if not window or needed <= window:
        return Fit(ok=True, needed_tokens=needed, window=window)
    suggestion = _cut_to(attachments, int((window - fixed) * CAUTION))
    return Fit(False, needed, window, suggestion, _sentence(row, needed, window, attachments, suggestion))


def history_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return about how many tokens a history takes, its text counted. Blocking for a long one: call it in a thread."""
    return sum(_text_tokens(value) for message in messages for value in message.values()) + 4 * len(messages)


def _text_tokens(value: Any) -> int:
    if isinstance(value, str):
        return 0 if value.startswith("data:") else estimate_tokens(value)
    if isinstance(value, Mapping):
        return sum(_text_tokens(item) for key, item in value.items() if key not in ("type", "id", "role", "data"))
    if isinstance(value, list):
        return sum(_text_tokens(item) for item in value)
    return 0


def _reserve(row: ModelRow) -> int:
    """Tokens kept free for the answer: what the row may take, but never more than a quarter of the window."""
    wanted = row.max_output_tokens or DEFAULT_RESERVE
    return min(wanted, row.context_window // 4) if row.context_window else wanted


def _tokens(attachment: Attachment) -> int:
    if attachment.info.estimated_tokens is not None:
        return attachment.info.estimated_tokens
    return attachment.document.estimated_tokens if attachment.document is not None else 0


def _cut_to(attachments: Sequence[Attachment], room: int) -> tuple[Attachment, ...] | None:
    """Return the attachments cut so that all of them together take `room` tokens; small ones stay whole."""
    cut: dict[int, Attachment] = {}
    order = sorted(range(len(attachments)), key=lambda index: _tokens(attachments[index]))
    for position, index in enumerate(order):
        share = room // (len(order) - position)
        attachment = attachments[index]
        if _tokens(attachment) > share:
            part = _part(attachment.document, share) if attachment.document is not None else None
            if part is None:
                return None
            attachment = part
        cut[index] = attachment
        room -= _tokens(attachment)
    return tuple(cut[index] for index in range(len(attachments))) if cut else None


def _part(document: DocumentText, tokens: int) -> Attachment | None:
    """Return the beginning of a document in at most `tokens`, ``None`` when that is next to nothing."""
    if tokens < SMALLEST_PART:
        return None
    characters = int(document.characters * tokens / max(1, document.estimated_tokens))
    for _ in range(6):
        head = document.head(characters)
        if not head.text.strip():
            return None
        if head.estimated_tokens <= tokens:
            return attachment_of(head)
        # A part can be denser than the whole (tables first); aim a little below.
        characters = int(min(characters, head.characters) * 0.97 * tokens / head.estimated_tokens)
    return None


def _sentence(
    row: ModelRow,
    needed: int,
    window: int,
    attachments: Sequence[Attachment],
    suggestion: tuple[Attachment, ...] | None,
) -> str:
    too_long = f"This takes about {needed:,} tokens, and {row.label} reads {window:,} at most."
    if not attachments:
        return f"{too_long} Shorten the question, or go back to an earlier turn."
    if suggestion is None:
        return f"{too_long} The conversation leaves no room for the files; start a new one, or choose another model."
    notes = [
        f"{new.info.name}: {new.info.notes[0]}"
        for old, new in zip(attachments, suggestion, strict=True)
        if new is not old and new.info.notes
    ]
    return f"{too_long} The part that fits can be sent instead. {' '.join(notes)}".rstrip()
