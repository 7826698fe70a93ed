"""What a turn on Gemini costs the event loop: ``python tests/bench/bench_google.py``.

CPU time of the loop's thread, medians; the strict server runs in another process. The floor is the encoding of the
same body with ``json.dumps``; the SDK's own figures stand beside ours.
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

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests")]

from doc_processing_toolkit import Agent  # noqa: E402
from doc_processing_toolkit.dialects.google import GoogleLens  # noqa: E402
from doc_processing_toolkit.dialects.view import MediaPart, TextPart  # noqa: E402
from support.adapter_calls import adapter_of, call_of  # noqa: E402
from support.strict import Pace, StrictProcess, Text, Usage, answer  # noqa: E402

MODEL = "gemini-3.5-flash-lite"
DELTAS = 2_000
BUDGETS_MS = {1_000: 10.0, 5_000: 40.0}
BUDGET_DELTA_US = 60.0
BUDGET_LATE_MS = 33.0
WORDS = "word " * 60
LENS = GoogleLens()


def history(messages: int) -> list[dict[str, Any]]:
    """Return a history of four messages a turn: question, call, result, answer."""
    signature = base64.urlsafe_b64encode(b"s" * 150).decode()
    call = {"function_call": {"id": "a1b2c3d4", "name": "look_up", "args": {"text": WORDS}}}
    response = {"id": "a1b2c3d4", "name": "look_up", "response": {"output": WORDS}}
    turn = [
        {"role": "user", "parts": [{"text": WORDS}]},
        {"role": "model", "parts": [{**call, "thought_signature": signature}]},
        {"role": "user", "parts": [{"function_response": response}]},
        {"role": "model", "parts": [{"text": WORDS}, {"text": "", "thought_signature": signature}]},
    ]
    return turn * (messages // 4)


async def median_cpu(work: Callable[[], Awaitable[Any]], times: int = 9) -> float:
    """Return the median CPU milliseconds that the work took on this thread."""
    taken = []
    for _ in range(times):
        started = time.thread_time()
        await work()
        taken.append((time.thread_time() - started) * 1000)
    return statistics.median(taken)


async def lateness(work: Callable[[], Awaitable[Any]]) -> float:
    """Return by how many milliseconds the loop was late at worst while the work ran."""
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.002)
            worst = max(worst, time.perf_counter() - before - 0.002)

    watcher = asyncio.ensure_future(watch())
    await asyncio.sleep(0.02)
    await work()
    watcher.cancel()
    return worst * 1000


async def drained(adapter: Any, call: Any) -> int:
    async with contextlib.aclosing(adapter.stream(call)) as events:
        return len([event async for event in events])


async def measure_turns(url: str, figures: dict[str, float]) -> None:
    for messages, budget in BUDGETS_MS.items():
        made = history(messages)
        session = Agent(MODEL, api_key="k", base_url=url, max_retries=0).session()
        session.messages.extend(made)
        call = call_of(MODEL, *made, "q")
        adapter = adapter_of(call, url)
        await drained(adapter, call)
        await session.run("load everything")
        name = f"{messages:,} messages"
        figures[f"{name}: a turn of a session (budget {budget:g} ms)"] = await median_cpu(lambda s=session: s.run("q"))
        figures[f"{name}:   of that, the adapter"] = await median_cpu(lambda a=adapter, c=call: drained(a, c))
        started = time.thread_time()
        json.dumps({"contents": made}).encode()
        figures[f"{name}:   floor, json.dumps of the same"] = (time.thread_time() - started) * 1000


async def measure_typed(url: str, figures: dict[str, float]) -> None:
    """Measure the SDK's own typed method on a thousand messages, and its raw stream."""
    import httpx2
    from google import genai

    async with httpx2.AsyncClient(trust_env=False, verify=False) as http:
        options = {"base_url": url, "timeout": 60_000, "httpx_async_client": http}
        client = genai.Client(api_key="k", vertexai=False, http_options=options)
        config = {"automatic_function_calling": {"disable": True}, "automatic_continuation": False}

        async def typed(contents: Any) -> int:
            stream = await client.aio.models.generate_content_stream(model=MODEL, contents=contents, config=config)
            return len([chunk async for chunk in stream])

        made = [*history(1_000), {"role": "user", "parts": [{"text": "q"}]}]
        await typed(made)
        figures["1,000 messages:   the SDK's typed method, for comparison"] = await median_cpu(lambda: typed(made), 3)


async def measure_deltas(url: str, figures: dict[str, float]) -> None:
    import httpx2
    from google import genai

    call = call_of(MODEL, "q")
    adapter = adapter_of(call, url)
    count = await drained(adapter, call)
    ours = await median_cpu(lambda: drained(adapter, call), 5) * 1000 / count
    async with httpx2.AsyncClient(trust_env=False, verify=False) as http:
        options = {"base_url": url, "timeout": 60_000, "httpx_async_client": http}
        client = genai.Client(api_key="k", vertexai=False, http_options=options)

        async def raw() -> int:
            stream = await client.aio.models.generate_content_stream(model=MODEL, contents="q")
            return len([chunk async for chunk in stream])

        await raw()
        sdk = await median_cpu(raw, 5) * 1000 / count
    figures["a delta through the adapter, µs"] = ours
    figures["a delta of the SDK's raw stream, µs"] = sdk
    figures[f"our share beyond it (budget {BUDGET_DELTA_US:g} µs), µs"] = ours - sdk


async def measure_media(url: str, figures: dict[str, float]) -> None:
    figures["idle loop late by"] = await lateness(lambda: asyncio.sleep(0.5))
    for kind, size in (("image/png", 20_000_000), ("video/mp4", 20_000_000)):
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(size)).decode()
        call = call_of(MODEL, LENS.user_message([MediaPart(data, kind), TextPart("q")]))
        adapter = adapter_of(call, url)
        await drained(adapter, call_of(MODEL, "load everything"))
        how = "inline" if kind == "image/png" else "uploaded"
        name = f"20 MB {how}, loop late by (budget {BUDGET_LATE_MS:g} ms)"
        figures[name] = await lateness(lambda a=adapter, c=call: drained(a, c))


async def measure(server: StrictProcess) -> dict[str, float]:
    url = server.url("google")
    figures: dict[str, float] = {}
    server.always(answer("ok", usage=Usage(10, 2)))
    await measure_turns(url, figures)
    await measure_typed(url, figures)
    await measure_media(url, figures)
    server.always(answer(Text("word " * DELTAS), pace=Pace(piece=5), usage=Usage(10, 2)))
    await measure_deltas(url, figures)
    return figures


def main() -> None:
    """Print every figure."""
    with StrictProcess(checks=False, keep_bodies=False) as server:
        for name, value in asyncio.run(measure(server)).items():
            print(f"{value:9.2f}  {name}")


if __name__ == "__main__":
    main()
