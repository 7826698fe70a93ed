"""No server outlives its service or the process that owns it, however that ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import doc_processing_toolkit
from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.providers.local import (
    LocalModel,
    LocalModelService,
    shared_service,
)
from unit.local import owner
from unit.local.gguf_files import model_file
from unit.local.processes import ends_within, runs
from unit.local.serving import STUB, named, pids, use

PATHS = os.pathsep.join(str(Path(each).parents[1]) for each in (doc_processing_toolkit.__file__, Path(__file__).parent))


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


def test_a_service_that_is_forgotten_ends_its_server(model: LocalModel) -> None:
    forgotten = LocalModelService(STUB)
    asyncio.run(use(forgotten, model))
    del forgotten
    assert ends_within(pids(model)[0], 2)


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
