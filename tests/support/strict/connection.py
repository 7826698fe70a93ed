"""One HTTP/1.1 connection of the loopback server: requests in, bytes out, and the moment at which the client left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True)
class HttpRequest:
    """A request as it came: method, path with query, lower-case headers, the whole body."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class ClientLeftError(Exception):
    """The client closed the connection while the answer was being sent."""


class Connection(asyncio.Protocol):
    """Parses requests, hands each to `serve`, keeps the connection open between them.

    `gone` is set, and `gone_at` holds `time.monotonic()`, as soon as the client closes its side.
    """

    def __init__(self, serve: Callable[[Connection, HttpRequest], Awaitable[None]], opened: set[Connection]) -> None:
        self._serve = serve
        self._opened = opened
        self._buffer = bytearray()
        self._more = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self.gone = asyncio.Event()
        self.gone_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to read requests."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes) -> None:
        """Take bytes in."""
        self._buffer += data
        self._more.set()

    def eof_received(self) -> bool:
        """The client will send no more: for an HTTP client this means that it left."""
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over, from either side."""
        self._leave()
        self._opened.discard(self)

    def pause_writing(self) -> None:
        """The client reads slower than the server writes."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable.set()

    def _leave(self) -> None:
        if self.gone_at is None:
            self.gone_at = time.monotonic()
        self.gone.set()
        self._more.set()
        self._writable.set()

    async def _run(self) -> None:
        try:
            while not self.gone.is_set():
                request = await self._read_request()
                await self._serve(self, request)
        except (ClientLeftError, asyncio.CancelledError):
            pass
        finally:
            self.close()

    async def _read_request(self) -> HttpRequest:
        while (end := self._buffer.find(_HEAD_END)) < 0:
            await self._wait_for_bytes()
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + len(_HEAD_END)]
        method, target, _ = lines[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await self._read_chunks()
        else:
            body = await self._read_exactly(int(headers.get("content-length", "0")))
        return HttpRequest(method, target, headers, body)

    async def _read_exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            await self._wait_for_bytes()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            while (end := self._buffer.find(b"\r\n")) < 0:
                await self._wait_for_bytes()
            size = int(await self._read_exactly(end + 2), 16)
            body += await self._read_exactly(size)
            await self._read_exactly(2)
            if size == 0:
                return bytes(body)

    async def _wait_for_bytes(self) -> None:
        self._more.clear()
        if self.gone.is_set():
            raise ClientLeftError
        await self._more.wait()
        if self.gone.is_set():
            raise ClientLeftError

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting while the client is behind. Raises `ClientLeftError`."""
        if self.gone.is_set() or self._transport is None:
            raise ClientLeftError
        self._transport.write(data)
        await self._writable.wait()

    async def send_head(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the status line and the headers."""
        lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers)]
        await self.send("\r\n".join(lines).encode("latin-1", "replace") + _HEAD_END)

    async def send_chunk(self, data: bytes) -> None:
        """Send one chunk of a chunked body."""
        if data:
            await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def end_chunks(self) -> None:
        """End a chunked body."""
        await self.send(b"0\r\n\r\n")

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond the client: raises `ClientLeftError` at once when it goes."""
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            try:
                await asyncio.wait_for(self.gone.wait(), seconds)
            except TimeoutError:
                return
        if self.gone.is_set():
            raise ClientLeftError

    def reset(self) -> None:
        """Cut the connection without ceremony, as a crashed server would."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close after what is already written."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def stop(self) -> None:
        """End the connection and the task that serves it (the server is going down)."""
        if self._task is not None:
            self._task.cancel()
        self.reset()
