"""Putting a chat stream together: chunks in, events and the final message out."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.events import Progress, ReasoningDelta, TextDelta
from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.providers.base import CallAsked, Meter, Reply, RequestFailedError

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
LONGEST_ANSWER = 16_000_000
_REASONING_FIELDS = ("reasoning_content", "reasoning")


class TextJoiner:
    """Joins text that arrives in pieces; half a surrogate pair waits for its other half.

    With ``trims`` white space at the beginning is left out, and any other waits until something follows it.
    """

    def __init__(self, *, trims: bool = False) -> None:
        self._pieces: list[str] = []
        self._held = ""
        self._trims = trims
        self._space = ""

    def take(self, piece: str) -> str:
        """Return what of the text so far is new and whole."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        if not text.isascii():
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if self._trims:
            text = self._trimmed(text)
        self._pieces.append(text)
        return text

    def _trimmed(self, text: str) -> str:
        text = self._space + text
        if not any(self._pieces):
            text = text.lstrip()
        kept = text.rstrip()
        self._space = text[len(kept) :]
        return kept

    @property
    def text(self) -> str:
        """Everything that arrived; half a pair whose other half never came is U+FFFD."""
        return "".join(self._pieces) + ("\ufffd" if self._held else "")


@dataclass(slots=True)
class _CallPieces:
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatAccumulator:
    """Collects one chat stream. Feed it every chunk; :meth:`reply` gives the whole, once it :attr:`is_complete`."""

    def __init__(self, meter: Meter, row: ModelRow) -> None:
        self._meter = meter
        self._meter.served_model = row.model
        self._text = TextJoiner(trims=row.trims_answers)
        self._reasoning = TextJoiner()
        self._calls: dict[int, _CallPieces] = {}
        self._finish_reason: str | None = None
        self._has_usage = False
        self._pieces_seen = 0
        self._characters = 0
        self.has_started = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream's terminal event has been seen."""
        return self._finish_reason is not None

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[Progress | TextDelta | ReasoningDelta]:
        """Take one chunk and yield what a reader sees of it."""
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._meter.served_model = chunk["model"]
        progress = chunk.get("prompt_progress")
        if isinstance(progress, Mapping):
            yield self._prompt_progress(progress)
        for choice in _list(chunk.get("choices"))[:1]:
            if isinstance(choice, Mapping):
                yield from self._feed_delta(_mapping(choice.get("delta")))
                reason = choice.get("finish_reason")
                self._finish_reason = reason if isinstance(reason, str) else self._finish_reason
        if isinstance(chunk.get("usage"), Mapping):
            self._meter.usage = usage_of(chunk["usage"])
            self._has_usage = True

    def reply(self) -> Reply:
        """Return the whole answer."""
        if not self._has_usage:
            self._meter.usage = self._estimated()
        text = self._text.text
        calls = tuple(self._asked(pieces) for _, pieces in sorted(self._calls.items()))
        reason = _STOP_REASONS.get(self._finish_reason or "", self._finish_reason or "")
        return Reply(
            messages=(self._message(text, calls),),
            text=text,
            calls=calls,
            stop_reason="tool_use" if calls and reason == "end_turn" else reason,
            usage=self._meter.usage,
            served_model=self._meter.served_model,
        )

    def _feed_delta(self, delta: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        for name in _REASONING_FIELDS:
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                self._check_size(piece)
                yield from self._seen(ReasoningDelta, self._reasoning.take(piece))
                break
        for name in ("content", "refusal"):
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                self._check_size(piece)
                yield from self._seen(TextDelta, self._text.take(piece))
        for position, call in enumerate(_list(delta.get("tool_calls"))):
            if isinstance(call, Mapping):
                self.has_started = True
                self._feed_call(call, position)

    def _check_size(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > LONGEST_ANSWER:
            raise RequestFailedError(
                f"the answer is longer than {LONGEST_ANSWER:,} characters; the server does not seem to end it",
                is_retryable=False,
                code="endless_answer",
            )

    def _seen(self, kind: Any, text: str) -> Iterator[Any]:
        self.has_started = True
        self._pieces_seen += 1
        if not self._has_usage:
            counted = self._meter.usage
            self._meter.usage = TokenUsage(counted.input_tokens, self._pieces_seen, counted.cached_input_tokens)
        if text:
            yield kind(text)

    def _feed_call(self, call: Mapping[str, Any], position: int) -> None:
        index = call.get("index")
        pieces = self._calls.setdefault(index if isinstance(index, int) else position, _CallPieces())
        function = _mapping(call.get("function"))
        pieces.id = pieces.id or _string(call.get("id"))
        pieces.name = pieces.name or _string(function.get("name"))
        arguments = function.get("arguments")
        # Some servers hand the arguments over as an object, whole.
        piece = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        self._check_size(piece)
        pieces.arguments += piece

    def _prompt_progress(self, progress: Mapping[str, Any]) -> Progress:
        total, done, cached = (_count(progress.get(name)) for name in ("total", "processed", "cache"))
        self._meter.usage = TokenUsage(input_tokens=total, cached_input_tokens=min(cached, total))
        return Progress("reading_prompt", min(done, total), total, "tokens")

    def _asked(self, pieces: _CallPieces) -> CallAsked:
        call_id = clean_text(pieces.id) or f"call_{secrets.token_hex(12)}"
        name = clean_text(pieces.name)
        try:
            arguments = json.loads(pieces.arguments or "{}")
        except (ValueError, RecursionError):
            return CallAsked(call_id, name, {"invalid_json": clean_text(pieces.arguments)}, "is not valid JSON")
        if not isinstance(arguments, dict):
            return CallAsked(call_id, name, {"not_an_object": arguments}, "is not a JSON object")
        return CallAsked(call_id, name, arguments)

    def _message(self, text: str, calls: tuple[CallAsked, ...]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
        if self._reasoning.text:
            message["reasoning_content"] = self._reasoning.text
        if calls:
            message["tool_calls"] = [_native_call(call) for call in calls]
        return message

    def _estimated(self) -> TokenUsage:
        """Return the usage of a server that told none: what was counted, else a quarter of the characters."""
        counted = self._meter.usage
        written = estimate_tokens(self._text.text) + estimate_tokens(self._reasoning.text)
        return TokenUsage(counted.input_tokens, max(counted.output_tokens, written), counted.cached_input_tokens)


def usage_of(usage: Mapping[str, Any]) -> TokenUsage:
    """Return the token counts of a chat ``usage`` object; what is missing or no number is 0."""
    prompt = _mapping(usage.get("prompt_tokens_details"))
    completion = _mapping(usage.get("completion_tokens_details"))
    return TokenUsage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_input_tokens=_count(prompt.get("cached_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
    )


def _native_call(call: CallAsked) -> dict[str, Any]:
    # Arguments that are not JSON would make the next request fail on servers whose template reads them (W-F5).
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": clean_text(arguments)}}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
