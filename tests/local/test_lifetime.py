"""The real server starts when it is needed, gives way at once, and never outlives its owner."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import psutil
import pytest

import doc_processing_toolkit
from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local import Lease, LocalModel, LocalModelService
from doc_processing_toolkit.providers.local.weights import assembled_weights
from local import owner
from local.raw_chat import ask, chunks, document, user
from unit.local.processes import ends_within, runs

pytestmark = pytest.mark.local_model

LONG = " ".join(f"Paragraph {number} speaks of the river, the old mill and the winter market." for number in range(200))
PATHS = os.pathsep.join(str(Path(each).parents[1]) for each in (doc_processing_toolkit.__file__, owner.__file__))


def servers() -> set[int]:
    """Return the running server processes of this process."""
    return {
        child.pid
        for child in psutil.Process().children()
        if runs(child.pid) and "local/server.py" in str(child.cmdline())
    }


def test_stop_while_the_prompt_is_read_answers_at_once_and_another_server_stands_behind(
    service: LocalModelService,
) -> None:
    async def scenario() -> tuple[float, float, set[int], set[int]]:
        reading = asyncio.Event()

        async def read() -> None:
            async with service.lease() as lease:
                async for chunk in chunks(lease, [document(LONG, "What is it about?")]):
                    if chunk.get("prompt_progress", {}).get("processed", 0) > 100:
                        reading.set()

        task = asyncio.create_task(read())
        await reading.wait()
        before = servers()
        stopped = time.perf_counter()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        left = time.perf_counter() - stopped
        assert ends_within(next(iter(before)), 1)
        async with service.lease() as lease:
            await ask(lease, [user("Hello.")], max_tokens=2)
        return left, time.perf_counter() - stopped, before, servers()

    left, again, before, after = asyncio.run(scenario())
    assert left < 0.1
    assert again < 15
    assert len(before) == len(after) == 1
    assert before != after


def test_stop_while_an_answer_is_written_keeps_the_server_and_frees_it_at_once(service: LocalModelService) -> None:
    async def scenario() -> tuple[set[int], set[int]]:
        async with service.lease() as lease:
            before = servers()
            async for chunk in chunks(lease, [user("Tell me a long story.")], max_tokens=400, stop=[]):
                if any(choice["delta"].get("content") for choice in chunk["choices"]):
                    lease.mark_prompt_read()
                    break
        async with service.lease() as lease:
            await asyncio.wait_for(ask(lease, [user("Hello.")], max_tokens=2), 20)
        return before, servers()

    before, after = asyncio.run(scenario())
    assert before == after


async def crash_in_an_answer(lease: Lease, server: int) -> None:
    """Let the server crash when it has written the first word of a long answer."""
    async for chunk in chunks(lease, [user("Tell me a long story.")], max_tokens=400, stop=[]):
        if any(choice["delta"].get("content") for choice in chunk["choices"]):
            os.kill(server, signal.SIGSEGV)


def test_a_crash_in_an_answer_is_a_broken_connection_and_the_next_lease_has_a_new_server(
    service: LocalModelService,
) -> None:
    async def scenario() -> str:
        async with service.lease() as lease:
            (server,) = servers()
            lease.mark_prompt_read()
            with pytest.raises(httpx2.HTTPError):
                await crash_in_an_answer(lease, server)
        while server in servers():  # it still answers while the system writes down how it crashed
            await asyncio.sleep(0.01)
        async with service.lease() as lease:
            return (await ask(lease, [user("My name is Alice.")])).text

    assert asyncio.run(scenario())


def test_a_file_that_only_looks_like_a_model_is_refused_with_the_engines_words(
    service: LocalModelService, tmp_path: Path
) -> None:
    path = tmp_path / "half.gguf"
    with open(assembled_weights(lambda _: None, threading.Event()), "rb") as whole:
        path.write_bytes(whole.read(20_000_000))

    async def scenario() -> None:
        with pytest.raises(ProviderError, match=r"half\.gguf' could not be started: .*incomplete"):
            async with service.lease(LocalModel(path)):
                pass

    asyncio.run(scenario())


def test_a_users_own_file_is_served_with_its_window(service: LocalModelService, tmp_path: Path) -> None:
    path = tmp_path / "mein Modell – ü.gguf"
    path.symlink_to(assembled_weights(lambda _: None, threading.Event()))

    async def scenario() -> tuple[str, int]:
        async with service.lease(LocalModel(path, context_tokens=1024)) as lease:
            return (await ask(lease, [user("My name is Alice.")])).text, lease.context_tokens

    text, window = asyncio.run(scenario())
    assert text
    assert window == 1024
    assert len(servers()) == 1


def test_starting_is_told(tmp_path: Path) -> None:
    seen: list[Progress] = []

    async def scenario() -> None:
        service = LocalModelService()
        async with service.lease(on_progress=seen.append) as lease:
            lease.mark_prompt_read()
        service.close()

    asyncio.run(scenario())
    assert "starting_model" in {each.phase for each in seen}
    assert {each.phase for each in seen} <= {"starting_model", "assembling_weights"}


@pytest.mark.parametrize("ending", ["return", "SIGTERM", "SIGKILL", "SIGKILL while loading", "SIGKILL while reading"])
def test_no_server_is_left_however_its_owner_ends(ending: str) -> None:
    command = [sys.executable, owner.__file__, ending]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": PATHS}
    ) as process:
        assert process.stdout is not None
        server = int(process.stdout.readline())
        process.wait(30)
    assert ends_within(server, 1)


def test_too_little_memory_is_said_in_words() -> None:
    code = (
        "import asyncio, resource\n"
        "from doc_processing_toolkit.providers.local import LocalModelService\n"
        "async def run():\n"
        "    async with LocalModelService().lease() as lease: pass\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600_000_000, 600_000_000))\n"
        "try: asyncio.run(run())\n"
        "except Exception as exc: print(type(exc).__name__, exc)\n"
    )
    environment = {**os.environ, "PYTHONPATH": PATHS}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert "ProviderError" in ran.stdout
    assert "memory" in ran.stdout
