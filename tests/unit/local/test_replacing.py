"""A server that must go is gone at once, and another stands behind it without anybody waiting for that."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from doc_processing_toolkit.providers.local import (
    LocalModel,
    LocalModelService,
)
from unit.local.processes import ends_within, runs
from unit.local.serving import named, pids, use


def test_a_lease_broken_off_while_the_prompt_is_read_ends_the_server_at_once_and_starts_another_behind_it(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> tuple[float, str, str]:
        entered = asyncio.Event()

        async def ask() -> None:
            async with service.lease(model) as lease:
                addresses.append(lease.base_url)
                entered.set()
                await asyncio.sleep(60)

        addresses = list[str]()
        task = asyncio.create_task(ask())
        await entered.wait()
        (old,) = pids(model)
        before = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        took = time.perf_counter() - before
        assert ends_within(old, 1)
        deadline = time.monotonic() + 10
        while len(pids(model)) < 2 and time.monotonic() < deadline:  # nobody asks for it
            await asyncio.sleep(0.01)
        assert len(pids(model)) == 2
        addresses.append(await use(service, model))
        return took, addresses[0], addresses[1]

    took, first, second = asyncio.run(scenario())
    assert took < 0.1
    assert first != second
    assert len(pids(model)) == 2


@pytest.mark.parametrize("ending", ["error", "return"])
def test_every_end_before_the_prompt_was_read_replaces_the_server(
    service: LocalModelService, model: LocalModel, ending: str
) -> None:
    async def scenario() -> None:
        async with service.lease(model):
            if ending == "error":
                raise ValueError("of the caller's")

    if ending == "error":
        with pytest.raises(ValueError, match="of the caller's"):
            asyncio.run(scenario())
    else:
        asyncio.run(scenario())
    asyncio.run(use(service, model))
    first, second = pids(model)
    assert not runs(first)
    assert runs(second)


def test_a_lease_broken_off_after_the_prompt_was_read_keeps_the_server(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> None:
        async with service.lease(model) as lease:
            lease.mark_prompt_read()
            raise ValueError("of the caller's")

    with pytest.raises(ValueError, match="of the caller's"):
        asyncio.run(scenario())
    asyncio.run(use(service, model))
    assert len(pids(model)) == 1


def test_who_waits_is_served_by_the_new_server_after_an_interruption(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> None:
        entered = asyncio.Event()

        async def ask() -> None:
            async with service.lease(model):
                entered.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(ask())
        await entered.wait()
        waiting = asyncio.create_task(use(service, model))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait_for(waiting, 20)

    asyncio.run(scenario())
    first, second = pids(model)
    assert not runs(first)
    assert runs(second)


def test_a_crashed_server_is_started_again_for_the_next_lease(service: LocalModelService, tmp_path: Path) -> None:
    model = named(tmp_path, "crash")

    async def scenario() -> None:
        await use(service, model)
        assert ends_within(pids(model)[0], 5)
        await use(service, model)

    asyncio.run(scenario())
    assert len(pids(model)) == 2


def test_another_model_ends_the_server_of_the_first_before_it_starts(
    service: LocalModelService, tmp_path: Path
) -> None:
    one, other = named(tmp_path, "one"), named(tmp_path, "other")

    async def scenario() -> None:
        await use(service, one)
        assert runs(pids(one)[0])
        await use(service, other)
        assert not runs(pids(one)[0])
        await use(service, one)

    asyncio.run(scenario())
    assert (len(pids(one)), len(pids(other))) == (2, 1)
    assert not runs(pids(other)[0])


def test_who_cancels_during_the_start_leaves_at_once_and_the_start_goes_on(
    service: LocalModelService, tmp_path: Path
) -> None:
    slow = named(tmp_path, "slow")

    async def scenario() -> None:
        task = asyncio.create_task(use(service, slow))
        while not pids(slow):
            await asyncio.sleep(0.01)
        before = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert time.perf_counter() - before < 0.1
        await use(service, slow)

    asyncio.run(scenario())
    assert len(pids(slow)) == 1


def test_a_start_for_a_model_that_nobody_wants_any_more_gives_way_to_another(
    service: LocalModelService, tmp_path: Path
) -> None:
    silent, other = named(tmp_path, "silent"), named(tmp_path, "other")

    async def scenario() -> None:
        task = asyncio.create_task(use(service, silent))
        while not pids(silent):
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(use(service, other), 20)

    asyncio.run(scenario())
    assert not runs(pids(silent)[0])


def test_an_interrupted_lease_does_not_start_a_server_for_a_closed_service(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> None:
        async with service.lease(model):
            service.close()
        await asyncio.sleep(0.2)

    asyncio.run(scenario())
    assert len(pids(model)) == 1
    assert not runs(pids(model)[0])
