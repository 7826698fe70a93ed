"""From the start of the environment's Python to the first paint with the composer focused, beside its floors.

Run it with the environment's Python: ``python tests/bench/bench_start.py [rounds]``. Under Xvfb it uses the real
platform (``xvfb-run``), else the offscreen one. Times are wall-clock milliseconds; the first round warms the caches.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_MS = 600
TOO_EARLY = ("anthropic", "openai", "google.genai", "pydantic", "httpx2", "markdown_it", "pygments", "keyring")

WINDOW = """
import sys, time
from turnleaf.ui import desktop

def seen(run):
    now = time.time()
    page = run.window.page
    run.window.activateWindow()
    page.focus_composer()
    focused = run.window.focusWidget() is page.card.edit
    early = [name for name in {early!r} if name in sys.modules]
    cpu = time.process_time()
    print(now - {started!r}, cpu, focused, len(sys.modules), ",".join(early) or "-", flush=True)
    run.quit(forced=True)

desktop.Desktop._on_first_painted = seen
from turnleaf.main import main
raise SystemExit(main(["--profile", {profile!r}]))
"""
FLOORS = {
    "python alone": "pass",
    "python, QtWidgets": "import PySide6.QtWidgets",
    "python, QtWidgets, asyncio, qasync": "import PySide6.QtWidgets, asyncio, qasync",
    "a bare window painted": (
        "from PySide6.QtCore import QTimer; from PySide6.QtWidgets import QApplication, QMainWindow, QTextEdit\n"
        "app = QApplication([]); window = QMainWindow(); window.setCentralWidget(QTextEdit()); window.show()\n"
        "QTimer.singleShot(0, app.quit); app.exec()"
    ),
}
CACHE = tempfile.TemporaryDirectory(prefix="bench-start-")


def environment() -> dict[str, str]:
    """Return the environment of the measured processes: with compiled modules, as a user's second start has them."""
    values = {**os.environ, "PYTHONPATH": str(ROOT / "app"), "PYTHONPYCACHEPREFIX": CACHE.name}
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    if not values.get("DISPLAY"):
        values["QT_QPA_PLATFORM"] = "offscreen"
    return values


def floor_ms(code: str) -> tuple[float, float]:
    """Return how long a process takes that runs `code`, wall and CPU."""
    code += "\nimport time; print(time.process_time())"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    return (time.perf_counter() - started) * 1000, float(done.stdout.split()[-1]) * 1000


def start(profile: str) -> tuple[float, float, bool, int, str]:
    """Return wall and CPU milliseconds to the first paint, focus, modules loaded, and what was loaded too early."""
    code = WINDOW.format(early=TOO_EARLY, started=time.time(), profile=profile)
    done = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    wall, cpu, focused, modules, early = done.stdout.split()
    return float(wall) * 1000, float(cpu) * 1000, focused == "True", int(modules), early


def main() -> int:
    """Measure and print; return 1 when the median is above the limit."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for name, code in FLOORS.items():
        floor_ms(code)
        times = [floor_ms(code) for _ in range(max(3, rounds // 2))]
        walls, cpus = [wall for wall, _ in times], [cpu for _, cpu in times]
        print(f"{name:40} median {statistics.median(walls):6.0f} ms   best {min(walls):6.0f} ms   CPU {min(cpus):4.0f}")
    with tempfile.TemporaryDirectory() as folder:
        start(folder)
        results = [start(folder) for _ in range(rounds)]
    walls, cpus = [result[0] for result in results], [result[1] for result in results]
    print(f"{'first paint, composer focused':40} median {statistics.median(walls):6.0f} ms   best {min(walls):6.0f} ms")
    print(f"{'  of it CPU':40} median {statistics.median(cpus):6.0f} ms   best {min(cpus):6.0f} ms")
    focused, modules, early = results[-1][2:]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(
        f"focused: {focused}; {modules} modules; loaded too early: {early}; load {load:.1f} on {os.cpu_count()} cores"
    )
    return 0 if statistics.median(walls) <= LIMIT_MS and focused and early == "-" else 1


if __name__ == "__main__":
    raise SystemExit(main())
