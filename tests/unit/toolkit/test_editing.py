"""Cuts, boundaries, forks and clearing: prefixes only, and no call is ever left without its result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.testing import ToolUse, answer, envelope, question, scripted_agent, tool_round


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def three_turns() -> AgentSession:
    """Plain, with a tool round, plain: messages 0-1, 2-5, 6-7."""
    agent = scripted_agent(["one", [ToolUse("add", {"a": 1, "b": 2}, id="c")], "three", "two", "next"], tools=[add])
    session = agent.session()

    async def main() -> None:
        for text in ("q1", "q2", "q3"):
            await session.run(text)

    asyncio.run(main())
    return session


def restored(messages: list[dict[str, Any]]) -> AgentSession:
    return AgentSession.from_dict(envelope(messages), agent=scripted_agent([]))


@pytest.mark.parametrize(
    ("count", "kept"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 5), (6, 6), (7, 7), (8, 8), (99, 8)]
)
def test_d01_a_cut_moves_back_until_no_call_lacks_its_result(count: int, kept: int) -> None:
    session = three_turns()
    before = list(session.messages)
    assert session.truncate_to(count) == kept
    assert session.messages == before[:kept]
    for left, right in zip(session.messages, before, strict=False):
        assert left is right


def test_d01_drop_orphans_off_cuts_exactly() -> None:
    session = three_turns()
    assert session.truncate_to(4, drop_orphans=False) == 4
    assert "tool_calls" in session.messages[-1]


def test_d01_a_cut_moves_back_round_by_round() -> None:
    messages = [
        question("q"),
        *tool_round({"a": ("f", {}, "1"), "b": ("f", {}, "2")})[:2],
        question("interrupting"),
        *tool_round({"c": ("f", {}, "3")})[:1],
    ]
    assert restored(messages).truncate_to(99) == 1


def test_d01_an_id_that_comes_again_does_not_answer_the_later_call() -> None:
    messages = [question("q"), *tool_round({"x": ("f", {}, "1")}), answer("a"), *tool_round({"x": ("f", {}, "2")})[:1]]
    assert restored(messages).truncate_to(99) == 4


@pytest.mark.parametrize(("turn", "kept"), [(0, 0), (1, 2), (2, 6), (3, 8), (9, 8)])
def test_d01_truncate_to_turn_keeps_the_first_recorded_turns(turn: int, kept: int) -> None:
    session = three_turns()
    assert session.truncate_to_turn(turn) == kept
    assert len(session.run_boundaries) == min(turn, 3)


def test_d02_counters_and_what_is_owed_survive_a_cut_and_clear() -> None:
    session = three_turns()
    session.inject("owed")
    before = {key: value for key, value in session.metadata.items() if key != "run_boundaries"}
    session.truncate_to(3)
    after = {key: value for key, value in session.metadata.items() if key != "run_boundaries"}
    assert after == before
    assert session.run_boundaries == [{"run": 1, "start": 0, "end": 2}]
    session.clear()
    assert session.messages == []
    assert session.metadata["run_count"] == 3
    assert session.pending_injections == ["owed"]


def test_d03_d04_boundaries_address_the_turns_and_clear_says_when_it_was() -> None:
    session = three_turns()
    [first, second, third] = session.run_boundaries
    assert [message["role"] for message in session.messages[second["start"] : second["end"]]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert (first["run"], third["run"]) == (1, 3)
    session.clear()
    assert session.run_boundaries == []
    assert session.metadata["boundaries_reset_at_run"] == 3
    asyncio.run(session.run("afterwards"))
    assert session.run_boundaries == [{"run": 4, "start": 0, "end": 2}]


def test_d06_the_turn_after_a_cut_behind_a_tool_round_goes_out_as_two_questions() -> None:
    session = three_turns()
    session.truncate_to(5)
    asyncio.run(session.run("go on"))
    roles = [message["role"] for message in session.agent.requests[-1].messages]  # type: ignore[attr-defined]
    assert roles == ["user", "assistant", "user", "assistant", "tool", "user"]
    assert session.run_boundaries == [{"run": 1, "start": 0, "end": 2}, {"run": 4, "start": 5, "end": 7}]


@pytest.mark.parametrize("count", [-1, 1.5, True, None, "2"])
def test_counts_that_cannot_be_are_refused(count: Any) -> None:
    session = three_turns()
    for cut in (session.truncate_to, session.truncate_to_turn):
        with pytest.raises((ValueError, TypeError)):
            cut(count)
    assert len(session.messages) == 8


def test_a_fork_is_detached_has_its_own_id_and_says_where_it_came_from() -> None:
    session = three_turns()
    fork = session.fork(2)
    assert fork.messages == session.messages[:6]
    assert fork.session_id != session.session_id
    assert fork.metadata["forked_from"] == {"session_id": session.session_id, "turn": 2}
    assert fork.metadata["run_count"] == 3
    asyncio.run(fork.run("another way"))
    assert len(fork.messages) == 8
    assert len(session.messages) == 8
    assert session.messages[6]["content"] == "q3"
    assert "forked_from" not in session.metadata
    whole = session.fork()
    assert whole.messages == session.messages
    assert whole.messages is not session.messages


rounds = st.lists(
    st.sampled_from(["plain", "round", "two calls", "open", "half", "question"]), min_size=0, max_size=8
).map(lambda kinds: [message for number, kind in enumerate(kinds) for message in block(kind, number)])


def block(kind: str, number: int) -> list[dict[str, Any]]:
    one = {f"a{number}": ("f", {}, "1")}
    two = {**one, f"b{number}": ("f", {}, "2")}
    return {
        "plain": [question("q"), answer("a")],
        "round": [question("q"), *tool_round(one), answer("a")],
        "two calls": [question("q"), *tool_round(two), answer("a")],
        "open": [question("q"), *tool_round(one)[:1]],
        "half": [question("q"), *tool_round(two)[:2]],
        "question": [question("q")],
    }[kind]


def stranded(messages: list[dict[str, Any]]) -> bool:
    """Whether a call lacks its result, told in the simplest way: results follow their call at once."""
    for index, message in enumerate(messages):
        wanted = {call["id"] for call in message.get("tool_calls", ())}
        for follower in messages[index + 1 :]:
            if follower["role"] != "tool":
                break
            wanted.discard(follower["tool_call_id"])
        if wanted:
            return True
    return False


@settings(max_examples=200, deadline=None)
@given(messages=rounds, count=st.integers(0, 40))
def test_d01_d23_a_cut_is_the_longest_legal_prefix(messages: list[dict[str, Any]], count: int) -> None:
    session = restored(messages)
    kept = session.truncate_to(count)
    assert session.messages == messages[:kept]
    assert not stranded(session.messages)
    assert all(stranded(messages[:longer]) for longer in range(kept + 1, min(count, len(messages)) + 1))
    assert all(record["end"] <= kept for record in session.run_boundaries)


@settings(max_examples=60, deadline=None)
@given(turns=st.lists(st.tuples(st.text(min_size=1).filter(str.strip), st.text()), max_size=5), cut=st.integers(0, 6))
def test_an_envelope_round_trip_keeps_every_turn(turns: list[tuple[str, str]], cut: int) -> None:
    agent = scripted_agent([reply for _, reply in turns])
    session = agent.session()

    async def main() -> None:
        for text, _ in turns:
            await session.run(text)

    asyncio.run(main())
    session.truncate_to_turn(cut)
    again = AgentSession.from_json(session.to_json(), agent=agent)
    assert again.messages == session.messages
    assert again.metadata == session.metadata
    assert again.run_boundaries == session.run_boundaries
    assert AgentSession.from_dict(again.to_dict(), agent=agent).messages == session.messages
