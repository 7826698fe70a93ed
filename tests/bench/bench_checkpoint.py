"""How long checkpoints take, and how late the event loop's heartbeat is meanwhile, beside its lateness when idle.

Run it with ``python tests/bench/bench_checkpoint.py [megabytes]``; the default is an envelope of 20 MB.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2] / "app")]

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.testing import scripted_agent
from turnleaf.services.conversation import Conversation
from turnleaf.services.library import Library
from turnleaf.services.profile import open_profile
from turnleaf.services.sidecar import Completed, LedgerTurn

BEAT_S = 0.02
TURNS = 1_000


class Heartbeat:
    """A timer that should fire every 20 ms; ``worst_ms`` is how late it was at most."""

    def __init__(self) -> None:
        self.worst_ms = 0.0

    async def __aenter__(self) -> Heartbeat:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(BEAT_S)
        self.worst_ms = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(BEAT_S * 2)
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            due = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.worst_ms = max(self.worst_ms, (time.perf_counter() - due) * 1000)


async def measure(what: str, work: Callable[[], Awaitable[Any]]) -> Any:
    async with Heartbeat() as heartbeat:
        started = time.perf_counter()
        result = await work()
        took = time.perf_counter() - started
    print(f"{what:<58} {took * 1000:9.1f} ms   heartbeat late by {heartbeat.worst_ms:6.1f} ms at most")
    return result


def long_session(session_id: str, megabytes: float) -> AgentSession:
    size = int(megabytes * 1_000_000 / TURNS)
    messages = [
        {"role": role, "content": f"{role} {turn} " + "lorem ipsum " * (size // 24)}
        for turn in range(TURNS)
        for role in ("user", "assistant")
    ]
    boundaries = [{"run": turn + 1, "start": 2 * turn, "end": 2 * turn + 2} for turn in range(TURNS)]
    data = {
        "schema_version": 3,
        "session_id": session_id,
        "messages": messages,
        "metadata": {"run_count": TURNS, "run_boundaries": boundaries},
    }
    return AgentSession.from_dict(data, agent=scripted_agent(["One more."]))


def ledger_line(number: int) -> LedgerTurn:
    return LedgerTurn(
        number=number,
        run=number,
        question=f"Question {number}: " + "what about it, and why? " * 20,
        model="scripted/demo",
        model_label="Demo",
        ended_at=datetime.now(UTC),
        input_tokens=1_000,
        output_tokens=100,
        seconds=1.5,
    )


async def stream_partial(conversation: Conversation) -> None:
    """200 KB of an answer in pieces of 4 characters, over two seconds."""
    for _ in range(100):
        for _ in range(500):
            conversation.note_partial("abcd")
        await asyncio.sleep(0.02)


async def bench(folder: Path, megabytes: float) -> None:
    library = Library(open_profile(folder))
    conversation = library.create()
    session = long_session(conversation.session_id, megabytes)
    conversation.sidecar.ledger.extend(ledger_line(number) for number in range(1, TURNS + 1))

    async def begin(question: str, run: int) -> None:
        await conversation.begin_turn(question=question, attachments=(), run=run, model="scripted/demo")

    async def reopen() -> AgentSession:
        again = await Library(library.profile).open(conversation.session_id)
        return await again.restore(scripted_agent([]))

    await measure("idle for a second", lambda: asyncio.sleep(1))
    await measure(f"first checkpoint, {megabytes:g} MB, {TURNS} turns", lambda: conversation.save_history(session))
    await measure(f"journal of a question, ledger of {TURNS} lines", lambda: begin("Next?", TURNS + 1))
    await measure("streaming 200 KB in 50,000 pieces, journalled", lambda: stream_partial(conversation))
    line = ledger_line(TURNS + 1)
    await measure("checkpoint of the turn", lambda: conversation.checkpoint(session, ended=Completed(line)))
    fresh = Library(library.profile)
    await measure("list of conversations, read for the first time", lambda: asyncio.to_thread(fresh.summaries))
    await measure("list of conversations, nothing changed", lambda: asyncio.to_thread(fresh.summaries))
    await measure("open and restore", reopen)
    await measure("save as a file", lambda: conversation.save_file(session, folder / "saved.json"))
    await library.close()


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    folder = Path(tempfile.mkdtemp(prefix="turnleaf-bench-"))
    try:
        asyncio.run(bench(folder, megabytes))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
