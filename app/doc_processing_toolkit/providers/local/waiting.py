"""The line in front of the local model: one request at a time, first come first served, across threads and loops."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from doc_processing_toolkit.providers.local.failures import service_closed

# How often somebody who waits looks whether those ahead can still move at all.
_LOOK_AGAIN_S = 2.0


class Ticket:
    """One place in the line, taken by a coroutine of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._moved = asyncio.Event()

    @property
    def is_dead(self) -> bool:
        """Whether the loop was closed, so that nobody will ever give this place up."""
        return self._loop.is_closed()

    def wake(self) -> None:
        """Make the waiting coroutine look at its position again; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._moved.set)

    async def next_move(self) -> None:
        """Return when the line may have moved."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_AGAIN_S):
                await self._moved.wait()
        self._moved.clear()


class WaitingLine:
    """Places in order of arrival; whoever stands first is served. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets: list[Ticket] = []
        self._is_closed = False

    def join(self) -> Ticket:
        """Take the last place, for the running loop."""
        ticket = Ticket(asyncio.get_running_loop())
        with self._lock:
            self._tickets.append(ticket)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Give a place up, wherever it stands. Giving it up twice is fine."""
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)
            behind = list(self._tickets)
        for each in behind:
            each.wake()

    def close(self) -> None:
        """Serve nobody any more: who waits, now or later, gets an error."""
        self._is_closed = True
        with self._lock:
            waiting = list(self._tickets)
        for each in waiting:
            each.wake()

    def forget(self) -> None:
        """Start empty, in a fork: who waits does so in the parent, and a thread of the parent's may hold the lock."""
        self._lock = threading.Lock()
        self._tickets = []

    def ahead(self, ticket: Ticket) -> int:
        """Return how many are served before this one; 0 means that it is its turn."""
        with self._lock:
            self._tickets = [each for each in self._tickets if each is ticket or not each.is_dead]
            return self._tickets.index(ticket)

    async def wait(self, ticket: Ticket, on_position: Callable[[int], None]) -> None:
        """Return when it is this one's turn; ``on_position`` gets the number of requests ahead whenever it changes.

        Raises ``ProviderError`` when the line is closed.
        """
        told = 0
        while (ahead := self.ahead(ticket)) > 0 and not self._is_closed:
            if ahead != told:
                told = ahead
                on_position(ahead)
            await ticket.next_move()
        if self._is_closed:
            raise service_closed()
