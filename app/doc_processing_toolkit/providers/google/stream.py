"""Putting a Gemini stream together: chunks in; deltas, the usage and the content as the API returned it out."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.core.jsonclean import clean, clean_text
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.dialects.google import UNNUMBERED
from doc_processing_toolkit.dialects.google_parts import Part, is_empty, stored_part, value_of
from doc_processing_toolkit.providers.base import CallAsked, Meter, Reply
from doc_processing_toolkit.providers.chat.stream import LONGEST_ANSWER, TextJoiner
from doc_processing_toolkit.providers.google.endings import stop_reason_of
from doc_processing_toolkit.providers.google.partial_args import MisplacedPieceError, put_piece

# What a text token has on average, for an answer that breaks off before its count is told.
_CHARACTERS_A_TOKEN = 4
_MERGEABLE = frozenset({"text", "thought"})
_IN_PIECES = frozenset({"partial_args", "will_continue"})
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")

Delta = TextDelta | ReasoningDelta


class AnswerTooLongError(ValueError):
    """A stream that brings more text than any model writes."""


class _Text:
    """Text that may still grow: an answer's or a thought summary's, without a signature."""

    def __init__(self, *, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.joiner = TextJoiner()

    def part(self) -> Part | None:
        text = self.joiner.text
        return ({"text": text, "thought": True} if self.is_thought else {"text": text}) if text else None


class _Call:
    """A call whose arguments arrive in pieces."""

    def __init__(self, part: Mapping[str, Any]) -> None:
        self._part = stored_part(part)
        self._arguments: dict[str, Any] = {}
        self.problem = ""

    def take(self, part: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
        """Take a piece and return whether more follow."""
        self._part = {**stored_part(part), **self._part}
        for piece in call.get("partialArgs") or call.get("partial_args") or ():
            try:
                put_piece(self._arguments, piece if isinstance(piece, Mapping) else {})
            except MisplacedPieceError as error:
                self.problem = f"are not whole: {error}"
        return call.get("willContinue", call.get("will_continue")) is True

    def part(self) -> Part:
        call = {key: value for key, value in self._part["function_call"].items() if key not in _IN_PIECES}
        if self._arguments:
            call["args"] = self._arguments
        return {**self._part, "function_call": call}


class ContentAccumulator:
    """Collects one stream. Feed it every chunk; :meth:`reply` gives the whole once it :attr:`is_complete`."""

    def __init__(self, meter: Meter, model: str) -> None:
        self._meter = meter
        self._meter.served_model = model
        self._parts: list[_Text | _Call | Part] = []
        self._open: _Text | _Call | None = None
        self._usage: Mapping[str, Any] = {}
        self._used_before: list[Mapping[str, Any]] = []
        self._characters = 0
        self.finish_reason = ""
        self.finish_message = ""
        self.block_reason = ""
        self.continuation = ""
        self.error: Mapping[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the stream has said how it ended, be it with an error."""
        return bool(self.finish_reason or self.block_reason) or self.error is not None

    def feed(self, chunk: Any) -> list[Delta]:
        """Take one chunk and return what a reader sees of it. Raises ``ValueError`` for what is no chunk."""
        if not isinstance(chunk, Mapping):
            raise ValueError(f"a chunk is a {type(chunk).__name__}")
        if chunk.get("error") is not None:
            said = chunk["error"]
            self.error = said if isinstance(said, Mapping) else {"message": str(said)}
            return []
        if isinstance(chunk.get("modelVersion"), str) and chunk["modelVersion"]:
            self._meter.served_model = chunk["modelVersion"]
        if isinstance(chunk.get("usageMetadata"), Mapping):
            self._usage = chunk["usageMetadata"]
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, Mapping) and feedback.get("blockReason"):
            self.block_reason = str(feedback["blockReason"])
            self.finish_message = str(feedback.get("blockReasonMessage") or "")
        candidates = chunk.get("candidates")
        if isinstance(candidates, list) and candidates and isinstance(candidates[0], Mapping):
            return self._take_candidate(candidates[0])
        return []

    def settle(self) -> None:
        """Bring the meter up to date, for a stream that may have broken off."""
        counted = usage_of([*self._used_before, self._usage])
        if not self.is_complete:
            written = counted.output_tokens or -(-self._characters // _CHARACTERS_A_TOKEN)
            counted = TokenUsage(
                counted.input_tokens, written, counted.cached_input_tokens, reasoning_tokens=counted.reasoning_tokens
            )
        self._meter.usage = counted

    def go_on(self) -> str:
        """Return the token with which the answer is asked for to go on, and be ready for the rest of it."""
        token, self.continuation, self.finish_reason = self.continuation, "", ""
        self._used_before.append(self._usage)
        self._usage = {}
        return token

    def reply(self) -> Reply:
        """Return the whole answer: the content as the API returned it, text joined where nothing is signed."""
        self.settle()
        parts: list[Part] = []
        calls: list[CallAsked] = []
        for held in self._parts:
            part = held if isinstance(held, dict) else held.part()
            if part is None or is_empty(part):
                continue
            if value_of(part, "function_call") is not None:
                part, call = _asked(part, held.problem if isinstance(held, _Call) else "")
                calls.append(call)
            parts.append(part)
        return Reply(
            messages=({"role": "model", "parts": parts},) if parts else (),
            text="".join(part["text"] for part in parts if _is_answer(part)),
            calls=tuple(calls),
            stop_reason=stop_reason_of(self.finish_reason, has_calls=bool(calls)),
            usage=self._meter.usage,
            served_model=self._meter.served_model,
        )

    def _take_candidate(self, candidate: Mapping[str, Any]) -> list[Delta]:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        deltas: list[Delta] = []
        if isinstance(parts, list):
            for part in parts:
                if isinstance(part, Mapping):
                    whole = {key: value for key, value in part.items() if value is not None}
                    self._take_part(whole, deltas)
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason and reason != "FINISH_REASON_UNSPECIFIED":
            self.finish_reason = reason
            self.finish_message = str(candidate.get("finishMessage") or "")
        if isinstance(candidate.get("continuationToken"), str):
            self.continuation = candidate["continuationToken"]
        return deltas

    def _take_part(self, part: Mapping[str, Any], deltas: list[Delta]) -> None:
        text = part.get("text")
        if isinstance(text, str):
            self._take_text(part, text, deltas)
            return
        call = value_of(part, "function_call")
        if isinstance(call, Mapping):
            self._take_call(part, call)
        elif not is_empty(part):
            self._open = None
            self._parts.append(stored_part(clean(part)))

    def _take_text(self, part: Mapping[str, Any], text: str, deltas: list[Delta]) -> None:
        is_thought = part.get("thought") is True
        # A part with a signature, or with anything else, is never merged with another (W-G18).
        is_plain = part.keys() <= _MERGEABLE
        if is_plain and not text:
            return
        self._count(text)
        if is_plain:
            grows = self._open
            if not isinstance(grows, _Text) or grows.is_thought is not is_thought:
                self._open = grows = _Text(is_thought=is_thought)
                self._parts.append(grows)
            seen = grows.joiner.take(text)
        else:
            self._open = None
            seen = clean_text(text)
            self._parts.append(stored_part(clean(part)))
        if seen:
            deltas.append(ReasoningDelta(seen) if is_thought else TextDelta(seen))

    def _take_call(self, part: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        grows = self._open if isinstance(self._open, _Call) and not call.get("name") else None
        if grows is None:
            if not call:
                return
            grows = _Call(clean(part))
            self._parts.append(grows)
        self._count(str(call))
        self._open = grows if grows.take(clean(part), clean(call)) else None

    def _count(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > LONGEST_ANSWER:
            raise AnswerTooLongError(f"the answer has more than {LONGEST_ANSWER:,} characters")


def usage_of(requests: Iterable[Mapping[str, Any]]) -> TokenUsage:
    """Return the counts of ``usageMetadata``, summed over the requests of one answer; thinking is output."""
    totals = dict.fromkeys((*_COUNTS, "cachedContentTokenCount"), 0)
    for usage in requests:
        for name in totals:
            totals[name] += _number(usage.get(name))
    prompt, answer, thoughts, results = (totals[name] for name in _COUNTS)
    return TokenUsage(
        input_tokens=prompt + results,
        output_tokens=answer + thoughts,
        cached_input_tokens=totals["cachedContentTokenCount"],
        reasoning_tokens=thoughts,
    )


def _asked(part: Part, problem: str) -> tuple[Part, CallAsked]:
    """Return a call's part and what it asks for; its arguments are an object in any case (W-G11)."""
    call = part["function_call"]
    arguments = call.get("args")
    if arguments is not None and not isinstance(arguments, dict):
        problem, arguments = "is not a JSON object", {"not_an_object": arguments}
        part = {**part, "function_call": {**call, "args": arguments}}
    name, given = call.get("name"), call.get("id")
    call_id = given if isinstance(given, str) and given else f"{UNNUMBERED}{secrets.token_hex(8)}"
    return part, CallAsked(call_id, name if isinstance(name, str) else "", arguments or {}, problem)


def _is_answer(part: Part) -> bool:
    return isinstance(part.get("text"), str) and part.get("thought") is not True


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
