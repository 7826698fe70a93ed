"""Many documents at once: about as many processes as processors, in order, and a wait that costs nothing to leave."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import psutil
import pytest

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import ExtractionLimits, extract, extraction
from doc_processing_toolkit.documents.slots import Slots
from unit.documents.pdf_making import endless_pdf

PATIENT = ExtractionLimits(seconds=60, pages=1_000_000, characters=10**9)


@pytest.fixture
def two_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_slots", Slots(2))


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "worker_main.py" in " ".join(child.cmdline())]


async def until(claim: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


async def cancelled(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.usefixtures("two_slots")
def test_no_more_processes_run_than_there_are_slots() -> None:
    async def scenario() -> int:
        reading = [asyncio.create_task(extract(endless_pdf(), limits=PATIENT)) for _ in range(5)]
        await until(lambda: len(workers()) == 2)
        await asyncio.sleep(0.3)
        most = len(workers())
        await cancelled(*reading)
        assert workers() == []
        return most

    assert asyncio.run(scenario()) == 2


@pytest.mark.usefixtures("two_slots")
def test_document_that_waits_is_cancelled_at_once_and_the_others_go_on() -> None:
    async def scenario() -> float:
        blocking = [asyncio.create_task(extract(endless_pdf(), limits=PATIENT)) for _ in range(2)]
        await until(lambda: len(workers()) == 2)
        unwanted = asyncio.create_task(extract(b"never read"))
        wanted = asyncio.create_task(extract(b"read in the end"))
        await asyncio.sleep(0.05)
        running = {worker.pid for worker in workers()}
        start = time.monotonic()
        await cancelled(unwanted)
        needed = time.monotonic() - start
        assert unwanted.cancelled()
        assert {worker.pid for worker in workers()} == running
        await cancelled(*blocking)
        assert (await wanted).text == "read in the end"
        return needed

    assert asyncio.run(scenario()) < 0.1


@pytest.mark.usefixtures("two_slots")
def test_time_limit_does_not_count_the_wait() -> None:
    async def scenario() -> str:
        blocking = [asyncio.create_task(extract(endless_pdf(), limits=PATIENT)) for _ in range(2)]
        await until(lambda: len(workers()) == 2)
        waiting = asyncio.create_task(extract(b"read in time", limits=ExtractionLimits(seconds=5)))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await cancelled(*blocking)
        return (await waiting).text

    assert asyncio.run(scenario()) == "read in time"


def test_slots_are_shared_by_all_event_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_slots", Slots(1))
    texts: list[str] = []

    def elsewhere() -> None:
        texts.append(asyncio.run(extract(b"from another loop")).text)

    async def scenario() -> None:
        blocking = asyncio.create_task(extract(endless_pdf(), limits=PATIENT))
        await until(lambda: len(workers()) == 1)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.sleep(0.3)
        assert (len(workers()), texts) == (1, [])
        await cancelled(blocking)
        await asyncio.to_thread(thread.join)

    asyncio.run(scenario())
    assert texts == ["from another loop"]


def test_loop_that_is_gone_while_its_document_waits_keeps_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slots(1)
    monkeypatch.setattr(extraction, "_slots", slots)
    blocked = threading.Event()
    slots.take(lambda: blocked.set() or True)
    assert blocked.is_set()
    loop = asyncio.new_event_loop()
    waiting = extract(b"nobody waits for it any more")
    task = loop.create_task(waiting)
    loop.run_until_complete(asyncio.sleep(0.01))
    # The way of an application that ends without cancelling anything.
    task._log_destroy_pending = False
    loop.close()
    slots.give_back()
    assert asyncio.run(extract(b"the next one")).text == "the next one"


def test_work_begins_in_the_order_in_which_it_came() -> None:
    slots = Slots(1)
    begun: list[int] = []

    def work(number: int) -> Callable[[], bool]:
        def begin() -> bool:
            begun.append(number)
            return True

        return begin

    works = [work(number) for number in range(5)]
    for begin in works:
        slots.take(begin)
    assert begun == [0]
    assert slots.forgo(works[2])
    assert not slots.forgo(works[0])
    for _ in range(4):
        slots.give_back()
    assert begun == [0, 1, 3, 4]


def test_work_that_cannot_begin_keeps_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_slots", Slots(1))

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(DocumentError) as caught:
            asyncio.run(extract(b"text", name="a.txt"))
    assert caught.value.code == "worker_died"
    assert asyncio.run(extract(b"text", name="a.txt")).text == "text"
