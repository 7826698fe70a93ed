"""Times the Anthropic adapter beside the SDK alone: ``python tests/bench/bench_anthropic.py``.

Prints medians of CPU time: our own share of a delta beyond the SDK's raw stream (at most 60 µs), one request on top
of 1,000 and 5,000 stored messages (at most 10 and 40 ms) beside one on top of none, and how long a turn with a 20 MB
attachment blocks the loop (at most 33 ms). The server runs in another process.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "app"), str(TESTS)]

import anthropic  # noqa: E402

from doc_processing_toolkit.providers.base import Adapter, ModelCall, ToolSpec  # noqa: E402
from doc_processing_toolkit.providers.http import shared_client  # noqa: E402
from support.adapter_calls import adapter_of, ask, call_of  # noqa: E402
from support.strict import StrictProcess, answer  # noqa: E402

MODEL = "claude-opus-4-8"
ROUNDS, DELTAS = 9, 2000
SIXTY_WORDS = " ".join(["seldom"] * 60)
TOOL = ToolSpec("look", "looks", {"type": "object", "properties": {"word": {"type": "string"}}})
TICK_S = 0.001


def history(count: int) -> list[dict[str, Any]]:
    """Return a history of four messages a turn: question, call, result, answer."""
    messages: list[dict[str, Any]] = []
    for turn in range(count // 4):
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "look", "input": {"word": SIXTY_WORDS}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": SIXTY_WORDS}
        messages += [
            {"role": "user", "content": SIXTY_WORDS},
            {"role": "assistant", "content": [{"type": "text", "text": SIXTY_WORDS}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": SIXTY_WORDS},
        ]
    return messages


async def cpu_ms(work: Callable[[], Awaitable[object]]) -> float:
    """Return the median CPU time of ``work`` in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        await work()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


async def longest_gap_ms(work: Callable[[], Awaitable[object]]) -> float:
    """Return the median over the rounds of the longest time in which the loop did not get its turn."""
    worst: list[float] = []
    for _ in range(ROUNDS):
        gaps = [0.0]
        ticker = asyncio.create_task(_tick(gaps))
        await asyncio.sleep(0.01)
        gaps[0] = 0.0
        await work()
        ticker.cancel()
        worst.append(gaps[0] * 1000)
    return statistics.median(worst)


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        gaps[0] = max(gaps[0], now - last - TICK_S)
        last = now


async def read_raw(address: str) -> None:
    """Read one answer with the SDK's own raw stream, over the same HTTP client."""
    http = await shared_client(is_loopback=True, is_encrypted=False)
    client = anthropic.AsyncAnthropic(api_key="k", base_url=address, max_retries=0, http_client=http)
    question: list[Any] = [{"role": "user", "content": "go"}]
    async with await client.messages.create(model=MODEL, max_tokens=1000, messages=question, stream=True) as stream:
        async for _ in stream:
            pass


async def use(adapter: Adapter, call: ModelCall) -> None:
    """Send one call through the adapter."""
    outcome = await ask(adapter, call)
    assert outcome.reply is not None, outcome.error


async def main(server: StrictProcess) -> None:
    """Measure and print."""
    address = server.url("anthropic")
    server.always(answer("word " * DELTAS))
    short = call_of(MODEL, "go")
    adapter = adapter_of(short, address)
    await use(adapter, short)
    await read_raw(address)
    raw, ours = await cpu_ms(lambda: read_raw(address)), await cpu_ms(lambda: use(adapter, short))
    deltas = DELTAS * 5 / 12
    print(f"a delta: SDK raw {raw / deltas * 1000:.1f} µs, adapter {ours / deltas * 1000:.1f} µs")
    print(f"our own share: {(ours - raw) / deltas * 1000:.1f} µs a delta (at most 60)")
    server.always(answer("ok"))
    floor = await cpu_ms(lambda: use(adapter, short))
    print(f"a request on top of nothing: {floor:.1f} ms CPU")
    for count, most in ((1000, 10), (5000, 40)):
        call = call_of(MODEL, *history(count), "go", tools=(TOOL,))
        print(
            f"on top of {count:,} messages: {await cpu_ms(lambda c=call: use(adapter, c)):.1f} ms CPU (at most {most})"
        )
    source = {"type": "base64", "media_type": "application/pdf", "data": "QUJD" * (20_000_000 // 3)}
    pdf = {"role": "user", "content": [{"type": "document", "source": source}, {"type": "text", "text": "go"}]}
    call = call_of(MODEL, pdf)
    idle = await longest_gap_ms(lambda: asyncio.sleep(0.2))
    print(f"20 MB attachment: the loop waits {await longest_gap_ms(lambda: use(adapter, call)):.1f} ms (at most 33)")
    print(f"the idle loop waits {idle:.1f} ms")


if __name__ == "__main__":
    with StrictProcess(checks=False, keep_bodies=False) as running:
        asyncio.run(main(running))
