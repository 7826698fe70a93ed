"""Blocking calls of strangers, each in a thread of its own: one that never returns holds nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_own_thread(call: Callable[[], T], *, name: str) -> T:
    """Return what a blocking call returns, and raise what it raises.

    Cancelling leaves the call running in its thread, which neither the event loop's end nor the interpreter's waits
    for. Exceptions that would end the loop (``SystemExit``, ``StopIteration`` …) come as ``RuntimeError``.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            setter(value)

    def run() -> None:
        setter: Callable[[Any], None] = done.set_result
        value: Any
        try:
            value = context.run(call)
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who awaits
            setter, value = done.set_exception, _deliverable(error)
        # The loop may have ended meanwhile; then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, setter, value)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done


def _deliverable(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    made = RuntimeError(f"{type(error).__name__}: {error}".rstrip(": "))
    made.__cause__ = error
    return made
