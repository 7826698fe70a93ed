"""One request through the OpenAI adapter, without the loop above it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.providers.base import Access, AdapterEvent, ModelCall, Reply, ToolSpec, make_adapter
from doc_processing_toolkit.registry import find
from support.strict import StrictServer

MODEL = "gpt-6-luna"
CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = ToolSpec("add", "Adds.", CLOSED)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call_of(*messages: dict[str, Any], model: str = MODEL, **more: Any) -> ModelCall:
    """A request with these messages; `more` are the fields of `ModelCall`."""
    return ModelCall(find(model), messages or (user("q"),), **{"read_timeout_s": 5.0, **more})


async def events_of(adapter: Any, call: ModelCall) -> list[AdapterEvent]:
    async with contextlib.aclosing(adapter.stream(call)) as events:
        return [event async for event in events]


def adapter_for(server: StrictServer, *, key: str = "sk-secret-key", at: str = "openai", model: str = MODEL) -> Any:
    return make_adapter(find(model), Access(server.url(at), key))


def ask(server: StrictServer, *calls: ModelCall, adapter: Any = None) -> list[Reply]:
    """Send the requests one after the other with one adapter; return the replies."""
    speaker = adapter or adapter_for(server)

    async def main() -> list[Reply]:
        return [reply_in(await events_of(speaker, call)) for call in calls]

    return asyncio.run(main())


def reply_in(events: list[AdapterEvent]) -> Reply:
    assert isinstance(events[-1], Reply)
    assert not any(isinstance(event, Reply) for event in events[:-1])
    return events[-1]


def text_in(events: list[AdapterEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def reasoning_in(events: list[AdapterEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))
