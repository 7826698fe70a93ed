"""Long work on the GUI thread, cut into slices that leave it free in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer

SLICE_S = 0.006


class Slices(QObject):
    """Runs iterators to their end, a few milliseconds at a time; each `next` should take at most about 5 ms."""

    def __init__(self, parent: QObject | None = None, *, slice_s: float = SLICE_S) -> None:
        super().__init__(parent)
        self._slice_s = slice_s
        self._queue: list[tuple[Iterator[object], Callable[[], None] | None]] = []
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_timeout)

    def start(self, work: Iterator[object], on_done: Callable[[], None] | None = None) -> None:
        """Run `work` behind what is queued already, then call `on_done`."""
        self._queue.append((work, on_done))
        if not self._timer.isActive():
            self._timer.start()

    def clear(self) -> None:
        """Drop all work that is not done."""
        self._queue.clear()
        self._timer.stop()

    @property
    def busy(self) -> bool:
        """Whether work is left."""
        return bool(self._queue)

    def _on_timeout(self) -> None:
        deadline = time.perf_counter() + self._slice_s
        while self._queue and time.perf_counter() < deadline:
            work, on_done = self._queue.pop(0)
            try:
                next(work)
            except StopIteration:
                if on_done is not None:
                    on_done()
            else:
                self._queue.insert(0, (work, on_done))
        if not self._queue:
            self._timer.stop()
