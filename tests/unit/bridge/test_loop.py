"""The loop: the two repairs, task ownership, coalescing and slices."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from turnleaf.bridge.coalesce import Coalescer, pause_ms
from turnleaf.bridge.loop import Loop
from turnleaf.bridge.slices import Slices
from turnleaf.bridge.tasks import TaskOwner

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def run(qapp: QApplication) -> Iterator[Run]:
    loop = Loop(qapp)
    asyncio.set_event_loop(loop)
    yield loop.run_until_complete
    loop.close()
    asyncio.set_event_loop(None)


def test_abandoned_async_generator_runs_its_finally(run: Run) -> None:
    closed: list[bool] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def scenario() -> None:
        async for number in numbers():
            if number == 2:
                break
        gc.collect()
        await asyncio.sleep(0.02)

    run(scenario())
    assert closed == [True]


def test_cancelled_call_frees_its_timer(run: Run) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        before = loop.waiting_timers()
        for _ in range(50):
            async with asyncio.timeout(600):
                await asyncio.sleep(0)
        assert loop.waiting_timers() <= before + 1

    run(scenario())


def test_calls_run_in_the_order_they_were_made(run: Run) -> None:
    order: list[int] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        for number in range(20):
            loop.call_soon(order.append, number)
        await asyncio.sleep(0.01)

    run(scenario())
    assert order == list(range(20))


def test_owner_hears_of_a_failure_and_not_of_a_cancellation(run: Run) -> None:
    heard: list[BaseException] = []

    async def fail() -> None:
        raise ValueError("no")

    async def scenario() -> None:
        owner = TaskOwner("test", heard.append)
        owner.start(fail(), "fail")
        owner.start(asyncio.sleep(60), "sleep")
        await asyncio.sleep(0.01)
        assert owner.running == 1
        assert await owner.close()
        assert owner.running == 0

    run(scenario())
    assert [str(failure) for failure in heard] == ["no"]


def test_many_requests_make_one_flush(run: Run) -> None:
    flushes: list[int] = []

    async def scenario() -> None:
        coalescer = Coalescer(lambda: flushes.append(1))
        for _ in range(100):
            coalescer.request()
        await asyncio.sleep(0.05)
        assert flushes == [1]
        coalescer.request()
        await asyncio.sleep(0.05)
        assert flushes == [1, 1]

    run(scenario())


@pytest.mark.parametrize(("cost", "pause"), [(0.0, 16), (4.0, 16), (20.0, 60), (900.0, 250)])
def test_pause_grows_with_the_cost_of_a_flush(cost: float, pause: int) -> None:
    assert pause_ms(cost) == pause


def test_slices_run_one_work_after_the_other_and_tell_the_end(run: Run) -> None:
    done: list[str] = []

    def work(name: str) -> Iterator[None]:
        for _ in range(3):
            done.append(name)
            yield

    async def scenario() -> None:
        slices = Slices()
        slices.start(work("a"), lambda: done.append("a ended"))
        slices.start(work("b"))
        while slices.busy:
            await asyncio.sleep(0.005)

    run(scenario())
    assert done == ["a", "a", "a", "a ended", "b", "b", "b"]
