"""The HTTP clients that the adapters share: one per event loop and kind of address, closed with its loop."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import ssl
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 600.0
KEPT_ALIVE_S = 60.0
# What the first request would load otherwise, on the event loop.
_LOADED_LATE = (
    "httpcore2",
    "httpcore2._backends.auto",
    "httpcore2._backends.anyio",
    "anyio._backends._asyncio",
    "doc_processing_toolkit.providers.http_guard",
)

_Kind = tuple[bool, bool]


class _Shared:
    """The clients of one loop. ``closer`` is an async generator: a loop that ends closes it, and it the clients."""

    def __init__(self) -> None:
        self.clients: dict[_Kind, httpx2.AsyncClient] = {}
        self.closer: AsyncGenerator[None, None] | None = None


_lock = threading.Lock()
_shared: dict[asyncio.AbstractEventLoop, _Shared] = {}
_tls: ssl.SSLContext | None = None
_kept: ContextVar[list[httpx2.Response] | None] = ContextVar("_kept", default=None)


async def shared_client(*, is_loopback: bool, is_encrypted: bool = True) -> httpx2.AsyncClient:
    """Return the running loop's client for addresses of this kind; do not close it.

    ``is_loopback`` addresses are reached without a proxy and without kept-alive connections (llama.cpp's server drops
    those without a word); ``is_encrypted=False`` spares a plain loopback address the reading of the certificates.
    Redirects are not followed. Give the timeouts with each request. A response with an event or a body without end
    breaks off with ``http_guard.ResponseTooLargeError``, an ``httpx2.RemoteProtocolError``.
    """
    loop = asyncio.get_running_loop()
    kind = (is_loopback, is_encrypted or not is_loopback)
    client = _client_of(loop, kind)
    if client is not None:
        return client
    tls = await asyncio.to_thread(_prepare, kind[1])
    # Another task may have been first.
    return _client_of(loop, kind) or await _new_client(loop, kind, tls)


@contextlib.contextmanager
def kept_responses() -> Iterator[list[httpx2.Response]]:
    """Collect the responses whose headers arrive inside the block, for a caller whose SDK does not hand them out.

    Whoever collects them closes them. Do not yield from a generator inside the block.
    """
    responses: list[httpx2.Response] = []
    token = _kept.set(responses)
    try:
        yield responses
    finally:
        _kept.reset(token)


def _client_of(loop: asyncio.AbstractEventLoop, kind: _Kind) -> httpx2.AsyncClient | None:
    with _lock:
        shared = _shared.get(loop)
        return shared.clients.get(kind) if shared is not None else None


async def _new_client(loop: asyncio.AbstractEventLoop, kind: _Kind, tls: ssl.SSLContext | None) -> httpx2.AsyncClient:
    client = _make_client(is_loopback=kind[0], tls=tls)
    with _lock:
        for stale in [each for each in _shared if each.is_closed()]:
            del _shared[stale]
        shared = _shared.setdefault(loop, _Shared())
        shared.clients[kind] = client
        is_new, shared.closer = shared.closer is None, shared.closer or _closer(loop)
    if is_new:
        # Begun, it is on the loop's list of generators, which asyncio.run and Runner close before the loop.
        await anext(shared.closer)
    return client


async def _closer(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        with _lock:
            shared = _shared.pop(loop, _Shared())
        for client in shared.clients.values():
            await client.aclose()


def _prepare(needs_tls: bool) -> ssl.SSLContext | None:
    """Load the HTTP client and read the certificates: 100 ms and more, so this runs in a thread."""
    global _tls
    for name in ("httpx2", *_LOADED_LATE):
        importlib.import_module(name)
    if not needs_tls:
        return None
    if _tls is None:
        _tls = sys.modules["httpx2"].create_ssl_context()
    return _tls


def _make_client(*, is_loopback: bool, tls: ssl.SSLContext | None) -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=0 if is_loopback else 20,
            keepalive_expiry=KEPT_ALIVE_S,
        ),
        # Unpacking would hold small pieces back, and hide how large a response is.
        headers={"Accept-Encoding": "identity"},
        verify=tls if tls is not None else False,
        trust_env=not is_loopback,
        follow_redirects=False,
        event_hooks={"response": [_received]},
    )


async def _received(response: httpx2.Response) -> None:
    from doc_processing_toolkit.providers.http_guard import guarded

    kept = _kept.get()
    if kept is not None:
        kept.append(response)
    response.stream = guarded(response)
