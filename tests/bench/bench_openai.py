"""Times the OpenAI adapter beside the SDK alone: ``python tests/bench/bench_openai.py``.

Prints medians of CPU time (the server runs in another process): a delta of a stream through the SDK's raw stream and
through the adapter; a whole request on top of 1,000 and 5,000 messages, beside encoding and posting the same bytes;
and how late a 2 ms ticker of the event loop was at most while a 20 MB image went out, beside the idle loop's lateness.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "app"), str(TESTS)]

import httpx2  # noqa: E402
import openai  # noqa: E402

from doc_processing_toolkit.providers.base import Access, ModelCall, make_adapter  # noqa: E402
from doc_processing_toolkit.registry import find  # noqa: E402
from support.strict import Pace, StrictProcess, answer  # noqa: E402

MODEL = "gpt-6-luna"
ROUNDS = 7
DELTAS = 4000
TICK_S = 0.002
WORDS = " ".join(f"word{n}" for n in range(60))


def history(count: int) -> list[dict[str, Any]]:
    """Return a history of four messages a turn: question, call, result, answer, each of 60 words."""
    items: list[dict[str, Any]] = []
    for turn in range(count // 4):
        call = {
            "type": "function_call",
            "call_id": f"call_{turn}",
            "name": "add",
            "arguments": json.dumps({"a": WORDS}),
        }
        output = {"type": "function_call_output", "call_id": f"call_{turn}", "output": WORDS}
        items += [{"role": "user", "content": WORDS}, call, output, {"role": "assistant", "content": WORDS}]
    return items


async def cpu_ms(act: Callable[[], Awaitable[object]]) -> float:
    """Return the median CPU time of an act in milliseconds, after one run to warm up."""
    await act()
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        await act()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


async def lateness_ms(act: Callable[[], Awaitable[object]]) -> float:
    """Return by how many milliseconds a tick of the loop was late at most while an act ran."""
    late = [0.0]

    async def tick() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            late.append(loop.time() - due)

    ticker = asyncio.ensure_future(tick())
    await act()
    ticker.cancel()
    return max(late) * 1000


async def through_adapter(server: StrictProcess, items: list[dict[str, Any]]) -> None:
    """Send one request and read its answer to the end."""
    adapter = make_adapter(find(MODEL), Access(server.url("openai"), "k"))
    async with contextlib.aclosing(adapter.stream(ModelCall(find(MODEL), tuple(items)))) as events:
        async for _ in events:
            pass


async def through_sdk(server: StrictProcess) -> None:
    """Read the same answer through the SDK's raw stream."""
    http = openai.DefaultAsyncHttpx2Client(trust_env=False, verify=False)
    async with (
        openai.AsyncOpenAI(api_key="k", base_url=server.url("openai"), max_retries=0, http_client=http) as client,
        await client.responses.create(model=MODEL, input="q", stream=True, store=False) as stream,
    ):
        async for _ in stream:
            pass


async def floor(server: StrictProcess, items: list[dict[str, Any]]) -> None:
    """Encode and post the same items, and read the bytes of the answer."""
    body = json.dumps({"model": MODEL, "input": items, "stream": True, "store": False}).encode()
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        headers = {"content-type": "application/json", "authorization": "Bearer k"}
        await client.post(f"{server.url('openai')}/responses", content=body, headers=headers)


async def main(server: StrictProcess) -> None:
    """Run and print every measurement."""
    server.always(answer("ok"))
    short_sdk = await cpu_ms(lambda: through_sdk(server))
    short_own = await cpu_ms(lambda: through_adapter(server, history(4)))
    server.always(answer("x" * 12 * DELTAS, pace=Pace(piece=12)))
    sdk = (await cpu_ms(lambda: through_sdk(server)) - short_sdk) / DELTAS * 1000
    own = (await cpu_ms(lambda: through_adapter(server, history(4))) - short_own) / DELTAS * 1000
    print(f"a delta: SDK's raw stream {sdk:.0f} µs, adapter {own:.0f} µs, share {own - sdk:+.0f} µs (at most 60)")
    server.always(answer("ok"))
    for count, most in ((1000, 10), (5000, 40)):
        items = history(count)
        least = await cpu_ms(lambda items=items: floor(server, items))  # type: ignore[misc]
        own = await cpu_ms(lambda items=items: through_adapter(server, items))  # type: ignore[misc]
        print(f"a request on {count:,} messages: floor {least:.1f} ms, adapter {own:.1f} ms (at most {most})")
    image = base64.b64encode(bytes(20_000_000)).decode()
    content = [{"type": "input_image", "image_url": f"data:image/png;base64,{image}", "detail": "auto"}]
    idle = await lateness_ms(lambda: asyncio.sleep(1))
    late = await lateness_ms(lambda: through_adapter(server, [{"role": "user", "content": content}]))
    print(f"a 20 MB image: loop late by {late:.1f} ms at most (33), idle loop {idle:.1f} ms")


if __name__ == "__main__":
    with StrictProcess(checks=False, keep_bodies=False) as process:
        asyncio.run(main(process))
