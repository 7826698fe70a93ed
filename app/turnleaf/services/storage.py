"""Small files, written in order off the event loop, and moved aside when they cannot be read."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from doc_processing_toolkit.core.durable import sync_folder, write_atomically

T = TypeVar("T")

_LEFTOVER = re.compile(r"\.[0-9a-f]{16}\.tmp")


def closed_error() -> OSError:
    """Return the error of a write to what was closed: it never counts as written."""
    return OSError(errno.EBADF, "it was closed already")


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as JSON, durably. Blocking. Any text survives, lone surrogates too."""
    write_atomically(path, (json.dumps(value, allow_nan=False, indent=1).encode("ascii"),))


def move_aside(path: Path) -> Path:
    """Rename a damaged file to ``<name>.damaged-<time>`` and return where it is now. Raises ``OSError``."""
    target = _aside(path)
    os.replace(path, target)
    return target


def keep_damaged(path: Path) -> Path:
    """Copy a damaged file to ``<name>.damaged-<time>`` and return the copy. Raises ``OSError``."""
    target = _aside(path)
    second_name(path, target)
    return target


def second_name(source: Path, target: Path) -> None:
    """Give a file a second name, atomically: a link where the disk can, else a copy. Raises ``OSError``.

    For files that are only ever replaced, never written into; for those a link is as good as a copy.
    """
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
            temporary.chmod(0o600)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def remove_leftovers(folder: Path, *, before: float) -> int:
    """Delete the temporary files of processes that were killed: those last changed before `before` (epoch seconds)."""
    count = 0
    for entry in folder.iterdir() if folder.is_dir() else ():
        if _LEFTOVER.fullmatch(entry.name):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_ctime < before:
                    entry.unlink()
                    count += 1
    return count


def _aside(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for suffix in ("", *(f"-{count}" for count in range(2, 1000))):
        target = path.with_name(f"{path.name}.damaged-{stamp}{suffix}")
        if not target.exists():
            return target
    raise FileExistsError(errno.EEXIST, "too many damaged copies", str(path))


class OrderedWriter:
    """Runs blocking writes off the event loop, one after the other; a cancelled caller does not cancel its write."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._is_closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` after all earlier ones and return what it returns. Raises ``OSError`` once it is closed."""
        if self._is_closed:
            raise closed_error()
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, work))

    def close(self) -> None:
        """End the thread once it has done what it was given; harmless when it was closed before."""
        self._is_closed = True
        self._thread.shutdown(wait=False)


class DelayedWrite:
    """Calls an async write soon: at most `delay_s` after the first mark, again when something changed meanwhile.

    A write that fails is tried again after `retry_s`. Lives on the event loop's thread.
    """

    def __init__(self, write: Callable[[], Any], *, retry_s: float = 3.0) -> None:
        self._write = write
        self._retry_s = retry_s
        self._timer: asyncio.Handle | None = None
        self._due_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def mark(self, delay_s: float) -> None:
        """Say that there is something to write, at the latest in `delay_s` seconds."""
        loop = asyncio.get_running_loop()
        due_at = loop.time() + delay_s
        if self._timer is not None:
            if self._due_at <= due_at:
                return
            self._timer.cancel()
        self._due_at = due_at
        self._timer = loop.call_later(delay_s, self._start)

    @property
    def is_due(self) -> bool:
        """Whether something is to be written soon."""
        return self._timer is not None

    def settle(self) -> None:
        """Forget what is due, because the caller writes now, or never."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def finish(self) -> None:
        """Wait for the write that is running, without starting another."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def _start(self) -> None:
        self._timer = None
        if self._task is not None:
            # One at a time: a slow disk gets fewer writes, not a queue of them.
            self.mark(0.02)
            return
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            if not await self._write():
                self.mark(self._retry_s)
        finally:
            self._task = None
