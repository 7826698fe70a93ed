"""A chat-completions server on the loopback for tests: it answers from a script and records what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Status:
    """An error answer, with a JSON body (or plain text)."""

    code: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Inside a stream: nothing comes for this long."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """Inside a stream, or as a whole reply: the connection is torn down here."""


@dataclass(frozen=True)
class Stream:
    """A streamed answer: text pieces, raw chunks (dicts), raw lines (bytes), ``Wait`` and ``Drop``.

    With ``finish=None`` the body ends cleanly without the terminal event.
    """

    pieces: list[Any]
    finish: str | None = "stop"
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7})


@dataclass
class Asked:
    """One request: its path, headers (names in lower case), and JSON body; when the client closed the connection."""

    path: str
    headers: dict[str, str]
    body: Any
    at: float
    closed_at: float | None = None


class ChatServer:
    """Serves on 127.0.0.1, in a thread of its own. ``replies`` are used up in order; the last one repeats."""

    def __init__(self, replies: Iterable[Any]) -> None:
        self.replies = list(replies)
        self.asked: list[Asked] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def wait_closed(self, index: int = -1, timeout: float = 5.0) -> float:
        """Return when the client closed the connection of a request, as ``time.monotonic()``."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.asked and self.asked[index].closed_at is not None:
                return float(self.asked[index].closed_at)
            time.sleep(0.002)
        raise AssertionError("the client did not close the connection")

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 28))
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0.01))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            asked = await self._read(reader)
            self.asked.append(asked)
            watcher = asyncio.ensure_future(self._watch(reader, asked))
            try:
                await self._answer(self.replies[min(len(self.asked), len(self.replies)) - 1], writer)
            finally:
                await writer.drain()
                writer.close()
                await asyncio.sleep(0)
                watcher.cancel()
        writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Asked(head[0].split(" ")[1], headers, json.loads(body) if body else None, time.monotonic())

    async def _watch(self, reader: asyncio.StreamReader, asked: Asked) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await reader.read(1)
            asked.closed_at = time.monotonic()

    async def _answer(self, reply: Any, writer: asyncio.StreamWriter) -> None:
        match reply:
            case Drop():
                writer.transport.abort()
            case Status():
                self._status(reply, writer)
            case str():
                await self._stream(Stream([reply]), writer)
            case Stream():
                await self._stream(reply, writer)
            case _:
                raise TypeError(f"no reply: {reply!r}")

    def _status(self, reply: Status, writer: asyncio.StreamWriter) -> None:
        is_text = isinstance(reply.body, str)
        body = reply.body.encode() if is_text else json.dumps(reply.body).encode()
        headers = {
            "Content-Type": "text/plain" if is_text else "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **reply.headers,
        }
        lines = [f"HTTP/1.1 {reply.code} Reason", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def _stream(self, reply: Stream, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await writer.drain()
        for piece in reply.pieces:
            match piece:
                case Wait():
                    await asyncio.sleep(piece.seconds)
                case Drop():
                    await asyncio.sleep(0.02)
                    writer.transport.abort()
                    return
                case bytes():
                    writer.write(piece)
                case str():
                    writer.write(line(chunk({"content": piece})))
                case _:
                    writer.write(line(piece))
            await writer.drain()
        if reply.finish is not None:
            writer.write(line(chunk({}, finish=reply.finish)))
            if reply.usage is not None:
                writer.write(line({"model": "served-model", "choices": [], "usage": reply.usage}))
            writer.write(b"data: [DONE]\n\n")
        await writer.drain()


def chunk(delta: dict[str, Any], *, finish: str | None = None, **extra: Any) -> dict[str, Any]:
    """Return a chat-completions chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "served-model",
        "choices": [choice],
        **extra,
    }


def line(data: Any) -> bytes:
    """Return a chunk as a line of the stream."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def tool_call(name: str, arguments: str, *, id: str = "call_1", index: int = 0) -> dict[str, Any]:
    """Return a chunk with a whole tool call."""
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
