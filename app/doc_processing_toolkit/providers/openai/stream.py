"""Putting a Responses stream together: events in, deltas and the whole answer out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.core.jsonclean import clean, clean_text
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.dialects.openai import answer_only
from doc_processing_toolkit.dialects.openai_items import as_stored, type_of
from doc_processing_toolkit.providers.base import CallAsked, Meter, Reply
from doc_processing_toolkit.providers.chat.stream import TextJoiner

# No model's longest answer comes near; a stream that passes it does not end.
LONGEST_ANSWER_CHARACTERS = 16_000_000
_INCOMPLETE = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
_PARAGRAPH = "\n\n"

Delta = TextDelta | ReasoningDelta
_NOTHING: tuple[Delta, ...] = ()


class AnswerTooLongError(ValueError):
    """A stream of text that does not end."""


class ResponseAccumulator:
    """Collects one Responses stream. Feed it every event; :meth:`reply` gives the whole, once it :attr:`is_complete`.

    ``failure`` is what the server said when the answer failed, inside a stream that had begun well; ``has_account``
    says whether the server has told what the request used.
    """

    def __init__(self, meter: Meter, model: str) -> None:
        self._meter = meter
        self._meter.served_model = model
        self._text = TextJoiner()
        self._reasoning = TextJoiner()
        self._deltas = 0
        self._characters = 0
        self._shown: set[tuple[Any, Any]] = set()
        self._done: dict[int, Message] = {}
        self._phase: str | None = None
        self._final: Mapping[str, Any] | None = None
        self.failure: Mapping[str, Any] | None = None
        self.has_begun = False
        self.has_account = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream's terminal event has been seen."""
        return self._final is not None

    def feed(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        """Take one event and return what a reader sees of it. Events of unknown types are passed over.

        Raises :class:`AnswerTooLongError` for a stream that does not end.
        """
        self.has_begun = True
        kind = event.get("type")
        handle = _HANDLERS.get(kind) if type(kind) is str else None
        return _NOTHING if handle is None else handle(self, event)

    def reply(self, *, keeps_payloads: bool, has_tools: bool) -> Reply:
        """Return the whole answer; see :func:`as_stored` for ``keeps_payloads``.

        Without tools the stored answer is its text alone (B09). Raises ``ValueError`` for items that are no JSON.
        """
        output = clean(self._output())
        if self._is_incomplete:
            output = [item for item in output if not _is_cut_off(item)]
        calls = tuple(_asked(item) for item in output if type_of(item) == "function_call")
        text, has_refused = _said(output)
        messages = tuple(as_stored(output, keeps_payloads=keeps_payloads)) if has_tools else answer_only(text)
        return Reply(
            messages=messages or answer_only(text),
            text=text,
            calls=calls,
            stop_reason=self._stop_reason(calls, has_refused=has_refused),
            usage=self._meter.usage,
            served_model=self._meter.served_model,
            input_transformations=tuple(clean(_objects(self._response.get("input_transformations")))),
        )

    @property
    def answered(self) -> str:
        """What of the answer has arrived so far: reasoning and text."""
        return self._reasoning.text + self._text.text

    @property
    def _response(self) -> Mapping[str, Any]:
        return self._final or {}

    def _output(self) -> list[Message]:
        """Return the final response's items; where it has none, those that were done on the way."""
        output = _objects(self._response.get("output"))
        return output or [item for _, item in sorted(self._done.items())]

    @property
    def _is_incomplete(self) -> bool:
        return self._response.get("status") == "incomplete"

    def _stop_reason(self, calls: Sequence[CallAsked], *, has_refused: bool) -> str:
        if self._is_incomplete:
            reason = _mapping(self._response.get("incomplete_details")).get("reason")
            return _INCOMPLETE.get(str(reason), str(reason or "incomplete"))
        if calls:
            return "tool_use"
        return "refusal" if has_refused else "end_turn"

    def _take_text(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        self._shown.add((event.get("output_index"), event.get("content_index")))
        text = self._counted(self._text, event.get("delta"))
        return (TextDelta(text),) if text else _NOTHING

    def _take_text_whole(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        """Show a part that came without deltas."""
        if (event.get("output_index"), event.get("content_index")) in self._shown:
            return _NOTHING
        whole = event.get("text", event.get("refusal"))
        return self._take_text({**event, "delta": whole})

    def _take_reasoning(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        text = self._counted(self._reasoning, event.get("delta"))
        return (ReasoningDelta(text),) if text else _NOTHING

    def _part_reasoning(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        """Keep the parts of a summary apart."""
        return (ReasoningDelta(self._reasoning.take(_PARAGRAPH)),) if self._reasoning.text else _NOTHING

    def _open_item(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        """Keep a comment apart from what the model says after it."""
        item = _mapping(event.get("item"))
        if item.get("type") != "message":
            return _NOTHING
        before, self._phase = self._phase, item.get("phase")
        return (TextDelta(self._text.take(_PARAGRAPH)),) if before == "commentary" and self._text.text else _NOTHING

    def _close_item(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        item, index = event.get("item"), event.get("output_index")
        if isinstance(item, dict):
            self._done[index if isinstance(index, int) else len(self._done)] = item
        return _NOTHING

    def _begin(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        self._read_account(_mapping(event.get("response")))
        return _NOTHING

    def _finish(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        self._final = _mapping(event.get("response"))
        self._read_account(self._final)
        return _NOTHING

    def _fail(self, event: Mapping[str, Any]) -> Sequence[Delta]:
        response = _mapping(event.get("response"))
        self._read_account(response)
        said = response.get("error") if response else event.get("error") or event
        if self.failure is None:
            self.failure = _mapping(said)
        return _NOTHING

    def _read_account(self, response: Mapping[str, Any]) -> None:
        model = response.get("model")
        if isinstance(model, str) and model:
            self._meter.served_model = model
        if isinstance(response.get("usage"), Mapping):
            self._meter.usage = usage_of(response["usage"])
            self.has_account = True

    def _counted(self, joiner: TextJoiner, piece: Any) -> str:
        if not isinstance(piece, str):
            return ""
        self._deltas += 1
        self._characters += len(piece)
        if self._characters > LONGEST_ANSWER_CHARACTERS:
            raise AnswerTooLongError(f"the answer has passed {LONGEST_ANSWER_CHARACTERS:,} characters and goes on")
        # A delta is about a token; the account comes with the last event.
        self._meter.usage = TokenUsage(output_tokens=self._deltas)
        return joiner.take(piece)


def usage_of(usage: Mapping[str, Any]) -> TokenUsage:
    """Return the token counts of a ``usage`` object, whose input counts the cached tokens in."""
    details, written = _mapping(usage.get("input_tokens_details")), _mapping(usage.get("output_tokens_details"))
    return TokenUsage(
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cached_input_tokens=_count(details.get("cached_tokens")),
        cache_write_tokens=_count(details.get("cache_write_tokens")),
        reasoning_tokens=_count(written.get("reasoning_tokens")),
    )


_HANDLERS: Mapping[str, Callable[[ResponseAccumulator, Mapping[str, Any]], Sequence[Delta]]] = {
    "response.output_text.delta": ResponseAccumulator._take_text,
    "response.refusal.delta": ResponseAccumulator._take_text,
    "response.output_text.done": ResponseAccumulator._take_text_whole,
    "response.refusal.done": ResponseAccumulator._take_text_whole,
    "response.reasoning_summary_text.delta": ResponseAccumulator._take_reasoning,
    "response.reasoning_text.delta": ResponseAccumulator._take_reasoning,
    "response.reasoning_summary_part.added": ResponseAccumulator._part_reasoning,
    "response.output_item.added": ResponseAccumulator._open_item,
    "response.output_item.done": ResponseAccumulator._close_item,
    "response.created": ResponseAccumulator._begin,
    "response.completed": ResponseAccumulator._finish,
    "response.incomplete": ResponseAccumulator._finish,
    "response.failed": ResponseAccumulator._fail,
    "error": ResponseAccumulator._fail,
}


def _is_cut_off(item: Message) -> bool:
    """Whether an item of an incomplete answer is a call that was cut off; such a call is not asked for."""
    return type_of(item) == "function_call" and item.get("status") in ("incomplete", "in_progress")


def _said(output: Sequence[Message]) -> tuple[str, bool]:
    """Return the text of the answer, without comments that came before it, and whether it is a refusal."""
    spoken = [item for item in output if type_of(item) == "message"]
    final = [item for item in spoken if item.get("phase") == "final_answer"]
    parts = [part for item in final or spoken for part in _objects(item.get("content"))]
    texts = [part.get("refusal") if part.get("type") == "refusal" else part.get("text") for part in parts]
    has_refused = any(part.get("type") == "refusal" for part in parts)
    return "".join(text for text in texts if isinstance(text, str)), has_refused


def _asked(item: Message) -> CallAsked:
    call_id, name, text = (clean_text(str(item.get(key) or "")) for key in ("call_id", "name", "arguments"))
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return CallAsked(call_id, name, {"invalid_json": text}, "is not valid JSON")
    if not isinstance(arguments, dict):
        return CallAsked(call_id, name, {"not_an_object": arguments}, "is not a JSON object")
    return CallAsked(call_id, name, arguments)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
