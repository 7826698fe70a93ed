"""The local model serves one request at a time from one process, and replaces it when it must."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import doc_processing_toolkit
from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local import (
    TRANSCRIPT_STOP,
    TRANSCRIPT_TEMPLATE,
    LocalModel,
    LocalModelService,
    shared_service,
)
from doc_processing_toolkit.providers.local import startup as startup_module
from doc_processing_toolkit.providers.local.startup import Launch, settings_for
from unit.local import owner, stub_server
from unit.local.gguf_files import model_file
from unit.local.processes import ends_within, runs, started_for

STUB = Launch(command=(sys.executable, stub_server.__file__))
PATHS = os.pathsep.join(str(Path(each).parents[1]) for each in (doc_processing_toolkit.__file__, Path(__file__).parent))


@pytest.fixture
def service() -> Iterator[LocalModelService]:
    """Return a service whose servers are the miniature ones; afterwards nothing of it runs."""
    made = LocalModelService(STUB)
    yield made
    made.close()


@pytest.fixture
def model(tmp_path: Path) -> LocalModel:
    """Return a model file of a user's."""
    return LocalModel(model_file(tmp_path))


def named(tmp_path: Path, name: str) -> LocalModel:
    """Return a model whose name tells the miniature server what to do."""
    return LocalModel(model_file(tmp_path, f"{name}.gguf"))


def pids(model: LocalModel) -> list[int]:
    """Return the servers that were started for a model, in order."""
    assert model.path is not None
    return started_for(model.path)


async def use(service: LocalModelService, model: LocalModel, *, read: bool = True) -> str:
    """Take a lease and give it back; ``read`` says whether the prompt was read."""
    async with service.lease(model) as lease:
        if read:
            lease.mark_prompt_read()
        return lease.base_url


def test_the_server_starts_with_the_first_lease_and_serves_the_next_ones(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> list[str]:
        assert pids(model) == []
        return [await use(service, model) for _ in range(3)]

    addresses = asyncio.run(scenario())
    assert len(set(addresses)) == 1
    assert len(pids(model)) == 1


def test_starting_is_reported_and_a_running_server_is_silent(service: LocalModelService, model: LocalModel) -> None:
    async def scenario() -> tuple[list[Progress], list[Progress]]:
        first, second = list[Progress](), list[Progress]()
        for seen in (first, second):
            async with service.lease(model, on_progress=seen.append) as lease:
                lease.mark_prompt_read()
        return first, second

    first, second = asyncio.run(scenario())
    assert {each.phase for each in first} == {"starting_model"}
    assert second == []


def test_progress_is_told_on_the_loop_of_who_waits_and_not_after_the_lease_began(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> None:
        here, began, late = threading.get_ident(), False, list[bool]()

        def see(_: Progress) -> None:
            assert threading.get_ident() == here
            late.append(began)

        async with service.lease(model, on_progress=see) as lease:
            began = True
            lease.mark_prompt_read()
            await asyncio.sleep(0.05)
        assert late
        assert not any(late)

    asyncio.run(scenario())


def test_one_request_at_a_time_in_order_and_who_waits_is_told(service: LocalModelService, model: LocalModel) -> None:
    async def scenario() -> tuple[list[str], list[Progress]]:
        log, seen = list[str](), list[Progress]()

        async def visit(name: str) -> None:
            async with service.lease(model, on_progress=seen.append if name == "c" else None) as lease:
                log.append(f"{name} in")
                lease.mark_prompt_read()
                await asyncio.sleep(0.02)
                log.append(f"{name} out")

        await asyncio.gather(*(visit(name) for name in "abc"))
        return log, seen

    log, seen = asyncio.run(scenario())
    assert log == ["a in", "a out", "b in", "b out", "c in", "c out"]
    assert [each for each in seen if each.phase == "waiting"] == [
        Progress("waiting", done=2, unit="requests"),
        Progress("waiting", done=1, unit="requests"),
    ]


def test_threads_share_the_one_server(service: LocalModelService, model: LocalModel) -> None:
    inside = list[int]()

    async def visit() -> None:
        async with service.lease(model) as lease:
            lease.mark_prompt_read()
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=asyncio.run, args=(visit(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(pids(model)) == 1


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
        assert ends_within(old, 0.5)
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


def test_a_start_that_fails_is_an_error_in_words_and_the_next_lease_tries_again(
    service: LocalModelService, tmp_path: Path
) -> None:
    broken = named(tmp_path, "broken")

    async def scenario() -> None:
        for _ in range(2):
            with pytest.raises(ProviderError, match=r"broken\.gguf' could not be started: .*unknown model arch"):
                await use(service, broken)
        await use(service, named(tmp_path, "whole"))

    asyncio.run(scenario())
    assert len(pids(broken)) == 2


def test_a_file_that_is_no_model_is_refused_before_a_process_starts(service: LocalModelService, tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("shopping list")
    with pytest.raises(ProviderError, match=r"notes\.gguf"):
        asyncio.run(use(service, LocalModel(path)))
    with pytest.raises(ProviderError, match=r"missing\.gguf"):
        asyncio.run(use(service, LocalModel(tmp_path / "missing.gguf")))
    assert started_for(path) == []


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


def test_closing_ends_the_server_and_turns_away_who_waits_and_who_comes(
    service: LocalModelService, model: LocalModel
) -> None:
    async def scenario() -> None:
        async with service.lease(model) as lease:
            lease.mark_prompt_read()
            waiting = asyncio.create_task(use(service, model))
            await asyncio.sleep(0.01)
            service.close()
            assert not runs(pids(model)[0])
            with pytest.raises(ProviderError, match="shut down"):
                await asyncio.wait_for(waiting, 1)
        with pytest.raises(ProviderError, match="shut down"):
            await use(service, model)
        service.close()

    asyncio.run(scenario())
    assert len(pids(model)) == 1


def test_closing_during_a_start_ends_it_and_tells_who_waits_for_it(service: LocalModelService, tmp_path: Path) -> None:
    silent = named(tmp_path, "silent")

    async def scenario() -> None:
        task = asyncio.create_task(use(service, silent))
        while not pids(silent):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(service.close)
        with pytest.raises(ProviderError, match="shut down"):
            await asyncio.wait_for(task, 1)

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


def test_a_service_that_is_forgotten_ends_its_server(model: LocalModel) -> None:
    forgotten = LocalModelService(STUB)
    asyncio.run(use(forgotten, model))
    del forgotten
    assert ends_within(pids(model)[0], 2)


def test_the_loop_of_who_waits_is_never_held_up(service: LocalModelService, tmp_path: Path) -> None:
    model = named(tmp_path, "slow")

    async def scenario() -> float:
        worst = 0.0

        async def beat() -> None:
            nonlocal worst
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                worst = max(worst, time.perf_counter() - before)

        beating = asyncio.create_task(beat())
        await use(service, model)
        await use(service, model, read=False)
        await use(service, model)
        beating.cancel()
        return worst

    # 10 ms on a machine of one's own; elsewhere others take their share of the processor.
    assert asyncio.run(scenario()) < 0.1


def test_a_lease_is_entered_once(service: LocalModelService, model: LocalModel) -> None:
    async def scenario() -> None:
        lease = service.lease(model)
        async with lease:
            pass
        with pytest.raises(RuntimeError, match="once"):
            await lease.__aenter__()
        await use(service, model)

    asyncio.run(scenario())


def test_the_lease_says_what_belongs_into_the_request(service: LocalModelService, tmp_path: Path) -> None:
    plain, taught = named(tmp_path, "taught"), LocalModel(model_file(tmp_path, "plain.gguf", template=None))

    async def scenario() -> None:
        async with service.lease(plain, cache_prompt=False) as lease:
            lease.mark_prompt_read()
            assert lease.request_fields == {"return_progress": True, "cache_prompt": False}
            assert lease.stop == ()
            assert lease.context_tokens == 4096
            assert len(lease.api_key) > 30
        async with service.lease(taught) as lease:
            lease.mark_prompt_read()
            assert lease.request_fields == {"return_progress": True, "cache_prompt": True}
            assert lease.stop == TRANSCRIPT_STOP

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("asked", "trained", "given"), [(8192, 4096, 4096), (2048, 4096, 2048), (0, 32_768, 8192), (-5, 1024, 1024)]
)
def test_the_window_is_what_was_asked_for_but_no_more_than_the_model_knows(
    tmp_path: Path, asked: int, trained: int, given: int
) -> None:
    model = LocalModel(model_file(tmp_path, context=trained), context_tokens=asked)
    assert settings_for(model, lambda _: None, threading.Event()).context_tokens == given


@pytest.mark.parametrize(
    ("own", "asked", "used"),
    [("{{ own }}", None, ""), (None, None, TRANSCRIPT_TEMPLATE), ("{{ own }}", "{{ mine }}", "{{ mine }}")],
)
def test_a_file_keeps_its_own_template_and_gets_the_transcript_where_it_has_none(
    tmp_path: Path, own: str | None, asked: str | None, used: str
) -> None:
    model = LocalModel(model_file(tmp_path, template=own), template=asked)
    assert settings_for(model, lambda _: None, threading.Event()).template == used


def test_every_server_has_a_key_of_its_own(tmp_path: Path) -> None:
    model = LocalModel(model_file(tmp_path))
    keys = {settings_for(model, lambda _: None, threading.Event()).api_key for _ in range(3)}
    assert len(keys) == 3


def test_progress_of_the_assembly_reaches_who_waits(
    service: LocalModelService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model_file(tmp_path, template=None)

    def assemble(report: startup_module.Watcher, stopped: threading.Event, **_: object) -> Path:
        watched.wait(10)
        for done in (10, 20):
            report(Progress("assembling_weights", done, 20, "bytes"))
        return path

    monkeypatch.setattr(startup_module, "assembled_weights", assemble)
    seen: list[Progress] = []
    watched = threading.Event()

    def see(progress: Progress) -> None:
        seen.append(progress)
        watched.set()

    async def scenario() -> None:
        async with service.lease(on_progress=see) as lease:
            lease.mark_prompt_read()

    asyncio.run(scenario())
    assert Progress("assembling_weights", 20, 20, "bytes") in seen
    assert seen[-1] == Progress("starting_model")


def test_an_unforeseen_error_of_a_start_ends_the_wait(
    service: LocalModelService, model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    surprises: list[object] = []
    monkeypatch.setattr(threading, "excepthook", surprises.append)
    monkeypatch.setattr(startup_module, "settings_for", fail)
    with pytest.raises(ProviderError, match="could not be started"):
        asyncio.run(use(service, model))
    assert len(surprises) == 1


def test_the_shared_service_is_one_until_it_is_closed() -> None:
    first = shared_service()
    assert shared_service() is first
    first.close()
    second = shared_service()
    assert second is not first
    second.close()


@pytest.mark.parametrize("ending", ["return", "error", "SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "loading"])
def test_the_server_ends_with_the_process_that_owns_it_however_that_ends(tmp_path: Path, ending: str) -> None:
    model = model_file(tmp_path, "silent.gguf" if ending == "loading" else "tiny.gguf")
    server = int(run_owner(model, ending).splitlines()[0])
    assert ends_within(server, 1)


def test_a_fork_of_the_owner_leaves_the_server_alone(tmp_path: Path) -> None:
    assert run_owner(model_file(tmp_path), "fork").splitlines()[1] == "alive"


def run_owner(model: Path, ending: str) -> str:
    """Run a process that owns a service and ends as asked; return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", owner.__file__, str(model), ending],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        timeout=30,
    )
    return ran.stdout
