"""How many tokens messages are likely to take, whatever their dialect, and what a conversation says as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.history.compaction import text_of

# An image is a few hundred to two thousand tokens; what a page of a PDF takes is of the same size.
_TOKENS_PER_MEDIA = 1_000
_TOKENS_PER_MESSAGE = 4
_THOUGHTS = ("thinking", "text", "summary", "content")
_RESULT_CHARACTERS = 2_000


class Estimate:
    """The estimated tokens of messages; each message is looked at once, as long as this lives."""

    def __init__(self, lens: Lens) -> None:
        self._lens = lens
        self._known: dict[int, tuple[Message, int]] = {}

    def of(self, messages: Iterable[Message]) -> int:
        """Return the tokens of the messages together."""
        return sum(map(self._of_one, messages))

    def _of_one(self, message: Message) -> int:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            # The message is kept beside its figure, so that its id cannot become another's.
            known = self._known[id(message)] = (message, _tokens(message, self._lens))
        return known[1]


def told(messages: Sequence[Message], lens: Lens) -> str:
    """Return a conversation as text for a summary: what was said, the calls by name, results cut to a length."""
    lines = []
    for message in messages:
        speaker = lens.role(message).capitalize()
        lines += [line for view in lens.views(message) if (line := _line(view, speaker, lens))]
    return "\n\n".join(lines)


def _line(view: BlockView, speaker: str, lens: Lens) -> str:
    match view.kind:
        case Kind.TEXT:
            text = text_of(view)
            return f"{speaker}: {text}" if text.strip() else ""
        case Kind.MEDIA:
            return f"{speaker}: [a file]"
        case Kind.CALL:
            return f"Tool call: {_arguments(view.block)[:_RESULT_CHARACTERS]}"
        case Kind.RESULT:
            return f"Tool result: {lens.result_text(view)[:_RESULT_CHARACTERS]}"
    return ""


def _tokens(message: Message, lens: Lens) -> int:
    views = lens.views(message)
    texts = [_said(view, lens) for view in views]
    return estimate_tokens("".join(texts)) + _TOKENS_PER_MESSAGE + len(lens.media_views(message)) * _TOKENS_PER_MEDIA


def _said(view: BlockView, lens: Lens) -> str:
    match view.kind:
        case Kind.TEXT:
            return text_of(view)
        case Kind.RESULT:
            return lens.result_text(view)
        case Kind.CALL:
            return _arguments(view.block)
        case Kind.REASONING:
            # Signatures and encrypted payloads are long, and not what the model is billed for.
            return _thoughts(view.block)
    return ""


def _thoughts(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, list):
        return "".join(map(_thoughts, block))
    return "".join(_thoughts(block.get(name)) for name in _THOUGHTS) if isinstance(block, dict) else ""


def _arguments(block: Any) -> str:
    """Return a call without its ids and signatures."""
    if not isinstance(block, dict):
        return str(block)
    inner = next((block[name] for name in _CALLS if isinstance(block.get(name), dict)), block)
    kept = {name: inner[name] for name in _CALL_FIELDS if inner.get(name) is not None}
    return json.dumps(kept, ensure_ascii=False, default=str)


_CALLS = ("function", "function_call", "functionCall")
_CALL_FIELDS = ("name", "arguments", "input", "args")
