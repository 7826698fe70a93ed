"""Compaction on every dialect, against servers that refuse what the real ones refuse (L01, C09, D04)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession, events
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Kind
from doc_processing_toolkit.history.compaction import CLEARED
from doc_processing_toolkit.history.compaction_config import STRATEGIES
from doc_processing_toolkit.history.config import MODES
from doc_processing_toolkit.history.modes import RESULT_PLACEHOLDER
from support.strict import Call, StrictServer, Thinking, Usage, WireRequest, answer, checked_server
from unit.toolkit.dialect_agents import DIALECTS, agent_of

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
LONG = "a long result " * 30


def fetch(n: int) -> str:
    """Return a long text."""
    return f"{n}: {LONG}"


def replies(server: StrictServer) -> None:
    """Answer each question with a round of two calls, then text; a summary where one is asked for."""
    count = 0

    def respond(request: WireRequest) -> Any:
        nonlocal count
        if "Summarise this part" in str(request.body) or "write the summary of all" in str(request.body):
            return answer("what was said")
        count += 1
        if count % 2:
            return answer(Thinking("hm"), Call("fetch", {"n": count}), Call("fetch", {"n": -count}))
        return answer(Thinking("so"), f"answer {count // 2}")

    server.respond(respond)


def agent(dialect: str, server: StrictServer, mode: str = "full", **config: Any) -> Agent:
    settings: dict[str, Any] = {"tools": [fetch], "session_history_config": {"mode": mode}, "thinking": True}
    return agent_of(dialect, server, compaction=True, compaction_config=config, stream_history="native", **settings)


async def asked(session: AgentSession, text: str, *, streams: bool) -> Any:
    if not streams:
        return await session.run(text)
    async for event in session.stream(text):
        last = event
    assert isinstance(last, events.Complete)
    return last.result


def results_of(session: AgentSession) -> list[str]:
    lens = lens_of(session.agent.row.dialect)
    views = (view for message in session.messages for view in lens.views(message))
    return [lens.result_text(view) for view in views if view.kind is Kind.RESULT]


@every_dialect
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("keep", "streams"), [(1, False), (5, True)])
def test_l01_several_compactions_in_a_row_keep_to_the_servers_rules(
    dialect: str, strategy: str, keep: int, streams: bool
) -> None:
    with checked_server() as server:
        replies(server)
        session = agent(dialect, server, strategy=strategy, trigger_messages=9, keep_recent_messages=keep).session()

        async def main() -> None:
            for n in range(5):
                result = await asked(session, f"question {n}", streams=streams)
                assert result.error is None
                assert result.output == f"answer {n + 1}"
                lens = lens_of(session.agent.row.dialect)
                assert lens.role(session.messages[-1]) == "assistant"
                assert str(session.messages).count(f"answer {n + 1}") == 1
                assert str(session.messages).count(f"question {n}") == 1

        asyncio.run(main())
    assert session.metadata["compaction_count"] >= 2
    assert session.metadata["boundaries_reset_at_run"] >= 2
    assert len(session.run_boundaries) < 5


@every_dialect
@pytest.mark.parametrize("mode", MODES)
def test_c09_every_mode_holds_on_compacting_turns(dialect: str, mode: str) -> None:
    with checked_server() as server:
        replies(server)
        session = agent(
            dialect, server, mode, strategy="tool_result_clearing", trigger_messages=1, keep_recent_messages=1
        ).session()

        async def main() -> None:
            for n in range(4):
                assert (await session.run(f"question {n}")).error is None

        asyncio.run(main())
        first_requests = server.requests[::2]
    assert session.metadata["compaction_count"] >= 2
    if mode == "no_tool_results":
        assert all(CLEARED not in str(request) and LONG not in str(request) for request in first_requests)
        assert RESULT_PLACEHOLDER in str(first_requests[-1])
    if mode in ("messages_only", "text_summary"):
        assert all(CLEARED not in str(request) and LONG not in str(request) for request in first_requests)
    if mode in ("no_reasoning", "messages_only"):
        assert all("hm" not in str(request.get("messages", "")) for request in first_requests)


@every_dialect
def test_l01_clearing_reaches_results_in_every_shape_and_the_stored_history_shrinks(dialect: str) -> None:
    with checked_server() as server:
        replies(server)
        session = agent(
            dialect, server, strategy="tool_result_clearing", trigger_tokens=300, keep_recent_messages=2
        ).session()

        async def main() -> None:
            for n in range(3):
                await session.run(f"question {n}")

        asyncio.run(main())
    found = results_of(session)
    assert found[:2] == [CLEARED, CLEARED]
    assert all(LONG in text for text in found[-2:])


@every_dialect
def test_l01_a_compacted_session_is_saved_restored_and_continued(dialect: str) -> None:
    with checked_server() as server:
        replies(server)
        owner = agent(dialect, server, trigger_messages=9, keep_recent_messages=3)
        session = owner.session()

        async def main() -> AgentSession:
            for n in range(3):
                await session.run(f"question {n}")
            restored = AgentSession.from_json(session.to_json(), agent=owner)
            assert restored.messages == session.messages
            assert (await restored.run("question 9")).error is None
            for count in range(len(restored.messages), -1, -1):
                copied = restored.fork()
                copied.truncate_to(count)
                assert copied.messages == restored.messages[: len(copied.messages)]
            return restored

        restored = asyncio.run(main())
    assert restored.metadata["compaction_count"] >= 1


@every_dialect
def test_l01_a_long_run_of_tool_rounds_is_compacted_on_the_way(dialect: str) -> None:
    rounds = 9
    with checked_server() as server:
        count = 0

        def respond(request: WireRequest) -> Any:
            nonlocal count
            count += 1
            return answer(Thinking("hm"), Call("fetch", {"n": count})) if count <= rounds else answer("done")

        server.respond(respond)
        session = agent(dialect, server, trigger_messages=8, keep_recent_messages=4).session()
        result = asyncio.run(session.run("go on until it is done"))
    assert result.output == "done"
    if dialect == "preserved":
        # Its thinking is bound to everything before it, so an open round cannot be made shorter (W-A23, W-A29).
        assert session.metadata["compaction_count"] == 0
    else:
        assert session.metadata["compaction_count"] >= 1
        assert len(results_of(session)) < rounds
    assert "go on until it is done" in str(session.messages)


@every_dialect
@pytest.mark.parametrize("files", [[], [("d.txt", b"a document")]])
def test_c07_a_question_without_history_keeps_its_words_when_its_turn_is_compacted(
    dialect: str, files: list[Any]
) -> None:
    with checked_server() as server:
        server.script(
            *[answer(Call("fetch", {"n": n}), Call("fetch", {"n": -n})) for n in range(1, 5)],
            answer("done"),
        )
        session = agent(dialect, server, "text_summary", trigger_messages=6, keep_recent_messages=2).session()

        async def main() -> None:
            assert (await session.run("why, then?", files=files)).output == "done"

        asyncio.run(main())
        assert all("why, then?" in str(request) for request in server.requests)
        last = str(server.requests[-1])
    assert session.metadata["compaction_count"] >= 1
    assert last.count("The conversation so far") == 1
    assert "The conversation so far" not in str(session.messages)
    assert "why, then?" in str(session.messages)


@every_dialect
def test_l01_what_the_server_counted_in_the_last_turn_triggers_the_next_ones_compaction(dialect: str) -> None:
    with checked_server() as server:
        server.always(answer("yes", usage=Usage(50_000, 1)))
        session = agent(dialect, server, trigger_tokens=40_000, keep_recent_messages=1).session()

        async def main() -> None:
            await session.run("short")
            assert session.metadata["compaction_count"] == 0
            await session.run("short, too")
            assert session.metadata["compaction_count"] == 1
            session.clear()
            await session.run("and now?")
            assert session.metadata["compaction_count"] == 1

        asyncio.run(main())
