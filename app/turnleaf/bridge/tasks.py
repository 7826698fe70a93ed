"""Task ownership: every coroutine that is started has an owner, which ends it and hears of its failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

FailureHandler = Callable[[BaseException], None]


class TaskOwner:
    """Owns the tasks of one part of the app. A failure goes to `on_failure`; cancellation is not a failure."""

    def __init__(self, name: str, on_failure: FailureHandler) -> None:
        self._name = name
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start `work` on the running loop and keep it until it ends."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    @property
    def running(self) -> int:
        """How many of this owner's tasks have not ended."""
        return len(self._tasks)

    async def close(self, timeout_s: float | None = None) -> bool:
        """Cancel every task and wait for them, at most `timeout_s`; return whether all have ended."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if not tasks:
            return True
        _, pending = await asyncio.wait(tasks, timeout=timeout_s)
        for task in pending:
            log.warning("task %s did not end in time", task.get_name())
        return not pending

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            log.error("task %s failed: %s", task.get_name(), type(failure).__name__, exc_info=failure)
            self._on_failure(failure)
