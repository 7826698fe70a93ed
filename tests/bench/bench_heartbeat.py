"""How late the GUI thread's heartbeat is in each phase of a real conversation, beside the idle loop's own lateness.

A precise timer of 20 ms beats on the GUI thread of the whole app (services, window, packaged model) while the window is
idle, a 100-page PDF is read, the model starts and reads a question about it, the answer streams, and a long history is
checkpointed and opened. ``python tests/bench/bench_heartbeat.py``; lateness in milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "app"))
if not os.environ.get("DISPLAY"):
    os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import QObject, Qt, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402
from reportlab.pdfgen import canvas  # noqa: E402

from turnleaf.bridge.loop import Loop  # noqa: E402
from turnleaf.bridge.single_instance import SingleInstance, StartRequest  # noqa: E402
from turnleaf.services.profile import open_profile  # noqa: E402
from turnleaf.ui.desktop import Desktop, Options  # noqa: E402

if TYPE_CHECKING:
    from turnleaf.viewmodels.chat import ChatViewModel

BEAT_MS = 20.0
LIMIT_MS = 100.0


class Heartbeat(QObject):
    """Measures how late each beat is; ``phase`` names what goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.late: dict[str, list[float]] = {}
        self.phase = "start"
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(int(BEAT_MS))
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to beat."""
        self._last = time.perf_counter()
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter()
        self.late.setdefault(self.phase, []).append(max(0.0, (now - self._last) * 1000 - BEAT_MS))
        self._last = now

    def report(self) -> bool:
        """Print a line a phase; return whether every beat came in time."""
        print(f"{'phase':26}{'beats':>7}{'median':>9}{'p99':>9}{'worst':>9}   over {LIMIT_MS:.0f}")
        for phase, values in self.late.items():
            ranked = sorted(values)
            middle, high = ranked[len(ranked) // 2], ranked[min(len(ranked) - 1, int(len(ranked) * 0.99))]
            over = sum(value > LIMIT_MS for value in ranked)
            print(f"{phase:26}{len(ranked):7}{middle:9.1f}{high:9.1f}{ranked[-1]:9.1f}   {over}")
        return all(value <= LIMIT_MS for phase, values in self.late.items() if phase != "start" for value in values)


def write_pdf(path: Path, pages: int) -> Path:
    """Write a PDF of so many pages of text."""
    drawing = canvas.Canvas(str(path))
    for page in range(1, pages + 1):
        for line in range(45):
            drawing.drawString(
                60, 780 - 16 * line, f"Page {page}, line {line}: the ship sailed to harbour {page * line}."
            )
        drawing.showPage()
    drawing.save()
    return path


async def until(condition: object, timeout_s: float = 240.0) -> None:
    """Wait until a callable says yes."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.01)


async def ask(desktop: Desktop, chat: ChatViewModel, text: str, beat: Heartbeat, stop_after_s: float = 60.0) -> None:
    """Ask a question; the phase changes with the first text."""
    page = desktop.window.page_of(chat)
    assert page is not None
    page.card.edit.insert_text(text)
    page.send()
    started = time.monotonic()
    await until(lambda: chat.phase == "running")
    while chat.phase != "idle":
        if any(getattr(row, "streaming", False) for row in chat.rows):
            beat.phase = "streaming"
        if time.monotonic() - started > stop_after_s:
            chat.stop()
            await until(lambda: chat.phase == "idle")
        await asyncio.sleep(0.02)


async def play(desktop: Desktop, beat: Heartbeat, folder: Path) -> None:
    """Go through the phases."""
    beat.start()
    await until(lambda: desktop.is_ready)
    await asyncio.sleep(1.0)
    beat.phase = "idle"
    await asyncio.sleep(3.0)
    chat = desktop.workspace.active
    assert chat is not None
    beat.phase = "model start, first turn"
    await ask(desktop, chat, "My name is Alice and I love pizza.", beat)
    beat.phase = "idle"
    await asyncio.sleep(0.5)
    beat.phase = "100-page PDF"
    chat.composer.add_files([folder / "hundred.pdf"])
    await until(lambda: not chat.composer.is_reading)
    beat.phase = "idle"
    for chip in chat.composer.chips:
        chat.composer.remove(chip.number)
    (folder / "short.txt").write_text("The lighthouse was painted by Anna Falk in 1932.\n" * 60)
    chat.composer.add_files([folder / "short.txt"])
    await until(lambda: not chat.composer.is_reading)
    beat.phase = "reading a prompt"
    await ask(desktop, chat, "Who painted the lighthouse?", beat)
    beat.phase = "streaming"
    await ask(desktop, chat, "Write down the numbers from 1 to 200, one after another.", beat, 25.0)
    beat.phase = "checkpoint, 400 messages"
    await checkpoint_long_history(desktop, chat, beat)


async def checkpoint_long_history(desktop: Desktop, chat: ChatViewModel, beat: Heartbeat) -> None:
    """Write and open a history of 400 messages and 3 MB, as after a long day."""
    from doc_processing_toolkit.testing import scripted_agent

    text = "A paragraph with **bold** words, `code` and a [link](https://example.com). " * 100
    conversation = chat.conversation
    assert conversation is not None
    messages = [{"role": role, "content": text} for _ in range(200) for role in ("user", "assistant")]
    data = {"session_id": conversation.session_id, "schema_version": 3, "messages": messages}
    from doc_processing_toolkit import AgentSession

    agent = scripted_agent([])
    session = await asyncio.to_thread(lambda: AgentSession.from_dict(data, agent=agent))
    for _ in range(5):
        await conversation.save_history(session)
    target = desktop.profile.data / "long.json"
    other = {**data, "session_id": str(uuid.uuid4())}
    await asyncio.to_thread(lambda: AgentSession.from_dict(other, agent=agent).to_json(path=target))
    beat.phase = "opening 400 messages"
    desktop.workspace.open_files([target])
    opened = chat
    await until(lambda: desktop.workspace.active is not opened and len(desktop.workspace.active.rows) > 300)
    await asyncio.sleep(1.0)
    page = desktop.window.page
    assert page is not None
    beat.phase = "scrolling them"
    for turn in range(1, 200, 7):
        page.transcript.show_turn(turn)
        await asyncio.sleep(0.03)


async def run(desktop: Desktop, beat: Heartbeat, folder: Path) -> int:
    """Play, end the app, report."""
    running = asyncio.ensure_future(desktop.run())
    try:
        await play(desktop, beat, folder)
    finally:
        desktop.quit(forced=False)
        await running
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"load {load:.1f} on {os.cpu_count()} cores")
    return 0 if beat.report() else 1


def main() -> int:
    """Run the app on a profile of its own; return 1 when a beat was late."""
    app = QApplication(["bench"])
    app.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory(prefix="bench-heartbeat-") as folder:
        profile = open_profile(Path(folder) / "profile")
        write_pdf(Path(folder) / "hundred.pdf", 100)
        instance = SingleInstance(profile)
        instance.become_first()
        desktop = Desktop(app, profile, Options(StartRequest()), instance)
        loop = Loop(app)
        asyncio.set_event_loop(loop)
        desktop.window.resize(1280, 860)
        desktop.show()
        try:
            return int(loop.run_until_complete(run(desktop, Heartbeat(), Path(folder))))
        finally:
            loop.close()


if __name__ == "__main__":
    raise SystemExit(main())
