"""The line in front of the local model serves in order of arrival, across event loops, and nobody blocks it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.providers.local.waiting import WaitingLine


def nothing(_: int) -> None:
    """Ignore a position."""


def test_who_comes_first_is_served_first_and_sees_the_positions_fall() -> None:
    async def scenario() -> tuple[list[str], list[int]]:
        line, served, seen = WaitingLine(), list[str](), list[int]()
        holder = line.join()

        async def visit(name: str, positions: list[int]) -> None:
            ticket = line.join()
            await line.wait(ticket, positions.append)
            served.append(name)
            await asyncio.sleep(0.01)
            line.leave(ticket)

        visits = [asyncio.create_task(visit(name, seen if name == "c" else [])) for name in "abc"]
        await asyncio.sleep(0.01)
        assert served == []
        line.leave(holder)
        await asyncio.gather(*visits)
        return served, seen

    assert asyncio.run(scenario()) == (["a", "b", "c"], [3, 2, 1])


def test_who_is_cancelled_while_waiting_leaves_the_line() -> None:
    async def scenario() -> list[str]:
        line, served = WaitingLine(), list[str]()
        holder = line.join()

        async def visit(name: str) -> None:
            ticket = line.join()
            try:
                await line.wait(ticket, nothing)
                served.append(name)
            finally:
                line.leave(ticket)

        first, second = asyncio.create_task(visit("first")), asyncio.create_task(visit("second"))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        line.leave(holder)
        await asyncio.wait_for(second, 1)
        return served

    assert asyncio.run(scenario()) == ["second"]


def test_a_cancellation_in_the_moment_of_being_served_does_not_block_the_next() -> None:
    async def scenario() -> None:
        line = WaitingLine()
        holder = line.join()

        async def visit() -> None:
            ticket = line.join()
            try:
                await line.wait(ticket, nothing)
            finally:
                line.leave(ticket)

        first, second = asyncio.create_task(visit()), asyncio.create_task(visit())
        await asyncio.sleep(0)
        line.leave(holder)
        first.cancel()  # it has been woken, but has not run yet
        await asyncio.wait_for(second, 1)

    asyncio.run(scenario())


def test_threads_with_loops_of_their_own_wait_in_the_same_line() -> None:
    line, order = WaitingLine(), list[int]()
    release, inside = threading.Event(), threading.Event()

    async def hold() -> None:
        ticket = line.join()
        await line.wait(ticket, nothing)
        order.append(0)
        inside.set()
        await asyncio.to_thread(release.wait)
        line.leave(ticket)

    async def follow(number: int) -> None:
        ticket = line.join()
        arrived[number].set()
        await line.wait(ticket, nothing)
        order.append(number)
        line.leave(ticket)

    arrived = {number: threading.Event() for number in (1, 2, 3)}
    threads = [threading.Thread(target=asyncio.run, args=(hold(),))]
    threads[0].start()
    inside.wait()
    for number in (1, 2, 3):
        thread = threading.Thread(target=asyncio.run, args=(follow(number),))
        threads.append(thread)
        thread.start()
        arrived[number].wait()
    release.set()
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3]


def test_a_loop_that_was_closed_without_leaving_does_not_hold_up_the_others() -> None:
    line = WaitingLine()
    gone = asyncio.new_event_loop()

    async def join() -> None:
        line.join()

    gone.run_until_complete(join())
    gone.close()

    async def scenario() -> None:
        ticket = line.join()
        await asyncio.wait_for(line.wait(ticket, nothing), 1)

    asyncio.run(scenario())


def test_a_loop_that_is_closed_while_others_wait_behind_it_is_passed_over() -> None:
    line = WaitingLine()
    gone = asyncio.new_event_loop()

    async def join() -> None:
        line.join()

    gone.run_until_complete(join())

    async def scenario() -> None:
        waiting = asyncio.create_task(line.wait(line.join(), nothing))
        await asyncio.sleep(0.01)
        gone.close()
        await asyncio.wait_for(waiting, 5)

    asyncio.run(scenario())


def test_closing_the_line_turns_away_who_waits_and_who_comes() -> None:
    async def scenario() -> None:
        line = WaitingLine()
        line.join()
        waiting = asyncio.create_task(line.wait(line.join(), nothing))
        await asyncio.sleep(0.01)
        line.close()
        with pytest.raises(ProviderError, match="shut down"):
            await asyncio.wait_for(waiting, 1)
        with pytest.raises(ProviderError, match="shut down"):
            await line.wait(line.join(), nothing)

    asyncio.run(scenario())


def test_leaving_twice_frees_one_place_only() -> None:
    async def scenario() -> int:
        line = WaitingLine()
        first, _, third = line.join(), line.join(), line.join()
        line.leave(first)
        line.leave(first)
        return line.ahead(third)

    assert asyncio.run(scenario()) == 1
