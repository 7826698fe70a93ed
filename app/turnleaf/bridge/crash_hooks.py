"""Every failure that nobody caught: logged, and told to the window."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

log = logging.getLogger(__name__)

_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class CrashHooks(QObject):
    """Catches what falls through: the interpreter's hooks, the threads', the loop's and Qt's own messages."""

    crashed = Signal(object)
    """An uncaught exception (`BaseException`), on the GUI thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Set the hooks of the interpreter, of its threads and of Qt."""
        before, before_thread, before_unraisable = sys.excepthook, threading.excepthook, sys.unraisablehook
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        sys.unraisablehook = self._on_unraisable
        before_qt = qInstallMessageHandler(_on_qt_message)

        def undo() -> None:
            sys.excepthook, threading.excepthook, sys.unraisablehook = before, before_thread, before_unraisable
            qInstallMessageHandler(before_qt)

        self._undo.append(undo)

    def watch_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the hook of `loop`, for callbacks and for tasks that nobody awaited."""
        loop.set_exception_handler(self._on_loop_exception)

    def uninstall(self) -> None:
        """Put back the hooks that were there before."""
        while self._undo:
            self._undo.pop()()

    def report(self, failure: BaseException, where: str) -> None:
        """Log `failure` and tell the window of it. Callable on any thread."""
        if isinstance(failure, KeyboardInterrupt | asyncio.CancelledError):
            return
        log.critical("uncaught in %s", where, exc_info=failure)
        self.crashed.emit(failure)

    def _on_exception(
        self, kind: type[BaseException], failure: BaseException, _traceback: TracebackType | None
    ) -> None:
        if issubclass(kind, SystemExit):
            sys.__excepthook__(kind, failure, _traceback)
            return
        self.report(failure, "the GUI thread")

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            self.report(args.exc_value, f"thread {args.thread.name if args.thread else '?'}")

    def _on_unraisable(self, args: Any) -> None:
        # Raised inside a destructor or a callback of C code: nothing can act on it, so the window is not told.
        log.error("unraisable: %s", args.err_msg or "exception ignored", exc_info=args.exc_value)

    def _on_loop_exception(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        if isinstance(failure, BaseException):
            self.report(failure, str(context.get("message", "the loop")))
        else:
            log.error("event loop: %s", context.get("message", "unknown failure"))


def _on_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    log.log(_QT_LEVELS.get(kind, logging.WARNING), "qt %s: %s", context.category or "", message)
