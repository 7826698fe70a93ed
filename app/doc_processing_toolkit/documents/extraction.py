"""The one way in: a file or bytes become text, in a process of their own, without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from doc_processing_toolkit.documents.document import DocumentText
from doc_processing_toolkit.documents.endings import fault
from doc_processing_toolkit.documents.limits import ExtractionLimits, ExtractionProgress
from doc_processing_toolkit.documents.names import display_name
from doc_processing_toolkit.documents.process import WorkerProcess
from doc_processing_toolkit.documents.protocol import Request, path_to_text
from doc_processing_toolkit.documents.slots import Begin, Slots

_DEFAULT_LIMITS = ExtractionLimits()
# One for all event loops of the application: they share its processors. Each process may take much memory, so that
# many processors do not mean as many processes.
_slots = Slots(min(max(os.cpu_count() or 2, 2), 8))
# A process that was killed is gone at once, unless it waits for a disk that does not answer.
_LONGEST_FAREWELL_S = 1.0


async def extract(
    source: Path | bytes,
    *,
    name: str | None = None,
    limits: ExtractionLimits = _DEFAULT_LIMITS,
    on_progress: Callable[[ExtractionProgress], None] | None = None,
) -> DocumentText:
    """Return the text of a PDF or of a text file in any encoding.

    ``name`` is the file's name (by default the path's last part); the bytes, not the name, decide what it is.
    ``on_progress`` is called on the event loop. Cancelling kills the process at once. Of many documents, about as many
    are read at once as there are processors; the time limit does not count the wait. Raises ``DocumentError``; its
    ``code`` is one of ``DocumentErrorCode``.
    """
    reading = _Reading(_request(source, name, limits), source if isinstance(source, bytes) else None, on_progress)
    return await reading.result()


class _Reading:
    """One document on its way: it waits for a slot, is read in a thread that watches the process, and can be left."""

    def __init__(
        self, request: Request, data: bytes | None, on_progress: Callable[[ExtractionProgress], None] | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[DocumentText] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._name = request.name
        self._on_progress = on_progress
        self._worker = WorkerProcess(request, data, self._report)
        # Kept, because a bound method is a new object each time and the slots know a piece of work by its own.
        self._begun: Begin = self._begin

    async def result(self) -> DocumentText:
        """Return the text. Leaving early kills the process and waits until it is gone."""
        _slots.take(self._begun)
        try:
            return await self._outcome
        except asyncio.CancelledError:
            if not self._leave():
                await asyncio.wait({self._ended}, timeout=_LONGEST_FAREWELL_S)
            raise
        finally:
            self._leave()

    def _begin(self) -> bool:
        try:
            threading.Thread(target=self._run, name="document reader", daemon=True).start()
        except RuntimeError as exc:
            error = fault(self._name, f"it cannot be started: {exc}")
            self._tell(lambda: None if self._outcome.done() else self._outcome.set_exception(error))
            return False
        return True

    def _run(self) -> None:
        settle = _run(self._worker)
        _slots.give_back()
        self._tell(lambda: None if self._outcome.done() else settle(self._outcome))
        self._tell(lambda: None if self._ended.done() else self._ended.set_result(None))

    def _report(self, progress: ExtractionProgress) -> None:
        callback = self._on_progress
        if callback is not None:
            self._tell(lambda: None if self._outcome.done() else callback(progress))

    def _tell(self, callback: Callable[[], None]) -> None:
        # A loop that is closed has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    def _leave(self) -> bool:
        """Kill the worker, and return whether it was still waiting for its turn."""
        self._worker.stop()
        return _slots.forgo(self._begun)


def _run(worker: WorkerProcess) -> Callable[[asyncio.Future[DocumentText]], None]:
    """Let the worker run to its end; return what tells a future how it ended."""
    try:
        document = worker.run()
    except BaseException as exc:  # noqa: BLE001 - whatever it is, the one who waits must get it
        error = exc
        return lambda outcome: outcome.set_exception(error)
    return lambda outcome: outcome.set_result(document)


def _request(source: Path | bytes, name: str | None, limits: ExtractionLimits) -> Request:
    if name is None:
        name = "document" if isinstance(source, bytes) else source.name or str(source)
    return Request(
        name=display_name(name),
        file_name=name,
        path=None if isinstance(source, bytes) else path_to_text(_absolute(source)),
        octets=len(source) if isinstance(source, bytes) else 0,
        seconds=limits.seconds,
        memory_bytes=limits.memory_bytes,
        source_bytes=limits.source_bytes,
        pages=limits.pages,
        characters=limits.characters,
    )


def _absolute(path: Path) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        # The current folder was deleted; the worker will not find the file in it either, and says so.
        return str(path)
