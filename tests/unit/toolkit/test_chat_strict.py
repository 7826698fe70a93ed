"""The engine against a chat server that refuses what real ones refuse: modes, tool rounds, media, broken streams."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import Agent, ProviderError
from support.strict import Ending, StrictServer, answer


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_for(server: StrictServer, wire: str = "compatible", **settings: Any) -> Agent:
    url = server.url(wire)
    return Agent("openai-compatible/m", base_url=url, api_key="k", **{"max_retries": 0, "tools": [add], **settings})


def test_a_server_that_refuses_stream_options_is_asked_without_and_from_then_on() -> None:
    model = "openai-compatible/accounts/fireworks/models/kimi-k2p6"
    with StrictServer() as server:
        server.script(answer("one"), answer("two"))
        agent = Agent(model, base_url=server.url("fireworks"), api_key="k", max_retries=0)
        results = [asyncio.run(agent.run("q")) for _ in range(2)]
        sent = ["stream_options" in request for request in server.requests]
    assert [(result.output, result.error, result.retry_count) for result in results] == [
        ("one", None, 0),
        ("two", None, 0),
    ]
    assert sent == [True, False, False]
    assert results[0].input_tokens > 0


@pytest.mark.parametrize(
    "kind", ["drop", "truncate", "no_terminal", "error", "error_flat", "failed", "garbage", "stall"]
)
def test_i01_a_stream_that_breaks_in_any_way_is_an_interrupted_turn(kind: str) -> None:
    with StrictServer() as server:
        server.script(answer("some words to stream", ending=Ending(kind, 2)), answer("whole"))  # type: ignore[arg-type]
        session = agent_for(server, timeout=1.0).session()

        async def main() -> None:
            with pytest.raises((ProviderError, TimeoutError)):
                async for _ in session.stream("q"):
                    pass
            assert session.interrupted_turn is not None
            assert session.messages == []
            assert not session.turn_in_flight
            assert (await session.run("again")).output == "whole"

        asyncio.run(main())


def test_an_answer_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.chat.stream.LONGEST_ANSWER", 1000)
    with StrictServer() as server:
        server.script(answer("words", ending=Ending("endless", 2)))
        result = asyncio.run(agent_for(server).run("q"))
    assert result.error_code == "endless_answer"


def test_a_line_without_end_is_ended_and_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.http_guard.LONGEST_EVENT_BYTES", 100_000)
    with StrictServer() as server:
        server.script(answer("words", ending=Ending("huge_line", 2, size=1_000_000)))
        result = asyncio.run(agent_for(server, max_retries=2).run("q"))
    assert (result.error_code, result.retry_count) == ("response_too_large", 0)
