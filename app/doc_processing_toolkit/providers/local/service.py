"""The local model as a service: requests take their turn, and the server behind them starts when first needed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local.backend import Backend, after_fork
from doc_processing_toolkit.providers.local.model import LocalModel
from doc_processing_toolkit.providers.local.process import ServerProcess
from doc_processing_toolkit.providers.local.startup import USUAL_LAUNCH, Launch, Startup
from doc_processing_toolkit.providers.local.template import TRANSCRIPT_STOP, TRANSCRIPT_TEMPLATE
from doc_processing_toolkit.providers.local.waiting import Ticket, WaitingLine

PACKAGED = LocalModel()


class Lease:
    """The right to send one request to the local server.

    ``base_url`` ends in ``/v1``; ``api_key`` goes into ``Authorization: Bearer``. ``request_fields`` belong into the
    request's body: they ask for the progress of the prompt, and for the cache unless the lease was asked to do without.
    ``stop`` are the stop strings that the model's template needs besides the request's own. ``context_tokens`` is the
    window. The server drops connections that are kept alive: use a client with ``max_keepalive_connections=0``.
    """

    def __init__(self, server: ServerProcess, *, cache_prompt: bool) -> None:
        self.base_url = server.base_url
        self.api_key = server.settings.api_key
        self.context_tokens = server.settings.context_tokens
        self.stop = TRANSCRIPT_STOP if server.settings.template == TRANSCRIPT_TEMPLATE else ()
        self.request_fields: dict[str, Any] = {"return_progress": True, "cache_prompt": cache_prompt}
        self.is_prompt_read = False

    def mark_prompt_read(self) -> None:
        """Note that the server is done with the prompt: it has sent the first token, or an answer that is an error.

        A lease that ends before that leaves a server behind which goes on reading, so it is ended and started again.
        """
        self.is_prompt_read = True


class LocalModelService:
    """Serves local models, one request at a time, with at most one server process.

    Usable from any thread and event loop. The server ends with this process, however that ends.
    """

    def __init__(self, launch: Launch = USUAL_LAUNCH) -> None:
        self._line = WaitingLine()
        self._backend = Backend(launch)
        self._is_closed = False
        after_fork(self._line, WaitingLine.forget)
        # Also at the interpreter's exit.
        weakref.finalize(self, self._backend.close)

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._is_closed

    def lease(
        self,
        model: LocalModel = PACKAGED,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cache_prompt: bool = True,
    ) -> AbstractAsyncContextManager[Lease]:
        """Return a context manager that gives a :class:`Lease` on a running server for ``model``.

        Entering waits for those who came earlier (progress ``waiting`` with the number of requests ahead), puts the
        weights together where they are not yet (``assembling_weights``, bytes) and starts the server where it does not
        run (``starting_model``). ``on_progress`` is called on the entering loop. ``cache_prompt=False`` makes equal
        requests give equal answers bit by bit, at the price of reading every prompt whole. Raises ``ProviderError``
        that says why the model cannot be had.
        """
        return _LeaseContext(self, model, on_progress, cache_prompt)

    def close(self) -> None:
        """End the server and turn away who waits. Returns when the process is gone; closing twice is fine."""
        self._is_closed = True
        self._line.close()
        self._backend.close()


class _LeaseContext(AbstractAsyncContextManager[Lease]):
    """Entering and leaving may happen in different tasks; leaving never waits."""

    def __init__(
        self,
        service: LocalModelService,
        model: LocalModel,
        on_progress: Callable[[Progress], None] | None,
        cache_prompt: bool,
    ) -> None:
        # Kept, because a service that nobody holds any more ends its server.
        self._service = service
        self._line = service._line
        self._backend = service._backend
        self._model = model
        self._on_progress = on_progress
        self._cache_prompt = cache_prompt
        self._ticket: Ticket | None = None
        self._startup: Startup | None = None
        self._lease: Lease | None = None

    async def __aenter__(self) -> Lease:
        if self._ticket is not None:
            raise RuntimeError("a lease can be entered once; ask the service for another")
        ticket = self._ticket = self._line.join()
        try:
            await self._line.wait(ticket, self._report_position)
            server = await self._running_server()
        except BaseException:
            self._line.leave(ticket)
            raise
        self._lease = Lease(server, cache_prompt=self._cache_prompt)
        return self._lease

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._startup is not None and self._lease is not None and not self._lease.is_prompt_read:
                self._backend.replace(self._startup)
        finally:
            if self._ticket is not None:
                self._line.leave(self._ticket)

    async def _running_server(self) -> ServerProcess:
        startup = self._startup = self._backend.request(self._model)
        if startup.server.done():
            return startup.server.result()
        relay = _Relay(asyncio.get_running_loop(), self._on_progress)
        startup.watch(relay.pass_on)
        try:
            return await asyncio.wrap_future(startup.server)
        finally:
            startup.unwatch(relay.pass_on)
            relay.stop()

    def _report_position(self, ahead: int) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress("waiting", done=ahead, unit="requests"))


class _Relay:
    """Hands progress from other threads to a callback on one event loop, until it is stopped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, receive: Callable[[Progress], None] | None) -> None:
        self._loop = loop
        self._receive = receive

    def pass_on(self, progress: Progress) -> None:
        if self._receive is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is interested any more
                self._loop.call_soon_threadsafe(self._deliver, progress)

    def stop(self) -> None:
        self._receive = None

    def _deliver(self, progress: Progress) -> None:
        if self._receive is not None:
            self._receive(progress)


_shared: LocalModelService | None = None
_shared_lock = threading.Lock()


def shared_service() -> LocalModelService:
    """Return the process's own service, made when first asked for, and anew after it was closed.

    The one singleton: a machine has memory for one model, so all agents of a process wait in one line.
    """
    global _shared
    with _shared_lock:
        if _shared is None or _shared.is_closed:
            _shared = LocalModelService()
        return _shared
