"""The one event loop of the app: qasync's, with the two repairs that it needs (qasync 0.28)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextvars import Context
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimerEvent

os.environ.setdefault("QT_API", "pyside6")

from qasync import QEventLoop


class _TimedHandle(asyncio.Handle):
    """A handle whose cancellation ends its Qt timer, which would otherwise live until it expires."""

    release: Callable[[], None] | None = None

    def cancel(self) -> None:
        super().cancel()
        if self.release is not None:
            self.release()
            self.release = None


class _Timers(QObject):
    """One Qt timer per waiting handle. Stands in for qasync's own, which cannot kill a cancelled one."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[int, asyncio.Handle] = {}

    def add_callback(self, handle: _TimedHandle, delay: float = 0) -> asyncio.Handle:
        """Run `handle` after `delay` seconds; handles of equal delay run in the order they were added."""
        timer = self.startTimer(int(max(0.0, delay) * 1000), Qt.TimerType.PreciseTimer)
        self._waiting[timer] = handle
        if delay > 0:
            handle.release = lambda: self._release(timer)
        return handle

    def timerEvent(self, event: QTimerEvent) -> None:
        timer = event.timerId()
        self.killTimer(timer)
        handle = self._waiting.pop(timer, None)
        if handle is not None and not handle.cancelled():
            handle._run()

    def stop(self) -> None:
        """Forget every waiting handle."""
        for timer in list(self._waiting):
            self._release(timer)

    def set_debug(self, enabled: bool) -> None:
        """Asked for by qasync; there is nothing to log here."""

    def waiting(self) -> int:
        """Return how many handles wait, for tests."""
        return len(self._waiting)

    def _release(self, timer: int) -> None:
        if self._waiting.pop(timer, None) is not None:
            self.killTimer(timer)


class Loop(QEventLoop):  # type: ignore[misc]
    """qasync's loop that closes abandoned async generators and frees the timers of cancelled calls."""

    def __init__(self, app: QCoreApplication, *, already_running: bool = False) -> None:
        super().__init__(app, already_running=already_running)
        self._timer = _Timers()

    def run_forever(self) -> int:
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        try:
            return int(super().run_forever())
        finally:
            sys.set_asyncgen_hooks(*before)

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self._timer.add_callback(_TimedHandle(callback, args, self, context=context), delay)

    def waiting_timers(self) -> int:
        """Return how many calls wait for their time."""
        return self._timer.waiting()
