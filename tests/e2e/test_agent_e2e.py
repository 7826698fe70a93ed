"""The engine on the real local model, nothing faked: memory, clearing, saving, documents, and stopping (B13)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doc_processing_toolkit import Agent, AgentSession, events
from doc_processing_toolkit.providers.local import shared_service

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    yield Agent("local/gemma-3-270m")
    shared_service().close()


def test_session_memory(agent: Agent) -> None:
    """B02: follow-up answers reference earlier turns."""

    async def main() -> AgentSession:
        async with agent.session() as session:
            await session.run("My name is Alice and I love pizza.")
            first = await session.run("What is my name?")
            second = await session.run("What food do I like?")
        assert "Alice" in first.output
        assert "pizza" in second.output
        return session

    session = asyncio.run(main())
    assert session.metadata["run_count"] == 3
    assert session.metadata["total_input_tokens"] > 0
    assert session.metadata["total_output_tokens"] > 0
    assert session.metadata["total_cost"] == 0.0
    answers = [message["content"] for message in session.get_history() if message["role"] == "assistant"]
    assert len(answers) == 3
    assert session.messages[-1]["content"] == session.last_turn_results[-1].output


def test_session_clear(agent: Agent) -> None:
    """B01: clear empties the history and the session stays open; what it cost stays counted."""

    async def main() -> None:
        async with agent.session() as session:
            await session.run("My name is Alice and I love pizza.")
            session.clear()
            assert session.messages == []
            result = await session.run("What food do I like?")
            assert "pizza" not in result.output
            assert len(session.messages) == 2
            assert session.metadata["run_count"] == 2

    asyncio.run(main())


def test_session_serialization(agent: Agent, tmp_path: Path) -> None:
    """H03: a session saved here goes on there, in another event loop, as if nothing had happened."""
    path = tmp_path / "checkpoints" / "alice.json"
    session = agent.session()
    asyncio.run(session.run("My name is Alice and I love pizza."))
    session.to_json(path)
    restored = AgentSession.from_json(path, agent=Agent("local/gemma-3-270m"))
    result = asyncio.run(restored.run("What is my name?"))
    assert "Alice" in result.output
    assert restored.run_boundaries == [{"run": 1, "start": 0, "end": 2}, {"run": 2, "start": 2, "end": 4}]
    assert "Alice" in asyncio.run(AgentSession.from_dict(session.to_dict(), agent=agent).run("What is my name?")).output


def test_a_document_is_answered_from(agent: Agent) -> None:
    """B10: the document's text reaches the model and stays in the history."""
    session = agent.session()
    document = ("bridge.txt", b"The bridge was built in 1901 by Karl Otto. It is 90 metres long.")
    result = asyncio.run(session.run("Who built the bridge?", files=[document]))
    assert "Karl Otto" in result.output
    assert result.output == result.output.strip()


def test_two_sessions_wait_for_each_other_and_say_so(agent: Agent) -> None:
    """G01: the local server takes one request at a time; the second is told that it waits."""

    async def ask() -> list[events.Event]:
        return [event async for event in agent.session().stream("My name is Bob. What is my name?")]

    async def main() -> tuple[list[events.Event], ...]:
        return tuple(await asyncio.gather(ask(), ask()))

    both = asyncio.run(main())
    assert all(isinstance(seen[-1], events.Complete) and seen[-1].result.output for seen in both)
    phases = {event.phase for seen in both for event in seen if isinstance(event, events.Progress)}
    assert "waiting" in phases


def test_stopping_while_the_prompt_is_read_answers_at_once_and_the_next_question_is_served(agent: Agent) -> None:
    """I01: a stopped turn is set aside, and the server is not left reading."""
    session = agent.session()

    async def main() -> float:
        stream = session.stream("Tell me about: " + "the river and the bridge, " * 1500)
        async for event in stream:
            if isinstance(event, events.Progress) and event.phase == "reading_prompt":
                break
        started = time.monotonic()
        await stream.aclose()
        took = time.monotonic() - started
        await session.run("My name is Alice. What is my name?")
        return took

    assert asyncio.run(main()) < 0.1
    assert len(session.messages) == 2
    assert session.interrupted_turn is None
