"""How many documents are read at once in one application: the rest wait in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

# Starts a piece of work without waiting for it, and returns whether it could.
Begin = Callable[[], bool]


class Slots:
    """At most ``limit`` pieces of work run at once. May be used from any thread and any event loop; nothing blocks."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[Begin] = deque()
        self._lock = threading.Lock()

    def take(self, begin: Begin) -> None:
        """Call ``begin`` once it has a slot: now, or later in the thread that gives one back.

        It must not raise. Work that could begin ends with ``give_back``.
        """
        with self._lock:
            self._waiting.append(begin)
        self._fill()

    def forgo(self, begin: Begin) -> bool:
        """Give up waiting; ``False`` when ``begin`` was called already."""
        with self._lock:
            if begin not in self._waiting:
                return False
            self._waiting.remove(begin)
            return True

    def give_back(self) -> None:
        """Let the next one begin."""
        with self._lock:
            self._free += 1
        self._fill()

    def _fill(self) -> None:
        while begin := self._next():
            if not begin():
                with self._lock:
                    self._free += 1

    def _next(self) -> Begin | None:
        with self._lock:
            if not self._free or not self._waiting:
                return None
            self._free -= 1
            return self._waiting.popleft()
