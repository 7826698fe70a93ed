"""Measures the packaged model: start, prompt, answer, stop, memory, and what the event loop feels of it.

``python tests/bench/bench_local_model.py``; about a minute and a half on two quiet cores.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests")]

from doc_processing_toolkit.providers.local import LocalModelService  # noqa: E402
from doc_processing_toolkit.providers.local.cores import default_threads, physical_cores  # noqa: E402
from doc_processing_toolkit.providers.local.weights import assembled_weights  # noqa: E402
from local.raw_chat import Message, ask, chunks, document, user  # noqa: E402

SENTENCE = "Paragraph {} speaks of the river, the old mill and the winter market. "
TICK_S = 0.005


class Heartbeat:
    """Measures how late the event loop is, in milliseconds."""

    def __init__(self) -> None:
        self.worst_ms = 0.0

    async def beat(self) -> None:
        """Beat until cancelled."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_S)
            self.worst_ms = max(self.worst_ms, (time.perf_counter() - before - TICK_S) * 1000)

    def take(self) -> float:
        """Return the worst since the last time."""
        worst, self.worst_ms = self.worst_ms, 0.0
        return worst


def long_question(tokens: int) -> Message:
    """Return a question about a document of about so many tokens."""
    return document("".join(SENTENCE.format(number) for number in range(tokens // 19)), "What is it about?")


def measure_assembly() -> None:
    """Assemble the weights in a folder of its own, which is removed again."""
    folder = Path(tempfile.mkdtemp())
    started = time.perf_counter()
    assembled_weights(lambda _: None, threading.Event(), folders=(folder,))
    first = time.perf_counter() - started
    started = time.perf_counter()
    assembled_weights(lambda _: None, threading.Event(), folders=(folder,))
    print(f"weights: assembled in {first:.2f} s, found again in {(time.perf_counter() - started) * 1000:.1f} ms")
    shutil.rmtree(folder)


async def measure_prompt(service: LocalModelService, tokens: int) -> None:
    """Ask about a long text, then once more in the same conversation."""
    history = [long_question(tokens)]
    async with service.lease() as lease:
        first = await ask(lease, history, max_tokens=32, stop=[])
        wall = time.perf_counter()
    history += [{"role": "assistant", "content": first.text}, user("And the mill?")]
    async with service.lease() as lease:
        second = await ask(lease, history, max_tokens=32)
        wall = time.perf_counter() - wall
    times = [at for at, _ in first.progress]
    gaps = [b - a for a, b in itertools.pairwise([0.0, *times])]
    prompt = first.usage["prompt_tokens"]
    rate = prompt / first.first_token_s
    print(
        f"prompt of {prompt:5d} tokens: first token {first.first_token_s:6.2f} s, {rate:.0f} tokens/s, "
        f"second turn {second.first_token_s:.2f} s, progress at least every {max(gaps):.2f} s"
    )


async def measure_answer(service: LocalModelService) -> None:
    """Let it write 100 tokens."""
    async with service.lease() as lease:
        started = time.perf_counter()
        answer = await ask(lease, [user("Tell me a long story.")], max_tokens=100, stop=[], ignore_eos=True)
        took = time.perf_counter() - started - answer.first_token_s
    print(f"answer: {answer.usage['completion_tokens'] / took:.0f} tokens/s")


async def measure_stop(service: LocalModelService) -> None:
    """Stop while the prompt is read, and ask again at once."""

    async def read() -> None:
        async with service.lease() as lease:
            async for chunk in chunks(lease, [long_question(4000)]):
                if chunk.get("prompt_progress", {}).get("processed", 0) > 500:
                    reading.set()

    reading = asyncio.Event()
    task = asyncio.create_task(read())
    await reading.wait()
    started = time.perf_counter()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    left = time.perf_counter() - started
    async with service.lease() as lease:
        ready = time.perf_counter() - started
        await ask(lease, [user("Hello.")], max_tokens=1)
    print(
        f"stop while reading: answered after {left * 1000:.1f} ms, server ready again after {ready:.2f} s, "
        f"next first token after {time.perf_counter() - started:.2f} s"
    )


async def measure() -> None:
    """Measure everything on one event loop."""
    heart = Heartbeat()
    beating = asyncio.create_task(heart.beat())
    await asyncio.sleep(1)
    print(f"loop late at most: {heart.take():5.1f} ms idle")
    service = LocalModelService()
    started = time.perf_counter()
    async with service.lease() as lease:
        lease.mark_prompt_read()
        print(f"start: {time.perf_counter() - started:.2f} s from nothing to a lease")
        started = time.perf_counter()
    async with service.lease() as lease:
        lease.mark_prompt_read()
        print(f"lease on a running server: {(time.perf_counter() - started) * 1000:.2f} ms")
    print(f"loop late at most: {heart.take():5.1f} ms while the model starts")
    async with service.lease() as lease:
        await ask(lease, [user("Hello.")], max_tokens=1)  # loads the network client
    heart.take()
    server = psutil.Process().children()[0]
    print(f"memory after the start: {server.memory_info().rss / 2**20:.0f} MiB")
    for tokens in (100, 2000, 8000):
        await measure_prompt(service, tokens)
    print(f"loop late at most: {heart.take():5.1f} ms while prompts are read and answers written")
    print(f"memory after 8,000 tokens: {server.memory_info().rss / 2**20:.0f} MiB")
    await measure_answer(service)
    await measure_stop(service)
    print(f"loop late at most: {heart.take():5.1f} ms around a stop")
    beating.cancel()
    started = time.perf_counter()
    service.close()
    print(f"close: {(time.perf_counter() - started) * 1000:.0f} ms")


if __name__ == "__main__":
    print(f"{physical_cores()} physical cores, {default_threads()} threads for the model")
    measure_assembly()
    asyncio.run(measure())
