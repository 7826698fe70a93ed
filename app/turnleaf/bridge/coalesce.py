"""Many small changes, few repaints: a timer that flushes at a pace which the last flush's cost decides."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer

FRAME_MS = 16.0
COST_FACTOR = 3.0
LONGEST_MS = 250.0


def pause_ms(last_cost_ms: float) -> int:
    """Return how long to wait before the next flush: a frame, or three times what the last one took."""
    return int(min(LONGEST_MS, max(FRAME_MS, COST_FACTOR * last_cost_ms)))


class Coalescer(QObject):
    """Calls `flush` once for any number of `request()` in between, on the GUI thread."""

    def __init__(self, flush: Callable[[], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._flush = flush
        self._cost_ms = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    def request(self) -> None:
        """Ask for a flush; one that is already due serves."""
        if not self._timer.isActive():
            self._timer.start(pause_ms(self._cost_ms))

    def _on_timeout(self) -> None:
        started = time.perf_counter()
        self._flush()
        self._cost_ms = (time.perf_counter() - started) * 1000
