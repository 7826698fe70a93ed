"""Turns on a session: what is stored when, what a failure leaves behind, and one turn at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession, ProviderError, TurnAbortedError, events
from doc_processing_toolkit.core.events import Event
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.testing import PIXEL, Cut, Pause, ToolUse, scripted_agent


def failing(message: str = "no", *, retryable: bool = False) -> RequestFailedError:
    return RequestFailedError(message, is_retryable=retryable, provider="scripted")


async def collect(stream: Any) -> list[Event]:
    async with stream as stream_events:
        return [event async for event in stream_events]


def test_b02_b04_each_turn_is_stored_once_and_the_next_one_sees_it() -> None:
    agent = scripted_agent(["Hello Alice.", "Your name is Alice."])

    async def main() -> AgentSession:
        async with agent.session() as session:
            await session.run("My name is Alice.")
            await session.run("What is my name?")
        return session

    session = asyncio.run(main())
    assert session.get_history() == [
        {"role": "user", "content": "My name is Alice."},
        {"role": "assistant", "content": "Hello Alice."},
        {"role": "user", "content": "What is my name?"},
        {"role": "assistant", "content": "Your name is Alice."},
    ]
    assert agent.requests[1].messages == session.messages[:3]
    assert session.run_boundaries == [{"run": 1, "start": 0, "end": 2}, {"run": 2, "start": 2, "end": 4}]
    assert session.closed


def test_b05_counters_stand_at_zero_from_the_start_and_grow() -> None:
    agent = scripted_agent(["one", "two"])
    session = agent.session()
    before = dict(session.metadata)
    for name in (
        "run_count",
        "total_input_tokens",
        "total_output_tokens",
        "total_tokens",
        "total_cost",
        "total_cached_input_tokens",
        "total_cache_write_tokens",
        "total_retry_cost",
        "total_retry_count",
        "total_retry_input_tokens",
        "total_retry_output_tokens",
        "compaction_count",
    ):
        assert before[name] == 0
    asyncio.run(session.run("q"))
    result = asyncio.run(session.run("q again"))
    assert session.metadata["run_count"] == 2
    assert session.metadata["total_tokens"] > result.total_tokens
    assert [record["run"] for record in session.metadata["served_models"]] == [1, 2]


def test_b06_history_changes_when_complete_is_handed_out_and_not_before() -> None:
    session = scripted_agent([["a", "b"]]).session()

    async def main() -> None:
        async with session.stream("q") as stream:
            async for event in stream:
                is_last = isinstance(event, events.Complete)
                assert bool(session.messages) is is_last
                assert session.turn_in_flight is not is_last

    asyncio.run(main())


def test_a_completed_turn_can_be_followed_inside_the_loop_that_reads_it() -> None:
    session = scripted_agent(["one", "two"]).session()

    async def main() -> None:
        async for event in session.stream("q"):
            if isinstance(event, events.Complete):
                await session.run("at once")

    asyncio.run(main())
    assert len(session.run_boundaries) == 2


def test_turn_start_opens_and_complete_ends_every_stream() -> None:
    session = scripted_agent([["a", "b"], "c"]).session()

    async def main() -> list[list[Event]]:
        return [await collect(session.stream("q")) for _ in range(2)]

    first, second = asyncio.run(main())
    assert [event.type for event in first] == ["turn_start", "text_delta", "text_delta", "usage", "complete"]
    assert second[0] == events.TurnStart(2)


def test_i01_a_turn_that_raises_moves_its_question_to_interrupted_turn() -> None:
    session = scripted_agent(["fine", ["half", Cut()], "fine again"]).session()

    async def main() -> None:
        await session.run("first")
        with pytest.raises(ProviderError):
            await collect(session.stream("second", files=[("a.png", b"\x89PNG\r\n\x1a\n")]))
        assert len(session.messages) == 2
        record = session.interrupted_turn
        assert record is not None
        assert set(record) == {
            "message",
            "files_attached",
            "error",
            "error_type",
            "failed_at",
            "run",
            "undelivered_injections",
        }
        assert (record["message"], record["files_attached"], record["run"]) == ("second", 1, 2)
        assert record["error_type"] == "ProviderError"
        assert record["failed_at"].endswith("+00:00")
        assert session.metadata["run_count"] == 1
        assert not session.turn_in_flight
        await session.run("third")

    asyncio.run(main())
    assert session.interrupted_turn is None
    assert session.run_boundaries[-1] == {"run": 2, "start": 2, "end": 4}


def test_i01_an_error_shaped_result_leaves_the_history_and_banks_its_spend() -> None:
    session = scripted_agent([[ToolUse("add", {"a": 1, "b": 2})], failing("refused")], tools=[add]).session()
    result = asyncio.run(session.run("sum?"))
    assert result.error == "refused"
    assert session.messages == []
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "AgentResultError"
    assert session.last_turn_results == [result]
    assert session.metadata["total_tokens"] == result.total_tokens > 0
    assert session.metadata["run_count"] == 0


def test_i01_a_stream_closed_early_is_abandoned_and_its_spend_is_banked() -> None:
    agent = scripted_agent([["some ", "words ", Pause(30)]])
    session = agent.session()

    async def main() -> None:
        async with session.stream("q") as stream:
            async for event in stream:
                if isinstance(event, events.TextDelta):
                    break
        assert not session.turn_in_flight

    asyncio.run(main())
    record = session.interrupted_turn
    assert record is not None
    assert record["error_type"] == "StreamAbandoned"
    assert agent.script.open_streams == 0
    [account] = session.last_turn_results
    assert agent.last_abandoned_stream is account
    assert session.metadata["total_output_tokens"] == account.output_tokens == 1
    assert session.messages == []


def test_i01_a_stream_left_without_closing_ends_when_it_is_forgotten() -> None:
    session = scripted_agent([["a", "b"]]).session()

    async def main() -> None:
        async for event in session.stream("q"):
            if isinstance(event, events.TextDelta):
                break
        del event
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "StreamAbandoned"
    assert not session.turn_in_flight


def test_a_cancelled_turn_counts_as_a_turn_that_raised() -> None:
    session = scripted_agent([["a", Pause(30)]]).session()

    async def main() -> None:
        task = asyncio.ensure_future(session.run("q"))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "CancelledError"
    assert not session.turn_in_flight


def test_aclose_from_another_task_ends_the_reader_quietly() -> None:
    session = scripted_agent([["a", Pause(30)]]).session()

    async def main() -> list[Event]:
        stream = session.stream("q")
        reader = asyncio.ensure_future(collect(stream))
        await asyncio.sleep(0.02)
        await stream.aclose()
        await stream.aclose()
        return await reader

    seen = asyncio.run(main())
    assert [event.type for event in seen] == ["turn_start", "text_delta"]
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "StreamAbandoned"


def test_i02_a_second_turn_during_a_running_one_is_refused() -> None:
    session = scripted_agent([[Pause(0.05), "a"]]).session()

    async def main() -> None:
        running = asyncio.ensure_future(session.run("q"))
        await asyncio.sleep(0.01)
        assert session.turn_in_flight
        with pytest.raises(RuntimeError, match="a turn is already running on this session"):
            await session.run("second")
        with pytest.raises(RuntimeError, match="a turn is already running on this session"):
            session.stream("second")
        for change in (session.clear, lambda: session.truncate_to(0), lambda: session.rebind(session.agent)):
            with pytest.raises(RuntimeError, match="already running"):
                change()
        await running

    asyncio.run(main())
    assert len(session.messages) == 2


def test_a_stream_that_was_made_before_another_turn_is_refused_when_it_starts() -> None:
    session = scripted_agent([[Pause(0.05), "a"], "b"]).session()

    async def main() -> None:
        early = session.stream("second")
        running = asyncio.ensure_future(session.run("first"))
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="already running"):
            await collect(early)
        await running

    asyncio.run(main())
    assert [message["content"] for message in session.messages] == ["first", "a"]


def test_i03_a_turn_that_raises_carries_and_parks_what_it_could_not_deliver() -> None:
    session = scripted_agent([["a", Pause(30)]]).session()

    async def main() -> BaseException:
        task = asyncio.ensure_future(session.run("q"))
        await asyncio.sleep(0.02)
        session.inject("one more thing")
        assert session.run_handle is not None
        session.run_handle.abort("enough")  # type: ignore[attr-defined]
        with pytest.raises(TurnAbortedError, match="enough") as caught:
            await task
        return caught.value

    error = asyncio.run(main())
    assert getattr(error, "undelivered_injections") == ["one more thing"]  # noqa: B009
    assert session.pending_injections == ["one more thing"]
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["undelivered_injections"] == ["one more thing"]


def test_the_switch_brings_the_dangling_question_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_SESSION_INTERRUPTED_TURN", "off")
    session = scripted_agent([failing()]).session()
    asyncio.run(session.run("q"))
    assert session.messages == [{"role": "user", "content": "q"}]
    assert session.interrupted_turn is None


def test_a_missing_file_raises_before_anything_changes(tmp_path: Path) -> None:
    agent = scripted_agent([failing(), "ok"])
    session = agent.session()
    asyncio.run(session.run("lost"))
    kept = session.interrupted_turn
    with pytest.raises(FileNotFoundError, match=r"gone\.pdf"):
        asyncio.run(session.run("q", files=[tmp_path / "gone.pdf"]))
    assert session.interrupted_turn == kept
    assert len(agent.requests) == 1
    assert not session.turn_in_flight


def test_b11_a_streamed_tool_turn_is_light_by_default_and_native_on_request() -> None:
    script = [[ToolUse("add", {"a": 1, "b": 2}, id="c")], "3"]
    light = scripted_agent(script, tools=[add]).session()
    native = scripted_agent(script, tools=[add], stream_history="native").session()

    async def main() -> None:
        for session in (light, native):
            await collect(session.stream("1+2?"))

    asyncio.run(main())
    assert [message["role"] for message in light.messages] == ["user", "assistant"]
    assert [message["role"] for message in native.messages] == ["user", "assistant", "tool", "assistant"]
    assert light.run_boundaries == [{"run": 1, "start": 0, "end": 2}]
    assert native.run_boundaries == [{"run": 1, "start": 0, "end": 4}]


def test_f01_f06_a_late_message_is_parked_and_only_then_is_there_a_key() -> None:
    session = scripted_agent(["one", "two"]).session()
    asyncio.run(session.run("q"))
    assert "pending_injections" not in session.metadata
    session.inject("later")
    assert session.metadata["pending_injections"] == ["later"]
    asyncio.run(session.run("q2"))
    assert session.pending_injections == ["later"]


def test_f02_f04_under_new_turn_a_late_message_becomes_the_next_turn() -> None:
    agent = scripted_agent([["a", Pause(0.05)], "to the late one"])
    session = agent.session(late_injection_policy="new_turn")

    async def main() -> list[Event]:
        seen = []
        async for event in session.stream("q"):
            seen.append(event)
            if isinstance(event, events.TextDelta) and event.text == "a":
                session.inject("late")
        return seen

    seen = asyncio.run(main())
    kinds = [event.type for event in seen]
    assert kinds == [
        "turn_start",
        "text_delta",
        "usage",
        "turn_complete",
        "turn_start",
        "text_delta",
        "usage",
        "complete",
    ]
    assert len(session.last_turn_results) == 2
    assert session.metadata["run_count"] == 2
    assert session.metadata["total_tokens"] == sum(result.total_tokens for result in session.last_turn_results)
    assert [message["content"] for message in session.messages] == ["q", "a", "late", "to the late one"]
    assert "pending_injections" not in session.metadata


@pytest.mark.parametrize(("cap", "late"), [(0, ["x"]), (1, ["q"])])
def test_f03_what_a_guard_holds_back_stays_parked(cap: int, late: list[str], caplog: pytest.LogCaptureFixture) -> None:
    session = scripted_agent([["a", Pause(0.03)]] * 3).session(
        late_injection_policy="new_turn", max_follow_up_turns=cap
    )

    async def main() -> None:
        async for event in session.stream("q"):
            if isinstance(event, events.TextDelta):
                for text in late:
                    session.inject(text)

    asyncio.run(main())
    assert session.pending_injections == late
    assert session.metadata["run_count"] == 1
    assert "pending_injections" in caplog.text


def test_f03_more_late_messages_than_the_cap_stay_parked() -> None:
    session = scripted_agent([["a", Pause(0.03)], "b"]).session(late_injection_policy="new_turn")

    async def main() -> None:
        async for event in session.stream("q"):
            if isinstance(event, events.TextDelta) and event.text == "a":
                for text in ("one", "two", "three"):
                    session.inject(text)

    asyncio.run(main())
    assert session.metadata["run_count"] == 2
    assert session.pending_injections == ["two", "three"]


def test_closed_sessions_refuse_turns_and_can_still_be_saved() -> None:
    agent = scripted_agent(["a", "b"])
    with agent.session() as session:
        asyncio.run(session.run("q"))
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(session.run("q"))
    with pytest.raises(RuntimeError, match="closed"):
        session.stream("q")
    restored = AgentSession.from_json(session.to_json(), agent=agent)
    assert not restored.closed
    assert asyncio.run(restored.run("again")).output == "b"


@pytest.mark.parametrize(
    ("prompt", "error"), [("", ValueError), ("  \n", ValueError), (None, TypeError), (b"q", TypeError)]
)
def test_a_prompt_that_cannot_be_asked_is_refused_at_the_call(prompt: Any, error: type[Exception]) -> None:
    agent = scripted_agent([])
    session = agent.session()
    for call in (agent.run, session.run):
        with pytest.raises(error):
            asyncio.run(call(prompt))
    for stream in (agent.stream, session.stream):
        with pytest.raises(error):
            stream(prompt)


def test_files_may_be_any_iterable_even_without_a_prompt() -> None:
    agent = scripted_agent(["seen"])
    session = agent.session()
    asyncio.run(session.run("", files=(entry for entry in [("a.png", PIXEL)])))
    [message] = agent.requests[0].messages
    assert [part["type"] for part in message["content"]] == ["image_url"]


def test_lone_surrogates_never_reach_the_history() -> None:
    session = scripted_agent(["fine \ud83d"]).session()
    asyncio.run(session.run("broken \udc80 text"))
    text = session.to_json()
    assert text.encode("utf-8")
    assert session.messages == [
        {"role": "user", "content": "broken \ufffd text"},
        {"role": "assistant", "content": "fine \ufffd"},
    ]


def test_a07_an_agents_own_stream_closed_early_is_kept_with_its_spend() -> None:
    agent = scripted_agent([["some ", Pause(30)]])

    async def main() -> None:
        async with agent.stream("q") as stream:
            async for event in stream:
                if isinstance(event, events.TextDelta):
                    break

    asyncio.run(main())
    assert agent.last_abandoned_stream is not None
    assert agent.last_abandoned_stream.output_tokens == 1


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
