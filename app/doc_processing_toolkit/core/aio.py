"""The stream object that callers iterate over: an async iterator that can be closed at any time, from any task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Generic, TypeVar

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
        self._step: asyncio.Task[EventT] | None = None
        self._is_closed = False

    def __aiter__(self) -> EventStream[EventT]:
        return self

    async def __anext__(self) -> EventT:
        if self._is_closed:
            raise StopAsyncIteration
        if self._step is not None:
            raise RuntimeError("another task is already waiting for this stream's next event")
        # A task of its own, so that aclose() can stop this step without cancelling the caller.
        step = self._step = asyncio.ensure_future(_next(self._events))
        try:
            return await step
        except asyncio.CancelledError:
            if self._closing.is_closed and not _is_being_cancelled():
                raise StopAsyncIteration from None
            raise
        except BaseException:
            self._is_closed = True
            raise
        finally:
            self._step = None

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
        step = self._step
        if step is not None:
            step.cancel()
            await asyncio.wait([step])
        await self._events.aclose()


async def _next(events: AsyncGenerator[EventT, None]) -> EventT:
    return await anext(events)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
