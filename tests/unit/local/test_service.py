"""The local model serves one request at a time from one process, and says what it needs."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local import (
    TRANSCRIPT_STOP,
    TRANSCRIPT_TEMPLATE,
    LocalModel,
    LocalModelService,
)
from doc_processing_toolkit.providers.local import startup as startup_module
from doc_processing_toolkit.providers.local.startup import settings_for
from unit.local.gguf_files import model_file
from unit.local.processes import started_for
from unit.local.serving import named, pids, use


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
