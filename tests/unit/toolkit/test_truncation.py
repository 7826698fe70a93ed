"""Long tool results: cut, kept for the live session, and read on in (A05)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession, ToolError
from doc_processing_toolkit.testing import ToolUse, scripted_agent

TEXT = "".join(f"{number:04d} " for number in range(200))


def long_text() -> str:
    """Return a long text."""
    return TEXT


def agent_of(replies: list[Any], **settings: Any) -> Any:
    given = {"tools": [long_text], "max_tool_result_chars": 100, "truncated_result_read_chars": 300, **settings}
    return scripted_agent(replies, **given)


def results_of(session: AgentSession) -> list[str]:
    return [message["content"] for message in session.messages if message["role"] == "tool"]


def note_of(content: str) -> tuple[str, int]:
    found = re.search(r'result_id "(\w+)" and offset (\d+)', content)
    assert found is not None
    return found[1], int(found[2])


def read(result_id: str, offset: int) -> ToolUse:
    return ToolUse("read_truncated_result", {"result_id": result_id, "offset": offset})


def test_a05_a_later_turn_reads_on_where_the_result_was_cut_until_the_end() -> None:
    agent = agent_of([[ToolUse("long_text")], "cut"])
    session = agent.session()
    asyncio.run(session.run("q"))
    [cut] = results_of(session)
    assert cut.startswith(TEXT[:100] + "\n[cut: 100 of 1,000 characters")
    result_id, offset = note_of(cut)
    pieces = [cut[:100]]
    while offset < len(TEXT):
        agent.script._replies += [[read(result_id, offset)], "read"]
        asyncio.run(session.run("read on"))
        piece, _, note = results_of(session)[-1].rpartition("\n[")
        pieces.append(piece)
        following = re.search(r"offset (\d+) reads on", note)
        offset = int(following[1]) if following is not None else len(TEXT)
    assert "".join(pieces) == TEXT
    assert [len(piece) for piece in pieces] == [100, 300, 300, 300]


@pytest.mark.parametrize("leave", [lambda session: session.clear(), lambda session: session.close()])
def test_a05_clear_and_close_release_the_kept_text(leave: Callable[[AgentSession], None]) -> None:
    session = agent_of([[ToolUse("long_text")], "cut"]).session()
    asyncio.run(session.run("q"))
    result_id, _ = note_of(results_of(session)[0])
    assert session._state.kept_results.get(result_id) == TEXT
    leave(session)
    assert session._state.kept_results.get(result_id) is None


def test_a05_a_restored_session_has_no_rests_and_old_ids_reach_no_newer_result() -> None:
    first = agent_of([[ToolUse("long_text")], "cut"]).session()
    asyncio.run(first.run("q"))
    old, offset = note_of(results_of(first)[0])
    agent = agent_of([[ToolUse("long_text")], "cut", [read(old, offset)], "gone"])
    again = AgentSession.from_json(first.to_json(), agent=agent)
    asyncio.run(again.run("once more"))
    assert note_of(results_of(again)[1])[0] != old
    asyncio.run(again.run("the old one"))
    assert "no longer available" in results_of(again)[-1]


def test_a05_two_sessions_of_one_agent_do_not_share_their_rests() -> None:
    agent = agent_of([[ToolUse("long_text")], "cut"])
    one, two = agent.session(), agent.session()
    asyncio.run(one.run("q"))
    agent.script._replies += [[read(*note_of(results_of(one)[0]))], "no"]
    asyncio.run(two.run("q"))
    assert "no longer available" in results_of(two)[0]


def test_a05_without_a_session_the_rest_lives_as_long_as_the_run() -> None:
    agent = agent_of([[ToolUse("long_text")], "cut"])
    asyncio.run(agent.run("q"))
    content = agent.requests[1].messages[-1]["content"]
    agent.script._replies += [[read(*note_of(content))], "no"]
    asyncio.run(agent.run("q"))
    assert "no longer available" in agent.requests[-1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("settings", "is_offered"),
    [
        ({}, True),
        ({"tool_choice": "auto"}, True),
        ({"tool_choice": "none"}, True),
        ({"max_tool_result_chars": None}, True),
        ({"max_tool_result_chars": 0}, False),
        ({"tool_choice": "required"}, False),
        ({"tool_choice": "long_text"}, False),
        ({"truncated_result_read_chars": None}, False),
    ],
)
def test_a05_h09_the_tool_is_offered_and_counted_in_the_fingerprint_or_neither(
    settings: dict[str, Any], is_offered: bool
) -> None:
    agent, plain = agent_of(["a"], **settings), agent_of(["a"], truncated_result_read_chars=None)
    asyncio.run(agent.run("q"))
    assert ("read_truncated_result" in agent.requests[0].tools) is is_offered
    assert (agent.prefix_fingerprint() != plain.prefix_fingerprint()) is is_offered


def test_a05_h09_turning_it_on_is_reported_as_changed_tools() -> None:
    session = agent_of(["a"], truncated_result_read_chars=None).session()
    asyncio.run(session.run("q"))
    again = AgentSession.from_json(session.to_json(), agent=agent_of([]))
    assert again.prefix_change_report is not None
    assert again.prefix_change_report["changed"] == ["tools"]


def test_a05_without_the_setting_nothing_is_kept_and_the_note_names_no_id() -> None:
    session = agent_of([[ToolUse("long_text")], "cut"], truncated_result_read_chars=None).session()
    asyncio.run(session.run("q"))
    assert results_of(session)[0].endswith("[cut: 100 of 1,000 characters]")
    assert session._state.kept_results._texts == {}


@pytest.mark.parametrize("given", [{"result_id": "x"}, {}, {"result_id": 3, "offset": "no"}, {"offset": -5}])
def test_a05_any_arguments_are_answered(given: dict[str, Any]) -> None:
    session = agent_of([[ToolUse("read_truncated_result", given)], "ok"]).session()
    assert asyncio.run(session.run("q")).output == "ok"
    assert results_of(session)[0]


def test_a05_a_tool_of_that_name_is_refused_when_the_built_in_one_is_wanted() -> None:
    def read_truncated_result() -> str:
        return ""

    with pytest.raises(ToolError, match="built-in"):
        Agent("claude-haiku-4-5", tools=[read_truncated_result], truncated_result_read_chars=10)
    Agent("claude-haiku-4-5", tools=[read_truncated_result])


def test_a05_a_fork_can_read_on_by_itself() -> None:
    agent = agent_of([[ToolUse("long_text")], "cut"])
    session = agent.session()
    asyncio.run(session.run("q"))
    fork = session.fork()
    session.clear()
    agent.script._replies += [[read(*note_of(results_of(fork)[0]))], "read"]
    asyncio.run(fork.run("read on"))
    assert results_of(fork)[-1].startswith(TEXT[100:400])
