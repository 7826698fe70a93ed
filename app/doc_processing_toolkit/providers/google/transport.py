"""How the SDK's requests leave: through the running loop's shared HTTP client, large bodies in pieces.

Loaded with the SDK, in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextvars import ContextVar

import httpx2

from doc_processing_toolkit.providers.http import CONNECT_TIMEOUT_S, shared_client

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_PIECE = 1 << 20
_LARGE_PIECE = 1 << 16
_UPLOAD_COMMAND, _UPLOAD_STATUS = "x-goog-upload-command", "x-goog-upload-status"

_body: ContextVar[Sequence[bytes] | None] = ContextVar("_body", default=None)


@contextlib.contextmanager
def sending(pieces: Sequence[bytes]) -> Iterator[None]:
    """Send these pieces as the body of the request that the SDK makes inside the block, in the place of its own."""
    token = _body.set(pieces)
    try:
        yield
    finally:
        _body.reset(token)


def sdk_http_client() -> httpx2.AsyncClient:
    """Return the HTTP client for the SDK. It holds no connection, belongs to no loop and need not be closed."""
    # Unpacking would hold small pieces back.
    return httpx2.AsyncClient(
        transport=_SharedTransport(), trust_env=False, follow_redirects=False, headers={"Accept-Encoding": "identity"}
    )


def unused_http_client() -> httpx2.Client:
    """Return a client that sends nothing, for the SDK's blocking calls, which are not used."""
    return httpx2.Client(transport=_NoTransport(), trust_env=False)


class _NoTransport(httpx2.BaseTransport):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.UnsupportedProtocol("the SDK's blocking calls are not used here", request=request)


class _SharedTransport(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        client = await shared_client(
            is_loopback=request.url.host in _LOOPBACK, is_encrypted=request.url.scheme == "https"
        )
        response = await client.send(await _rebuilt(request), stream=True)
        if _UPLOAD_COMMAND in request.headers and _UPLOAD_STATUS not in response.headers:
            # The SDK would send the piece twice more, seven seconds long; retries are the agent's own.
            response.headers[_UPLOAD_STATUS] = "cancelled"
        return response


async def _rebuilt(request: httpx2.Request) -> httpx2.Request:
    """Return the request with the body that is to be sent, in pieces, and with a short time to connect."""
    given = _body.get()
    own = await request.aread() if given is None else b""
    size = len(own) if given is None else sum(map(len, given))
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    if size or request.method != "GET":
        headers.append((b"Content-Length", str(size).encode()))
    extensions = dict(request.extensions)
    extensions["timeout"] = {**extensions.get("timeout", {}), "connect": CONNECT_TIMEOUT_S}
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=_sent(_cut(own) if given is None else given) if size else None,
        extensions=extensions,
    )


def _cut(body: bytes) -> Iterator[bytes]:
    view = memoryview(body)
    return (bytes(view[start : start + _PIECE]) for start in range(0, len(view), _PIECE))


async def _sent(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        if len(piece) > _LARGE_PIECE:
            await asyncio.sleep(0)
