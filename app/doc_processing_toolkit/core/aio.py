"""The stream object that callers iterate over: an async iterator that can be closed at any time, from any task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Generic, TypeVar

EventT = TypeVar("EventT")


class Closing:
    """Whether a stream was closed by its reader before its end; shared between the stream and the work behind it."""

    def __init__(self) -> None:
        self.is_closed = False

    def note(self) -> None:
        """Take down that the reader has closed the stream."""
        self.is_closed = True

    def explains(self, error: BaseException) -> bool:
        """Whether the work ended with this error because the stream was closed, not because of a failure."""
        return isinstance(error, GeneratorExit) or (self.is_closed and isinstance(error, asyncio.CancelledError))


class EventStream(Generic[EventT]):
    """An async iterator over a generator's events, also an async context manager.

    :meth:`aclose` ends the work behind it, even while another task waits for the next event: that task's loop
    simply ends. Cancelling the iterating task does the same and raises ``CancelledError`` there, once the clean-up ran.
    ``closing`` is told when the stream is closed before its end, before the work behind it is stopped.
    """

    def __init__(self, events: AsyncGenerator[EventT, None], closing: Closing | None = None) -> None:
        self._events = events
        self._closing = closing or Closing()
        self._reader: asyncio.Task[Any] | None = None
        self._left = asyncio.Event()
        self._ending = asyncio.Lock()
        self._is_closed = False
        self._is_cut = False

    def __aiter__(self) -> EventStream[EventT]:
        return self

    async def __anext__(self) -> EventT:
        if self._is_closed:
            raise StopAsyncIteration
        if self._reader is not None:
            raise RuntimeError("another task is already waiting for this stream's next event")
        reader = self._reader = asyncio.current_task()
        cancels = reader.cancelling() if reader is not None else 0
        try:
            event = await anext(self._events)
        except BaseException as error:
            is_ours = self._is_cut and reader is not None and reader.uncancel() <= cancels
            if not isinstance(error, asyncio.CancelledError):
                self._is_closed = True
            elif is_ours:
                raise StopAsyncIteration from None
            raise
        finally:
            self._reader = None
            self._left.set()
        if self._closing.is_closed:
            # Closed from inside the work, or while the work would not be cancelled.
            if self._is_cut and reader is not None:
                reader.uncancel()
            await self._end()
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> EventStream[EventT]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the stream and wait until what it used is released. Closing twice is fine."""
        if not self._is_closed:
            self._closing.note()
        self._is_closed = True
        reader = self._reader
        if reader is not None and reader is asyncio.current_task():
            # Called from inside the work, which cannot wait for its own end: it ends with its next event.
            return
        if reader is not None:
            self._left.clear()
            if not self._is_cut:
                self._is_cut = True
                reader.cancel()
            await self._left.wait()
        await self._end()

    async def _end(self) -> None:
        # A generator that is being closed must not be closed a second time meanwhile.
        async with self._ending:
            await self._events.aclose()
