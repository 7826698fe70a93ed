"""A scripted agent: the whole engine over an adapter that answers from a list, without any network."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.agent.agent import Agent
from doc_processing_toolkit.core.events import Progress, ReasoningDelta, TextDelta
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.providers.base import AdapterEvent, ModelCall, RequestFailedError
from doc_processing_toolkit.providers.chat.request import wire_messages
from doc_processing_toolkit.providers.chat.stream import ChatAccumulator

_SETTINGS = frozenset(
    {"temperature", "max_output_tokens", "output_schema", "tools", "tool_choice", "parallel_tool_calls", "effort"}
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A piece of a scripted reply: the model calls a tool."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A piece of a scripted reply: nothing comes for this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of a scripted reply: the stream ends here, without its terminal event."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that the scripted model received: the messages as they would be on the wire, and the settings."""

    messages: list[Message]
    settings: dict[str, Any]
    tools: list[str]


class ScriptedAdapter:
    """Answers each request with the next reply; ``requests`` holds what was asked.

    A reply is text, an exception to raise, or a list of pieces: text, ``ToolUse``, ``Pause``, ``Cut``, the events
    ``Progress``, ``TextDelta`` and ``ReasoningDelta``, raw chat chunks as dicts, and exceptions.
    """

    def __init__(self, replies: Iterable[Any], *, delay_s: float) -> None:
        self._replies = list(replies)
        self._delay_s = delay_s
        self.requests: list[RecordedRequest] = []
        self.open_streams = 0

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Answer one request from the script."""
        tools = [tool.name for tool in call.tools]
        self.requests.append(RecordedRequest(copy.deepcopy(wire_messages(call)), dict(call.settings), tools))
        if len(self.requests) > len(self._replies):
            raise AssertionError(f"request {len(self.requests)} came and the script has {len(self._replies)} replies")
        reply = self._replies[len(self.requests) - 1]
        collected = ChatAccumulator(call.meter, call.row)
        self.open_streams += 1
        try:
            for position, piece in enumerate(_pieces(reply)):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                if isinstance(piece, Cut):
                    raise RequestFailedError("the stream ended before the answer was complete", is_retryable=True)
                async for event in _played(piece, collected, position):
                    yield event
        finally:
            self.open_streams -= 1
        if not collected.is_complete:
            for _ in collected.feed({"choices": [{"delta": {}, "finish_reason": "stop"}]}):
                pass
        sent = sum(estimate_tokens(str(message.get("content"))) for message in call.messages)
        call.meter.usage = TokenUsage(sent, call.meter.usage.output_tokens)
        yield collected.reply()


def scripted_agent(
    replies: Iterable[Any], *, model: str = "scripted/demo", delay_s: float = 0.0, **settings: Any
) -> ScriptedAgent:
    """Return an agent that answers from ``replies``, one per request, each piece after ``delay_s`` seconds.

    ``settings`` are those of :class:`Agent`, and ``row`` facts to change (``input_types``, ``context_window`` …).
    """
    return ScriptedAgent(replies, model=model, delay_s=delay_s, **settings)


class ScriptedAgent(Agent):
    """An :class:`Agent` whose model is a script. ``requests`` are those it received."""

    def __init__(
        self,
        replies: Iterable[Any],
        *,
        model: str = "scripted/demo",
        delay_s: float = 0.0,
        row: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        provider, _, name = model.partition("/")
        facts: dict[str, Any] = {
            "input_types": ("text", "image"),
            "context_window": 100_000,
            "settings": _SETTINGS,
            "is_free": True,
            "sdk": "openai",
            **(row or {}),
        }
        self._own_row = ModelRow(
            id=model, provider=provider, model=name or model, dialect="chat", label=f"Scripted {name or model}", **facts
        )
        super().__init__(model, **settings)
        self.script = ScriptedAdapter(replies, delay_s=delay_s)
        self._adapter = self.script

    def _find_row(self, model: str, base_url: str | None) -> ModelRow:
        return self._own_row

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests that the scripted model received, in order."""
        return self.script.requests


def _pieces(reply: Any) -> list[Any]:
    return list(reply) if isinstance(reply, list | tuple) else [reply]


async def _played(piece: Any, collected: ChatAccumulator, position: int) -> AsyncGenerator[AdapterEvent, None]:
    """Yield what one piece of a reply comes to. Raises it when it is an exception."""
    match piece:
        case BaseException():
            raise piece
        case Pause():
            await asyncio.sleep(piece.seconds)
            return
        case Progress():
            yield piece
            return
        case str():
            chunk: Mapping[str, Any] = _delta({"content": piece})
        case TextDelta():
            chunk = _delta({"content": piece.text})
        case ReasoningDelta():
            chunk = _delta({"reasoning_content": piece.text})
        case ToolUse():
            chunk = _delta({"tool_calls": [_call(piece, position)]})
        case Mapping():
            chunk = piece
        case _:
            raise TypeError(f"a scripted reply cannot hold a {type(piece).__name__}")
    for event in collected.feed(chunk):
        yield event


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _call(use: ToolUse, position: int) -> dict[str, Any]:
    import json

    function = {"name": use.name, "arguments": json.dumps(dict(use.arguments))}
    return {"index": position, "id": use.id or f"call_{position}", "type": "function", "function": function}
