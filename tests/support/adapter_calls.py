"""Driving an adapter by itself: one call, everything it yields, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.providers.base import Access, Adapter, AdapterEvent, Meter, ModelCall, Reply, make_adapter
from doc_processing_toolkit.registry import find


@dataclass
class Outcome:
    """What one request came to: its deltas joined, its reply or its error, and what the meter says."""

    text: str = ""
    reasoning: str = ""
    reply: Reply | None = None
    error: Exception | None = None
    meter: Meter = field(default_factory=Meter)

    @property
    def answered(self) -> Reply:
        """The reply of a request that succeeded."""
        assert self.reply is not None, repr(self.error)
        return self.reply


def call_of(model: str, *messages: Any, base_url: str | None = None, **details: Any) -> ModelCall:
    """Return a call to a registry row; a plain string is a user's message."""
    made = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
    return ModelCall(row=find(model, base_url), messages=tuple(made), **details)


def adapter_of(call: ModelCall, base_url: str, key: str = "k") -> Adapter:
    """Return the adapter that speaks for a call's row, at an address."""
    return make_adapter(call.row, Access(base_url, key))


async def ask(adapter: Adapter, call: ModelCall) -> Outcome:
    """Send one call and return what came of it; errors are kept, not raised."""
    call = dataclasses.replace(call, meter=Meter())
    outcome = Outcome(meter=call.meter)
    try:
        async with contextlib.aclosing(adapter.stream(call)) as events:
            async for event in events:
                _take(outcome, event)
    except Exception as error:  # noqa: BLE001 - the tests look at whatever it was
        outcome.error = error
    return outcome


def ask_all(adapter: Adapter, calls: Sequence[ModelCall]) -> list[Outcome]:
    """Send calls one after the other on one event loop."""

    async def main() -> list[Outcome]:
        return [await ask(adapter, call) for call in calls]

    return asyncio.run(main())


def ask_once(call: ModelCall, base_url: str, key: str = "k") -> Outcome:
    """Send one call to an address and return what came of it."""
    return ask_all(adapter_of(call, base_url, key), [call])[0]


def _take(outcome: Outcome, event: AdapterEvent) -> None:
    if isinstance(event, TextDelta):
        outcome.text += event.text
    elif isinstance(event, ReasoningDelta):
        outcome.reasoning += event.text
    elif isinstance(event, Reply):
        outcome.reply = event
