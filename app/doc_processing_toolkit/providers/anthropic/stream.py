"""Putting a Messages stream together: raw events in; deltas, the usage and the final message out."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.core.jsonclean import clean, clean_text
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import CallAsked, Meter, Reply
from doc_processing_toolkit.providers.chat.stream import LONGEST_ANSWER, TextJoiner

# What a text token has on average, for an answer that breaks off before its count is told.
_CHARACTERS_A_TOKEN = 4
_OPTIONAL_WHEN_NULL = frozenset({"text", "tool_use", "server_tool_use"})


class AnswerTooLongError(ValueError):
    """A stream that brings more text than any model writes."""


@dataclass(slots=True)
class _Block:
    """A content block that grows: as it began, and what its deltas brought."""

    native: dict[str, Any]
    text: TextJoiner = field(default_factory=TextJoiner)
    json_pieces: list[str] = field(default_factory=list)


class MessageAccumulator:
    """Collects one stream. Feed it every event; :meth:`reply` gives the whole once it :attr:`is_complete`."""

    def __init__(self, meter: Meter, model: str) -> None:
        self._meter = meter
        self._meter.served_model = model
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Any] = {}
        self._characters = 0
        self._container: str | None = None
        self._transformations: list[dict[str, Any]] = []
        self.stop_reason = ""
        self.stop_details: Mapping[str, Any] = {}
        self.is_complete = False

    def feed(self, event: Mapping[str, Any]) -> TextDelta | ReasoningDelta | None:
        """Take one event and return what a reader sees of it. Unknown events are passed over (W-A48)."""
        match event.get("type"):
            case "content_block_delta":
                return self._take_delta(event.get("index"), _mapping(event.get("delta")))
            case "content_block_start":
                native = _mapping(event.get("content_block"))
                self._blocks[_index(event.get("index"))] = _Block(clean(native))
            case "message_start":
                self._take_start(_mapping(event.get("message")))
            case "message_delta":
                delta = _mapping(event.get("delta"))
                self._take_end(delta)
                self._take_message({**delta, "usage": event.get("usage")})
            case "message_stop":
                self.is_complete = True
        return None

    def settle(self) -> None:
        """Bring the meter up to date, for a stream that may have broken off."""
        usage = usage_of(self._usage)
        if not self.is_complete:
            written = max(usage.output_tokens, -(-self._characters // _CHARACTERS_A_TOKEN))
            usage = TokenUsage(
                usage.input_tokens,
                written,
                usage.cached_input_tokens,
                usage.cache_write_tokens,
                usage.reasoning_tokens,
            )
        self._meter.usage = usage

    def reply(self) -> Reply:
        """Return the whole answer; its blocks are as the server gave them, in order."""
        self.settle()
        content: list[dict[str, Any]] = []
        calls: list[CallAsked] = []
        for _, block in sorted(self._blocks.items()):
            native, call = self._finished(block)
            content.append(native)
            calls += [call] if call is not None else []
        texts = (block["text"] for block in content if block.get("type") == "text")
        return Reply(
            messages=({"role": "assistant", "content": content},),
            text="".join(texts),
            calls=tuple(calls),
            stop_reason=self.stop_reason,
            usage=self._meter.usage,
            served_model=self._meter.served_model,
            container_id=self._container,
            input_transformations=tuple(self._transformations),
        )

    def _take_start(self, message: Mapping[str, Any]) -> None:
        """Take the message as it begins; calls that code made come whole in it, with the reason why it stops."""
        content = message.get("content")
        for index, native in enumerate(content if isinstance(content, list) else ()):
            self._blocks.setdefault(index, _Block(clean(_mapping(native))))
        self._take_end(message)
        self._take_message(message)

    def _take_message(self, message: Mapping[str, Any]) -> None:
        """Take what stands in a message, at its start or in a later change; counts are totals, not increments."""
        if isinstance(message.get("model"), str) and message["model"]:
            self._meter.served_model = message["model"]
        usage = _mapping(message.get("usage"))
        self._usage.update((name, value) for name, value in usage.items() if value is not None)
        container = _mapping(message.get("container")).get("id")
        self._container = container if isinstance(container, str) else self._container
        transformations = message.get("input_transformations")
        if isinstance(transformations, list):
            self._transformations = [clean(entry) for entry in transformations if isinstance(entry, Mapping)]

    def _take_end(self, delta: Mapping[str, Any]) -> None:
        if isinstance(delta.get("stop_reason"), str):
            self.stop_reason = delta["stop_reason"]
        self.stop_details = _mapping(delta.get("stop_details")) or self.stop_details

    def _take_delta(self, index: Any, delta: Mapping[str, Any]) -> TextDelta | ReasoningDelta | None:
        kind = delta.get("type")
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[_index(index)] = _Block({"type": _STARTED_BY.get(str(kind), "")})
        match kind:
            case "text_delta":
                text = self._joined(block, delta.get("text"))
                return TextDelta(text) if text else None
            case "thinking_delta":
                text = self._joined(block, delta.get("thinking"))
                return ReasoningDelta(text) if text else None
            case "input_json_delta":
                piece = _string(delta.get("partial_json"))
                self._count(piece)
                block.json_pieces.append(piece)
            case "signature_delta":
                block.native["signature"] = delta.get("signature")
            case "citations_delta":
                block.native["citations"] = [*(block.native.get("citations") or ()), clean(delta.get("citation"))]
            case _:
                _merge(block.native, delta)
        return None

    def _joined(self, block: _Block, piece: Any) -> str:
        text = _string(piece)
        self._count(text)
        return block.text.take(text)

    def _count(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > LONGEST_ANSWER:
            raise AnswerTooLongError(f"the answer has more than {LONGEST_ANSWER:,} characters")

    def _finished(self, block: _Block) -> tuple[dict[str, Any], CallAsked | None]:
        native = block.native
        kind = native.get("type")
        if kind in _OPTIONAL_WHEN_NULL:
            # The server answers with fields that it takes back only when they have a value.
            native = {name: value for name, value in native.items() if value is not None}
        if kind in ("text", "thinking"):
            return {**native, kind: _string(native.get(kind)) + block.text.text}, None
        if kind == "tool_use":
            call = self._asked(block)
            return {**native, "id": call.id, "name": call.name, "input": call.arguments}, call
        if block.json_pieces:
            arguments, problem = _arguments(block)
            return (native if problem else {**native, "input": arguments}), None
        return native, None

    def _asked(self, block: _Block) -> CallAsked:
        call_id = _string(block.native.get("id")) or f"toolu_{secrets.token_hex(12)}"
        arguments, problem = _arguments(block)
        if problem and self.stop_reason == "max_tokens":
            problem = f"{problem}, because the answer reached its longest length"
        return CallAsked(call_id, _string(block.native.get("name")), arguments, problem)


_STARTED_BY = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}


def usage_of(usage: Mapping[str, Any]) -> TokenUsage:
    """Return the counts of an Anthropic ``usage``: its ``input_tokens`` leaves out what the cache read and wrote."""
    read, written = _number(usage.get("cache_read_input_tokens")), _number(usage.get("cache_creation_input_tokens"))
    details = _mapping(usage.get("output_tokens_details"))
    return TokenUsage(
        input_tokens=_number(usage.get("input_tokens")) + read + written,
        output_tokens=_number(usage.get("output_tokens")),
        cached_input_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_number(details.get("thinking_tokens")),
    )


def _arguments(block: _Block) -> tuple[dict[str, Any], str]:
    """Return a call's arguments, and what is wrong with them; a call's ``input`` is an object in any case."""
    text = "".join(block.json_pieces)
    if not text.strip():
        given = block.native.get("input")
        return (given if isinstance(given, dict) else {}), ""
    try:
        value = clean(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return {"invalid_json": clean_text(text)}, "is not valid JSON"
    if not isinstance(value, dict):
        return {"not_an_object": value}, "is not a JSON object"
    return value, ""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _merge(native: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Put a delta of a kind that is not known into its block: text is added, anything else replaces."""
    for name, value in delta.items():
        if name == "type":
            continue
        before = native.get(name)
        native[name] = before + value if isinstance(before, str) and isinstance(value, str) else clean(value)


def _index(value: Any) -> int:
    return value if isinstance(value, int) else -1


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
