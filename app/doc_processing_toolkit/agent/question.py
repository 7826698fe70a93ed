"""A turn's question: prompt and files as one user message in the row's dialect, checked against the window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent.prices import context_window
from doc_processing_toolkit.agent.settings import AgentSettings
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message, TurnRequest
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.documents import question_part
from doc_processing_toolkit.dialects.view import TextPart, UserPart
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.media.intake import is_document, take_files

# Tokens are estimated from characters; a question is refused only when it cannot fit even if the estimate is high.
ESTIMATE_SLACK = 1.5
_TEXT_FIELDS = ("content", "parts", "output", "arguments")


@dataclass(frozen=True, slots=True)
class Question:
    """The user message: as it is stored, and as it is sent (the same, unless context goes before it)."""

    message: Message
    sent: Message


async def build_question(
    request: TurnRequest,
    attachments: Sequence[Any],
    row: ModelRow,
    settings: AgentSettings,
    report: Callable[[Progress], None],
) -> Question:
    """Return the question of a turn. Raises what reading its files raises."""
    parts = await take_files(attachments, row, on_unsupported_part=settings.on_unsupported_part, on_progress=report)
    prompt = clean_text(request.prompt)
    if prompt.strip() or not parts:
        parts.append(question_part(row, prompt, has_documents=any(map(is_document, attachments))))
    lens = lens_of(row.dialect)
    message = lens.user_message(parts)
    if not request.context:
        return Question(message, message)
    with_context: list[UserPart] = [TextPart(clean_text(request.context)), *parts]
    return Question(message, lens.user_message(with_context))


def check_fit(row: ModelRow, messages: Iterable[Message], instructions: str | None) -> None:
    """Raise ``ProviderError`` when the conversation cannot fit the row's window; the message names both numbers."""
    window = context_window(row)
    if window is None:
        return
    texts = [instructions or ""]
    for message in messages:
        texts.extend(_texts(message))
    allowed = window * ESTIMATE_SLACK
    characters = sum(map(len, texts))
    # No text takes more than a token a character, and none less than one for four: most need no closer look.
    if characters <= allowed:
        return
    needed = characters // 4
    if needed <= allowed:
        needed = estimate_tokens("".join(texts))
    if needed > allowed:
        raise ProviderError(
            f"the conversation is too long for {row.label}: it takes about {needed:,} tokens and the window holds "
            f"{window:,}; attach less, or go back to an earlier turn",
            provider=row.provider,
            code="context_length_exceeded",
        )


def _texts(message: Message) -> list[str]:
    """Return a message's texts, in whichever dialect it is; media counts nothing here."""
    texts: list[str] = []
    for field in _TEXT_FIELDS:
        value = message.get(field)
        if type(value) is str:
            texts.append(value)
        elif type(value) is list:
            texts += [part["text"] for part in value if type(part) is dict and type(part.get("text")) is str]
            texts += [part["content"] for part in value if type(part) is dict and type(part.get("content")) is str]
    return texts
