"""What the engine itself costs: ``python tests/bench/bench_engine.py``, after ``app`` and ``tests`` are on the path.

Wall-clock milliseconds, the best of several; the loop's own lateness stands beside what was measured on it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests")]

from doc_processing_toolkit import Agent, AgentSession  # noqa: E402
from doc_processing_toolkit.providers.base import ModelCall  # noqa: E402
from doc_processing_toolkit.testing import answer, question, scripted_agent  # noqa: E402
from support.chat_server import ChatServer, Stream  # noqa: E402

MESSAGES = 5_000
BUDGET_TURN_MS = 40.0
BUDGET_JSON_RATIO = 1.5
BUDGET_DELTA_US = 60.0


def best(work: Callable[[], Any], times: int = 9, *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the fewest milliseconds that the work took."""
    taken = []
    for _ in range(times):
        started = clock()
        work()
        taken.append((clock() - started) * 1000)
    return min(taken)


def long_session(agent: Agent) -> AgentSession:
    """Return a session with thousands of messages of half a kilobyte."""
    session = agent.session()
    for number in range(MESSAGES // 2):
        session.messages.extend([question(f"{number} " + "why " * 120), answer("because " * 60)])
        session.metadata["run_boundaries"].append({"run": number + 1, "start": 2 * number, "end": 2 * number + 2})
        session.metadata["served_models"].append({"run": number + 1, "provider": "p", "model": "m", "row": "r"})
    return session


def measure_session() -> dict[str, float]:
    """Measure a turn on top of a long history, and saving and opening it."""
    with ChatServer(["short answer"]) as server:
        agent = Agent("openai-compatible/m", base_url=server.base_url, max_retries=0)
        short, long = agent.session(), long_session(agent)
        asyncio.run(short.run("load everything"))
        turn_short = best(lambda: asyncio.run(short.run("q")), clock=time.thread_time)
        turn_long = best(lambda: asyncio.run(long.run("q")), clock=time.thread_time)
    snapshot = long.snapshot()
    envelope = snapshot.to_dict()
    text = snapshot.to_json()
    plain = best(lambda: json.dumps(envelope))
    return {
        "turn on 2 messages, CPU of the loop's thread": turn_short,
        f"turn on {MESSAGES:,} messages, CPU of the loop's thread": turn_long,
        "snapshot": best(long.snapshot),
        "to_json": best(snapshot.to_json),
        "  json.dumps of the same": plain,
        "  ratio": best(snapshot.to_json) / plain,
        "from_json": best(lambda: AgentSession.from_json(text, agent=agent)),
    }


async def loop_lateness(work: Callable[[], Any]) -> float:
    """Return by how many milliseconds the loop was late at worst while the work ran."""
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            worst = max(worst, time.perf_counter() - before - 0.005)

    watcher = asyncio.ensure_future(watch())
    await asyncio.sleep(0.02)
    await work()
    watcher.cancel()
    return worst * 1000


def measure_loop() -> dict[str, float]:
    """Measure how long the event loop is held: idle, at the first request (the SDK's import), and while streaming."""
    with ChatServer([Stream(["word "] * 400)]) as server:
        agent = Agent("openai-compatible/m", base_url=server.base_url, max_retries=0)

        async def main() -> dict[str, float]:
            idle = await loop_lateness(lambda: asyncio.sleep(0.5))
            first = await loop_lateness(lambda: agent.run("q"))
            started = time.process_time()
            later = await loop_lateness(lambda: agent.run("q"))
            cpu = (time.process_time() - started) * 1000
            return {
                "idle loop late by": idle,
                "first request, SDK import in a thread, late by": first,
                "streaming 400 deltas, late by": later,
                "  CPU a delta, server's share included": cpu / 400,
            }

        return asyncio.run(main())


def measure_deltas() -> dict[str, float]:
    """Measure what the loop and the session add to each delta of an adapter that costs nearly nothing itself."""
    count = 20_000

    async def alone() -> float:
        agent = scripted_agent([["word "] * count])
        call = ModelCall(row=agent.row, messages=[question("q")])
        return await cpu_of(agent.script.stream(call))

    async def streamed() -> float:
        return await cpu_of(scripted_agent([["word "] * count]).session().stream("q"))

    async def cpu_of(events: AsyncIterator[Any]) -> float:
        started = time.process_time()
        async for _ in events:
            pass
        return (time.process_time() - started) / count * 1e6

    floor = statistics.median(asyncio.run(alone()) for _ in range(5))
    whole = statistics.median(asyncio.run(streamed()) for _ in range(5))
    return {
        "microseconds a delta, scripted adapter alone": floor,
        "microseconds a delta, session.stream() over it": whole,
        "  the engine's share": whole - floor,
    }


def measure_stop() -> dict[str, float]:
    """Measure how soon a stopped stream answers, without a server."""
    agent = scripted_agent([["a"] * 10_000], delay_s=0.001)

    async def main() -> float:
        stream = agent.stream("q")
        await anext(stream)
        await anext(stream)
        started = time.perf_counter()
        await stream.aclose()
        return (time.perf_counter() - started) * 1000

    return {"stop answers after": asyncio.run(main())}


def main() -> None:
    """Print every figure."""
    figures = {**measure_loop(), **measure_session(), **measure_deltas(), **measure_stop()}
    for name, value in figures.items():
        print(f"{value:9.2f}  {name}")
    print(
        f"budgets: {BUDGET_TURN_MS:g} ms a turn on a long history, {BUDGET_JSON_RATIO:g} times json.dumps, "
        f"{BUDGET_DELTA_US:g} microseconds a delta beyond the SDK's raw stream, adapter included"
    )


if __name__ == "__main__":
    main()
