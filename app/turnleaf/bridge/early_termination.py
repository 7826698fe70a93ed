"""The wish to end the app that arrives before there is a window: kept until the event loop can act on it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

_NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")


class EarlyTermination:
    """Holds the signals from the process's start on. A second one of a kind ends the process as it always does."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        """Take over the signals. Only the main thread may."""
        for name in _NAMES:
            number = getattr(signal, name, None)
            # What the caller of the process has ignored (``nohup``) stays ignored.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)

    def uninstall(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.received = number
        signal.signal(number, signal.SIG_DFL)
