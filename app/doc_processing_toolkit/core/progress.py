"""Progress out of work that is being awaited: reports from any thread become events while the work runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

from doc_processing_toolkit.core.events import Progress

ResultT = TypeVar("ResultT")


class WatchedWork(Generic[ResultT]):
    """Work that reports progress. Iterate over :meth:`reports`, then take :attr:`result`.

    ``undo`` is awaited with the result when the watching ends (is cancelled or closed) after the work had finished
    but before its result could be taken, so that nothing which the work opened stays open.
    """

    def __init__(
        self,
        start: Callable[[Callable[[Progress], None]], Awaitable[ResultT]],
        *,
        undo: Callable[[ResultT], Awaitable[object]] | None = None,
    ) -> None:
        self._start = start
        self._undo = undo
        self._queue: asyncio.Queue[Progress | None] = asyncio.Queue()
        self._task: asyncio.Task[ResultT] | None = None

    @property
    def result(self) -> ResultT:
        """What the work returned; raises what it raised."""
        if self._task is None:
            raise RuntimeError("the work has not been started")
        return self._task.result()

    async def reports(self) -> AsyncGenerator[Progress, None]:
        """Yield the reports while the work runs. Ends when it ends; closing or cancelling this stops the work."""
        loop = asyncio.get_running_loop()

        def report(progress: Progress) -> None:
            loop.call_soon_threadsafe(self._queue.put_nowait, progress)

        async def run() -> ResultT:
            try:
                return await self._start(report)
            finally:
                # Behind the reports that are still on their way.
                loop.call_soon(self._queue.put_nowait, None)

        self._task = task = asyncio.ensure_future(run())
        try:
            while (progress := await self._queue.get()) is not None:
                yield progress
            await asyncio.wait([task])
        except BaseException:
            await self._stop(task)
            raise

    async def _stop(self, task: asyncio.Task[ResultT]) -> None:
        task.cancel()
        await asyncio.wait([task])
        if self._undo is not None and not task.cancelled() and task.exception() is None:
            await self._undo(task.result())
