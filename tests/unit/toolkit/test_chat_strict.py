"""The engine against a chat server that refuses what real ones refuse: modes, tool rounds, media, broken streams."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession, ProviderError
from doc_processing_toolkit.history.config import MODES
from doc_processing_toolkit.testing import PIXEL
from support.strict import Call, Ending, StrictServer, Thinking, answer, checked_server


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_for(server: StrictServer, wire: str = "compatible", **settings: Any) -> Agent:
    url = server.url(wire)
    return Agent("openai-compatible/m", base_url=url, api_key="k", **{"max_retries": 0, "tools": [add], **settings})


@pytest.mark.parametrize("wire", ["compatible", "deepseek"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("streams", [False, True])
def test_every_mode_keeps_to_the_servers_rules_over_tool_rounds(wire: str, mode: str, streams: bool) -> None:
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer(Thinking("so"), "3 and 7"),
            answer("Let me add.", Call("add", {"a": 5, "b": 2})),
            answer("7"),
            answer("fine"),
        )
        agent = agent_for(server, wire, session_history_config={"mode": mode}, stream_history="native")
        session = agent.session()

        async def main() -> list[Any]:
            results = []
            for text in ("first?", "second?", "third?"):
                if streams:
                    async for _ in session.stream(text, files=[("d.txt", b"a document")]):
                        pass
                    results.append(session.last_turn_results[-1])
                else:
                    results.append(await session.run(text, files=[("d.txt", b"a document")]))
            return results

        results = asyncio.run(main())
    assert [result.error for result in results] == [None, None, None]
    assert [result.output for result in results] == ["3 and 7", "7", "fine"]
    assert len(session.run_boundaries) == 3


def test_d06_every_cut_of_a_history_is_taken_by_the_server() -> None:
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer("3 and 7"),
            answer(Call("add", {"a": 5, "b": 2})),
            answer("7"),
        )
        session = agent_for(server).session()

        async def main() -> None:
            for text in ("first?", "second?"):
                await session.run(text, files=[("a.png", PIXEL)])
            saved = session.to_json()
            for count in range(len(session.messages) + 1):
                server.script(answer("ok"))
                again = AgentSession.from_json(saved, agent=session.agent)
                again.truncate_to(count)
                assert (await again.run("go on")).error is None

        asyncio.run(main())
    assert len(server.requests) == 4 + 10


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
