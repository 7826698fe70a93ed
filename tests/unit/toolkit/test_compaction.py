"""Compaction in a session: what triggers it, what it keeps, and what is taken down (L01, L02, D04)."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession, events
from doc_processing_toolkit.history import compaction_archive
from doc_processing_toolkit.history.compaction import CLEARED
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.testing import PIXEL, ToolUse, image_part, scripted_agent

DEMO = "local/gemma-3-270m"
LONG = "a long result " * 40


def fetch(n: int) -> str:
    """Return a long text."""
    return f"{n}: {LONG}"


def run(session: AgentSession, *questions: str) -> Any:
    async def main() -> Any:
        for question in questions:
            result = await session.run(question)
        return result

    return asyncio.run(main())


def texts(session: AgentSession) -> list[str]:
    return [str(message["content"]) for message in session.messages]


def compacting(replies: list[Any], *, settings: dict[str, Any] | None = None, **config: Any) -> Any:
    return scripted_agent(replies, compaction=True, compaction_config=config, **(settings or {}))


@pytest.mark.parametrize(
    "config",
    [
        {"strategy": "forget"},
        {"strategy": ["sliding_window"]},
        {"trigger_tokens": 0},
        {"trigger_tokens": True},
        {"trigger_messages": 2.5},
        {"keep_recent_messages": -1},
        {"keep_recent_messages": "8"},
        {"sliding_window_include_truncation_notice": "yes"},
        {"summary_model": 7},
        {"summary_model": "claude-hiku"},
        {"archive_path": 3},
        {"archive_path": ""},
        {"keep_last": 3},
        [("strategy", "summarize")],
        "sliding_window",
    ],
)
def test_a_configuration_that_cannot_be_is_refused_when_the_agent_is_made(config: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"compaction_config|unknown model"):
        Agent(DEMO, compaction=True, compaction_config=config)


@pytest.mark.parametrize("value", [1, "yes", None, {}])
def test_compaction_is_switched_by_true_and_false_only(value: Any) -> None:
    with pytest.raises(TypeError, match="compaction"):
        Agent(DEMO, compaction=value)


def test_the_configuration_is_checked_when_compaction_is_off_and_travels_in_the_recipe() -> None:
    with pytest.raises(ValueError, match="strategy"):
        Agent(DEMO, compaction_config={"strategy": "no"})
    config = {"strategy": "summarize", "keep_recent_messages": 4, "summary_model": DEMO}
    recipe = Agent(DEMO, compaction=True, compaction_config=config).to_config()
    assert Agent.from_config(recipe).settings.compaction_config == config


def test_off_by_default_nothing_is_ever_taken_out() -> None:
    session = scripted_agent(["a"] * 30, row={"context_window": 4_000}).session()
    run(session, *["q"] * 30)
    assert len(session.messages) == 60
    assert session.metadata["compaction_count"] == 0


def test_l01_a_sliding_window_keeps_the_recent_turns_and_says_what_is_missing() -> None:
    agent = compacting([f"a{n}" for n in range(6)], trigger_messages=7, keep_recent_messages=4)
    session = agent.session()
    run(session, *[f"q{n}" for n in range(4)])
    assert session.metadata["compaction_count"] == 1
    notice = "[2 earlier messages of this conversation were left out to save room]"
    assert texts(session) == [notice, "q1", "a1", "q2", "a2", "q3", "a3"]
    assert [message["content"] for message in agent.requests[3].messages] == [notice, "q1", "a1", "q2", "a2", "q3"]


def test_l01_notices_of_several_compactions_are_one_that_counts_all() -> None:
    session = compacting(["a"] * 40, trigger_messages=7, keep_recent_messages=4).session()
    run(session, *[f"q{n}" for n in range(40)])
    assert session.metadata["compaction_count"] > 5
    found = [text for text in texts(session) if text.startswith("[")]
    left_out = 80 - (len(session.messages) - 1)
    assert found == [f"[{left_out} earlier messages of this conversation were left out to save room]"]


def test_l01_without_the_notice_the_window_begins_with_a_question() -> None:
    session = compacting(
        ["a"] * 9, trigger_messages=6, keep_recent_messages=3, sliding_window_include_truncation_notice=False
    ).session()
    run(session, *[f"q{n}" for n in range(9)])
    assert session.messages[0]["role"] == "user"
    assert session.messages[0]["content"].startswith("q")
    assert session.metadata["compaction_count"]


def test_l01_a_reply_is_stored_once_on_a_compacting_turn_and_every_later_one() -> None:
    session = compacting([f"answer {n}" for n in range(12)], trigger_messages=6, keep_recent_messages=2).session()

    async def main() -> None:
        for n in range(12):
            result = await session.run(f"question {n}")
            assert texts(session)[-2:] == [f"question {n}", f"answer {n}"]
            assert texts(session).count(result.output) == 1

    asyncio.run(main())


def test_d04_compaction_empties_the_boundaries_and_says_at_which_run() -> None:
    session = compacting(["a"] * 5, trigger_messages=5, keep_recent_messages=2).session()
    run(session, "1", "2")
    assert len(session.run_boundaries) == 2
    assert "boundaries_reset_at_run" not in session.metadata
    run(session, "3")
    assert session.run_boundaries == []
    assert session.metadata["boundaries_reset_at_run"] == 3
    assert session.metadata["run_count"] == 3
    run(session, "4")
    record = session.run_boundaries[-1] if session.run_boundaries else None
    assert record is None or session.messages[record["start"]]["content"] == "4"


def test_l01_events_tell_each_compaction_and_survive_a_save() -> None:
    agent = compacting(["a"] * 9, trigger_messages=6, keep_recent_messages=2)
    session = agent.session()
    run(session, *["a longer question " * 20] * 5)
    told = session.metadata["compaction_events"]
    assert len(told) == session.metadata["compaction_count"] > 0
    assert told[0]["run"] == 4
    assert told[0]["strategy"] == "sliding_window"
    assert told[0]["messages_before"] > told[0]["messages_after"]
    assert told[0]["tokens_before"] > told[0]["tokens_after"]
    restored = AgentSession.from_json(session.to_json(), agent=agent)
    assert restored.metadata["compaction_events"] == told
    assert restored.metadata["boundaries_reset_at_run"] == session.metadata["boundaries_reset_at_run"]
    assert run(restored, "6").output == "a"


def test_l01_old_tool_results_are_cleared_first_and_the_window_waits_until_that_is_not_enough() -> None:
    replies: list[Any] = []
    for n in range(4):
        replies += [[ToolUse("fetch", {"n": n}, id=f"c{n}")], f"a{n}"]
    agent = compacting(replies, settings={"tools": [fetch]}, trigger_tokens=500, keep_recent_messages=4)
    session = agent.session()
    run(session, *[f"q{n}" for n in range(4)])
    results = [message["content"] for message in session.messages if message["role"] == "tool"]
    assert CLEARED in results
    assert results[-1].startswith("3: ")
    assert session.metadata["compaction_events"][0]["levels"] == ["tool_result_clearing"]
    calls = [call["id"] for message in session.messages for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in session.messages if message["role"] == "tool"]


def test_l01_clearing_alone_never_leaves_a_message_out() -> None:
    replies = [[ToolUse("fetch", {"n": 1})], "a1", [ToolUse("fetch", {"n": 2})], "a2", "a3"]
    agent = compacting(
        replies,
        settings={"tools": [fetch]},
        strategy="tool_result_clearing",
        trigger_messages=1,
        keep_recent_messages=1,
    )
    session = agent.session()
    run(session, "1", "2", "3")
    assert len(session.messages) == 10
    assert [m["content"] for m in session.messages if m["role"] == "tool"] == [CLEARED, CLEARED]
    count = session.metadata["compaction_count"]
    assert all(event["levels"] == ["tool_result_clearing"] for event in session.metadata["compaction_events"])
    assert 1 <= count <= 2


def test_l01_a_compaction_inside_a_long_turn_keeps_its_question_and_whole_rounds() -> None:
    replies: list[Any] = [[ToolUse("fetch", {"n": n}, id=f"c{n}")] for n in range(8)]
    agent = compacting([*replies, "done"], settings={"tools": [fetch]}, trigger_messages=9, keep_recent_messages=4)
    session = agent.session()
    assert run(session, "go").output == "done"
    assert session.metadata["compaction_count"] >= 1
    last = agent.requests[-1].messages
    assert [message["content"] for message in last if message["role"] == "user"][-1] == "go"
    for request in agent.requests:
        open_calls: set[str] = set()
        for message in request.messages:
            open_calls |= {call["id"] for call in message.get("tool_calls", ())}
            if message["role"] == "tool":
                assert message["tool_call_id"] in open_calls
                open_calls.discard(message["tool_call_id"])
        assert not open_calls
    assert texts(session)[-1] == "done"


@pytest.mark.parametrize("strategy", ["sliding_window", "summarize"])
def test_l01_a_message_that_came_in_inside_the_turn_stays(strategy: str) -> None:
    replies: list[Any] = [[ToolUse("fetch", {"n": n}, id=f"c{n}")] for n in range(6)]
    if strategy == "summarize":
        replies = [*replies[:5], "what was done", replies[5], "and that"]
    agent = compacting(
        [*replies, "done"],
        settings={"tools": [fetch]},
        strategy=strategy,
        trigger_messages=11,
        keep_recent_messages=3,
    )
    session = agent.session()

    async def main() -> None:
        async for event in session.stream("go"):
            if isinstance(event, events.ToolCallResult) and event.id == "c0":
                session.inject("in French, please")

    asyncio.run(main())
    assert session.metadata["compaction_count"] >= 1
    assert "in French, please" in [message["content"] for message in agent.requests[-1].messages]
    assert texts(session).count("in French, please") == 1


def test_l01_the_trigger_counts_what_the_server_said_and_not_only_the_estimate() -> None:
    """Tool definitions and pictures cost what only the server knows."""
    from doc_processing_toolkit.agent.compacting import Compacting, Compactor
    from doc_processing_toolkit.agent.spending import Spending
    from doc_processing_toolkit.core.protocols import TurnRequest
    from doc_processing_toolkit.history.compaction_config import CompactionConfig

    agent = scripted_agent([])
    config = CompactionConfig(trigger_tokens=1_000, keep_recent_messages=1)
    compactor = Compactor(Compacting(config, agent.start_turn), TurnRequest("q"), agent.row, None, Spending(agent.row))
    sent = [{"role": "user", "content": "short"}]
    compactor.note_usage(sent, 5_000)
    assert compactor.gap > 4_900
    compactor.note_usage(sent, 1)
    assert compactor.gap > 4_900, "a count far below the estimate is not believed"


def test_l01_the_window_of_the_model_is_the_default_trigger() -> None:
    words = "some words of a question " * 40
    agent = compacting(["a"] * 20, settings={"row": {"context_window": 3_000}})
    session = agent.session()
    run(session, *[words] * 20)
    assert session.metadata["compaction_count"] >= 1
    assert session.metadata["run_count"] == 20
    assert session.interrupted_turn is None


def test_c09_the_mode_holds_on_a_compacting_turn() -> None:
    replies: list[Any] = []
    for n in range(4):
        replies += [[ToolUse("fetch", {"n": n}, id=f"c{n}")], f"a{n}"]
    agent = compacting(
        replies,
        settings={"tools": [fetch], "session_history_config": {"mode": "no_tool_results"}},
        strategy="tool_result_clearing",
        trigger_messages=1,
        keep_recent_messages=1,
    )
    session = agent.session()
    run(session, *"1234")
    assert session.metadata["compaction_count"] >= 1
    for request in agent.requests:
        sent = [message["content"] for message in request.messages if message["role"] == "tool"]
        assert CLEARED not in sent
        assert sum(LONG in content for content in sent) <= 1


def test_c07_a_flattened_history_is_flattened_again_after_a_compaction() -> None:
    agent = compacting(
        [f"a{n}" for n in range(6)],
        settings={"session_history_config": {"mode": "text_summary"}},
        trigger_messages=7,
        keep_recent_messages=2,
    )
    session = agent.session()
    run(session, *[f"q{n}" for n in range(5)])
    assert session.metadata["compaction_count"] >= 1
    compacted = agent.requests[3].messages
    assert len(compacted) == 1
    assert "q0" not in str(compacted)
    assert "q3" in str(compacted)
    assert "left out to save room" in str(compacted)
    assert str(compacted).count("The conversation so far") == 1
    assert texts(session)[-1] == "a4"
    assert all("The conversation so far" not in text for text in texts(session))


def test_l01_pictures_in_old_tool_results_are_cleared_too() -> None:
    agent = compacting(["a"], strategy="tool_result_clearing", trigger_messages=2, keep_recent_messages=1)
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    session = agent.session()
    session.messages.extend(
        [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": [image_part(PIXEL)]},
            {"role": "assistant", "content": "a dot"},
        ]
    )
    run(session, "and?")
    assert session.messages[2]["content"] == [{"type": "text", "text": CLEARED}]


def test_l01_a_history_that_holds_orphans_is_compacted_and_gets_no_new_one() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}

    agent = compacting(["a", "b"], trigger_messages=6, keep_recent_messages=4)
    session = agent.session()
    session.messages.extend(
        [
            {"role": "tool", "tool_call_id": "gone", "content": LONG},
            {"role": "user", "content": "1"},
            {"role": "assistant", "content": None, "tool_calls": [call("never answered"), call("late")]},
            {"role": "user", "content": "in between"},
            {"role": "tool", "tool_call_id": "late", "content": "x"},
            {"role": "assistant", "content": "1!"},
        ]
    )
    run(session, "2", "3")
    calls = [c["id"] for m in session.messages for c in m.get("tool_calls", ())]
    results = [m["tool_call_id"] for m in session.messages if m["role"] == "tool"]
    assert set(results) <= {*calls, "gone"}
    assert session.metadata["compaction_count"] >= 1


class TestSummaries:
    """The strategy that lets a model write down what is left out."""

    def test_l01_a_summary_takes_the_place_and_the_next_one_folds_it_in(self) -> None:
        replies = ["a0", "a1", "a2", "SUM ONE", "a3", "SUM TWO", "a4"]
        agent = compacting(replies, strategy="summarize", trigger_messages=6, keep_recent_messages=3)
        session = agent.session()
        run(session, "q0", "q1", "q2")
        assert session.metadata["compaction_count"] == 0
        run(session, "q3")
        assert "SUM ONE" in texts(session)[0]
        assert "q0" in str(agent.requests[3].messages)
        assert texts(session)[-1] == "a3"
        run(session, "q4")
        assert "SUM TWO" in texts(session)[0]
        assert "SUM ONE" in str(agent.requests[5].messages)
        assert sum("SUM" in text for text in texts(session)) == 1
        assert session.metadata["compaction_count"] == 2

    def test_l01_what_a_summary_costs_is_banked_and_answers_for_no_run(self) -> None:
        replies = ["a0", "a1", "a2", "SUM", "a3"]
        agent = compacting(replies, strategy="summarize", trigger_messages=6, keep_recent_messages=3)
        session = agent.session()
        run(session, "q0", "q1", "q2")
        before = session.metadata["total_input_tokens"]

        async def main() -> list[events.Event]:
            return [event async for event in session.stream("q3")]

        seen = asyncio.run(main())
        result = session.last_turn_results[-1]
        assert [record.is_summary for record in result.cost_records] == [True, False]
        assert session.metadata["total_input_tokens"] == before + sum(r.input_tokens for r in result.cost_records)
        assert sum(isinstance(event, events.Usage) for event in seen) == 2
        assert len(session.metadata["served_models"]) == 4

    @pytest.mark.parametrize("failure", [RequestFailedError("no", is_retryable=False), "", "   "])
    def test_l01_a_summary_that_fails_leaves_everything_as_it_was(self, failure: Any, tmp_path: Path) -> None:
        replies = ["a0", "a1", "a2", failure, "a3"]
        agent = compacting(
            replies, strategy="summarize", trigger_messages=6, keep_recent_messages=3, archive_path=tmp_path / "kept"
        )
        session = agent.session()
        run(session, "q0", "q1", "q2")
        assert run(session, "q3").output == "a3"
        assert texts(session) == ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"]
        assert session.metadata["compaction_count"] == 0
        assert len(session.run_boundaries) == 4
        assert not (tmp_path / "kept").exists()

    def test_i01_a_turn_that_fails_after_its_compaction_leaves_the_history_as_it_was(self) -> None:
        replies = ["a0", "a1", "a2", "SUM", RequestFailedError("no", is_retryable=False)]
        agent = compacting(replies, strategy="summarize", trigger_messages=6, keep_recent_messages=3)
        session = agent.session()
        run(session, "q0", "q1", "q2")
        before = session.messages
        assert run(session, "q3").error
        assert session.messages is before
        assert session.metadata["compaction_count"] == 0
        assert len(session.run_boundaries) == 3
        assert session.interrupted_turn is not None

    def test_i03_a_turn_that_is_cancelled_during_its_summary_is_set_aside(self) -> None:
        from doc_processing_toolkit.testing import Pause

        replies = ["a0", "a1", "a2", [Pause(30), "SUM"]]
        agent = compacting(replies, strategy="summarize", trigger_messages=6, keep_recent_messages=3)
        session = agent.session()
        run(session, "q0", "q1", "q2")

        async def main() -> None:
            task = asyncio.create_task(session.run("q3"))
            while len(agent.requests) < 4:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert len(session.messages) == 6
        assert session.interrupted_turn is not None
        assert session.interrupted_turn["message"] == "q3"
        assert agent.script.open_streams == 0

    def test_l01_a_long_conversation_is_summed_up_piece_by_piece(self) -> None:
        replies = ["a0", "a1", "first half", "all of it", "a2"]
        agent = compacting(replies, strategy="summarize", trigger_messages=5, keep_recent_messages=1)
        session = agent.session()
        run(session, "word " * 6_000, "q1", "q2")
        assert "first half" in str(agent.requests[3].messages)
        assert "all of it" in texts(session)[0]


class TestArchive:
    """L02: the archive is the only file that a session writes by itself."""

    def test_without_an_archive_no_file_is_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        session = compacting(["a"] * 9, trigger_messages=5, keep_recent_messages=2).session()
        run(session, *"123456789")
        assert session.metadata["compaction_count"]
        assert list(tmp_path.rglob("*")) == []

    def test_a_folder_gets_one_file_per_compaction_with_what_was_there_before(self, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "archive"
        session = compacting(["a"] * 9, trigger_messages=5, keep_recent_messages=2, archive_path=folder).session()
        run(session, "1", "2")
        before = session.get_history()
        run(session, "3")
        (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
        saved = json.loads(file.read_text("utf-8"))
        assert saved["messages"] == [*before, {"role": "user", "content": "3"}]
        assert saved["run"] == 3
        assert file.parent == folder
        assert file.stat().st_mode & 0o777 == 0o600
        run(session, *"456789")
        assert len(list(folder.iterdir())) == session.metadata["compaction_count"]

    def test_a_lines_file_gets_one_line_per_compaction(self, tmp_path: Path) -> None:
        file = tmp_path / "archive.jsonl"
        file.write_text('{"mine": true}', "utf-8")
        session = compacting(["a"] * 9, trigger_messages=5, keep_recent_messages=2, archive_path=str(file)).session()
        run(session, *"123456789")
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert lines[0] == {"mine": True}
        assert len(lines) - 1 == session.metadata["compaction_count"] > 1
        assert [path.name for path in tmp_path.iterdir()] == ["archive.jsonl"]

    def test_a_full_disk_costs_the_compaction_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        session = compacting(["a"] * 9, trigger_messages=5, keep_recent_messages=2, archive_path=tmp_path).session()
        run(session, "1", "2")
        monkeypatch.setattr(os, "fsync", full)
        assert run(session, "3").output == "a"
        assert texts(session) == ["1", "a", "2", "a", "3", "a"]
        assert session.metadata["compaction_count"] == 0
        assert list(tmp_path.iterdir()) == []

    def test_the_same_conversation_is_archived_once(self, tmp_path: Path) -> None:
        messages = [{"role": "user", "content": "x\ud800"}]
        first = compaction_archive.archive(tmp_path, messages, run=1, model="m")
        assert compaction_archive.archive(tmp_path, messages, run=1, model="m") == first
        assert len(list(tmp_path.iterdir())) == 1
