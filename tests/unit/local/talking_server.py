"""A loopback server that says exactly what a test wants, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any


def answer(body: bytes | object, *, status: str = "200 OK", headers: Sequence[str] = ()) -> bytes:
    """Return a whole HTTP answer; a body that is no bytes is written as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(raw)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + raw


def models(*entries: Any) -> bytes:
    """Return a model list."""
    return answer({"object": "list", "data": list(entries)})


@contextlib.asynccontextmanager
async def talking(*pieces: bytes, pause_s: float = 0.0, ends: bool = True) -> AsyncIterator[tuple[int, list[str]]]:
    """Serve the pieces to everybody, with a pause before each; gives the port and the requests' heads.

    ``ends`` says whether the connection is closed after the last piece.
    """
    heads: list[str] = []
    open_ones: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for piece in pieces:
                await asyncio.sleep(pause_s)
                writer.write(piece)
                await writer.drain()
            if ends:
                writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()
        for writer in open_ones:
            writer.close()
        await asyncio.sleep(0)
