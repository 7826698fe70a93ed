"""The whole turn's time, aborts and closings: each ends what is waited for, and nothing is left behind."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from doc_processing_toolkit import Hooks, TurnAbortedError, events
from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.agent.watch import Watch
from doc_processing_toolkit.core.errors import TurnTimeoutError
from doc_processing_toolkit.testing import Pause, ToolUse, scripted_agent


async def sleeps() -> None:
    """Sleep."""
    await asyncio.sleep(30)


@pytest.mark.parametrize("replies", [[["a", Pause(30)]], [[ToolUse("sleeps")]], [[Pause(30)]]])
def test_a_turn_that_takes_too_long_ends_in_whatever_it_waits_for(replies: list[Any]) -> None:
    agent = scripted_agent(replies, tools=[sleeps], timeout=0.1)
    session = agent.session()
    started = time.monotonic()
    with pytest.raises(TurnTimeoutError, match=r"0\.1 s"):
        asyncio.run(session.run("q"))
    assert time.monotonic() - started < 5
    assert session.interrupted_turn is not None
    assert agent.script.open_streams == 0


@pytest.mark.parametrize("replies", [[["a", Pause(30)]], [[ToolUse("sleeps")]]])
def test_an_abort_ends_the_wait_for_the_server_and_for_tools(replies: list[Any]) -> None:
    session = scripted_agent(replies, tools=[sleeps]).session()

    async def main() -> None:
        running = asyncio.ensure_future(session.run("q"))
        await asyncio.sleep(0.05)
        assert isinstance(session.run_handle, RunHandle)
        session.run_handle.abort("enough")
        with pytest.raises(TurnAbortedError, match="enough"):
            await asyncio.wait_for(running, 5)

    asyncio.run(main())


def test_a_slow_reader_does_not_lose_a_turn_that_is_in_time() -> None:
    agent = scripted_agent([["a", "b"]], timeout=0.3)

    async def main() -> list[str]:
        seen = []
        async for event in agent.stream("q"):
            seen.append(event.type)
            await asyncio.sleep(0.01)
        return seen

    assert asyncio.run(main())[-1] == "complete"


def test_time_that_runs_out_while_the_reader_is_busy_ends_the_turn_at_the_next_event() -> None:
    agent = scripted_agent([["a", "b", "c"]], timeout=0.1)

    async def main() -> None:
        async for event in agent.stream("q"):
            if isinstance(event, events.TextDelta):
                await asyncio.sleep(0.2)

    with pytest.raises(TurnTimeoutError):
        asyncio.run(main())


def test_a_cancellation_from_outside_is_not_taken_for_the_watchs_own() -> None:
    async def main() -> None:
        watch = Watch(RunHandle(), 30)
        task = asyncio.ensure_future(watch.wait_for(asyncio.sleep(30)))
        await asyncio.sleep(0)
        watch.interrupt()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        watch.end()

    asyncio.run(main())


def test_work_that_ends_all_the_same_leaves_no_cancellation_behind() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "done"
        raise AssertionError

    async def main() -> None:
        handle = RunHandle()
        handle.attach()
        watch = Watch(handle, 0.02)
        with pytest.raises(TurnTimeoutError):
            await watch.wait_for(stubborn())
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        watch.end()

    asyncio.run(main())


def test_a_hook_that_closes_its_own_stream_ends_it() -> None:
    streams: list[Any] = []

    async def close(what: Any, handle: Any) -> None:
        await streams[0].aclose()

    agent = scripted_agent([[ToolUse("sleeps")]], tools=[sleeps], hooks=Hooks(tool_call=close))

    async def main() -> list[str]:
        streams.append(agent.stream("q"))
        return [event.type async for event in streams[0]]

    assert "complete" not in asyncio.run(main())
    assert agent.script.open_streams == 0


def test_a_stream_closed_from_another_task_ends_that_of_its_reader_and_nothing_else() -> None:
    agent = scripted_agent([["a", Pause(30)]])

    async def main() -> None:
        stream = agent.stream("q")

        async def read() -> str:
            async for _ in stream:
                pass
            await asyncio.sleep(0)
            return "went on"

        reader = asyncio.ensure_future(read())
        await asyncio.sleep(0.05)
        await asyncio.gather(stream.aclose(), stream.aclose())
        assert await reader == "went on"
        assert reader.cancelling() == 0

    asyncio.run(main())
    assert agent.script.open_streams == 0
