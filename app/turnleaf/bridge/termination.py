"""SIGTERM and SIGINT as a Qt signal, so that they work while Qt sleeps in its own loop."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import Any

from PySide6.QtCore import QObject, QSocketNotifier, Signal

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Termination(QObject):
    """Turns the operating system's wish to end the app into `requested`."""

    requested = Signal(int)
    """The signal's number, on the GUI thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_readable)
        self._before: dict[int, Any] = {}
        self._before_fd = -1

    def install(self) -> None:
        """Take over the signals. Only the main thread may."""
        # The interpreter runs a Python handler only between two bytecodes, which Qt's sleep never reaches;
        # the byte that it writes here wakes Qt.
        self._before_fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            self._before[number] = signal.signal(number, _ignore)

    def uninstall(self) -> None:
        """Give the signals back."""
        signal.set_wakeup_fd(self._before_fd)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        self._notifier.setEnabled(False)
        self._read.close()
        self._write.close()

    def _on_readable(self) -> None:
        try:
            numbers = self._read.recv(64)
        except BlockingIOError:
            return
        for number in numbers:
            if number in self._before:
                self.requested.emit(number)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Keep the default action from ending the process; the socket carries the news."""
