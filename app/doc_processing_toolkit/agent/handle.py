"""The handle of a running turn: pause, resume, abort, and messages to the model, all at the loop's safe points."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from doc_processing_toolkit.core.errors import TurnAbortedError


class RunHandle:
    """Steers one turn from outside, or from a hook; every method may be called from any thread.

    ``pause`` and ``inject`` act at the loop's next safe point (before a request, after the tools of a round);
    ``abort`` ends a wait for the server or for tools too. Nothing is serialised: the process must stay alive.
    """

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self._interrupt: Callable[[], None] | None = None
        self._abort_reason: str | None = None
        self.is_paused = False
        self.is_finished = False

    @property
    def is_aborted(self) -> bool:
        """Whether the turn was told to end."""
        return self._abort_reason is not None

    def pause(self) -> None:
        """Hold the turn at its next safe point until :meth:`resume`."""
        self.is_paused = True

    def resume(self) -> None:
        """Let a paused turn go on."""
        self.is_paused = False
        self._notify()

    def abort(self, reason: str = "the turn was aborted") -> None:
        """End the turn; it raises :class:`TurnAbortedError` with the reason."""
        if not self.is_finished:
            self._abort_reason = reason
            self._notify()

    def inject(self, text: str) -> None:
        """Give the model a message at the next safe point; what comes too late is left in the undelivered ones.

        Raises ``RuntimeError`` when the turn has ended, so that no message is lost.
        """
        if not isinstance(text, str) or not text.strip():
            raise ValueError("a message to inject must be text that is not empty")
        if self.is_finished:
            raise RuntimeError("the turn has ended; send the message as the next question")
        self._messages.append(text)

    def take_undelivered(self) -> list[str]:
        """Return the messages that never reached the model, and forget them."""
        taken = list(self._messages)
        self._messages.clear()
        return taken

    def attach(self) -> None:
        """Bind the handle to the running event loop; the turn does so when it starts."""
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    async def safe_point(self) -> None:
        """Wait while paused. Raises :class:`TurnAbortedError` when the turn was told to end."""
        self.check_abort()
        while self.is_paused and self._changed is not None:
            self._changed.clear()
            await self._changed.wait()
            self.check_abort()

    def check_abort(self) -> None:
        """Raise :class:`TurnAbortedError` when the turn was told to end."""
        if self._abort_reason is not None:
            raise TurnAbortedError(self._abort_reason)

    def watched_by(self, interrupt: Callable[[], None] | None) -> None:
        """Name what ends the wait that an abort has to break, ``None`` when there is none."""
        self._interrupt = interrupt

    def _notify(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
        if self.is_aborted and self._interrupt is not None:
            self._interrupt()
