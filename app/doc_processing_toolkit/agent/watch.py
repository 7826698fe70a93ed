"""The watch over one turn: a wait for a server or a tool ends when the turn is aborted or its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.core.errors import TurnTimeoutError

T = TypeVar("T")


class Watch:
    """One timer for the whole turn, instead of one for every wait: a stream has a wait for each delta.

    Made inside the running loop; :meth:`end` it when the turn is over.
    """

    def __init__(self, handle: RunHandle, timeout_s: float) -> None:
        self._handle = handle
        self._timeout_s = timeout_s
        self._timer = asyncio.get_running_loop().call_later(timeout_s, self._run_out)
        self._is_over = False
        self._waiting: asyncio.Task[Any] | None = None
        self._has_cut = False
        handle.watched_by(self.interrupt)

    def end(self) -> None:
        """Stop watching."""
        self._timer.cancel()
        self._handle.watched_by(None)

    def check(self) -> None:
        """Raise ``TurnAbortedError`` or ``TurnTimeoutError`` when the turn is to end."""
        self._handle.check_abort()
        if self._is_over:
            raise TurnTimeoutError(
                f"the turn took longer than {self._timeout_s:g} s; ask for less, or give the agent a longer timeout"
            )

    async def wait_for(self, work: Awaitable[T]) -> T:
        """Return what the work comes to; raises as :meth:`check` does when the turn ends first."""
        task = self._waiting = asyncio.current_task()
        cancels = task.cancelling() if task is not None else 0
        try:
            return await work
        finally:
            self._waiting = None
            if self._has_cut and task is not None:
                self._has_cut = False
                if task.uncancel() <= cancels:
                    self.check()

    def interrupt(self) -> None:
        """End the wait that is going on, if there is one."""
        if self._waiting is not None and not self._has_cut:
            self._has_cut = True
            self._waiting.cancel()

    def _run_out(self) -> None:
        self._is_over = True
        self.interrupt()
