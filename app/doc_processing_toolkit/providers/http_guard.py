"""What bounds a response: the longest event of a stream and the longest body that are read into memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Self

import httpx2

LONGEST_EVENT_BYTES = 32 * 1024 * 1024
LONGEST_BODY_BYTES = 256 * 1024 * 1024
_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")


class ResponseTooLargeError(httpx2.RemoteProtocolError):
    """A response that is larger than any answer can be; asking again would bring it again."""


def guarded(response: httpx2.Response) -> httpx2.AsyncByteStream:
    """Return the response's stream under the limits; events are counted where the server says it sends events."""
    sends_events = response.headers.get("content-type", "").partition(";")[0].strip() == "text/event-stream"
    stream = response.stream
    if not isinstance(stream, httpx2.AsyncByteStream):
        raise TypeError(f"an asynchronous client's response has a {type(stream).__name__}")
    return _Guarded(stream, response.request, LONGEST_EVENT_BYTES if sends_events else LONGEST_BODY_BYTES)


class _Guarded(httpx2.AsyncByteStream):
    """Passes chunks on until a limit is passed, then raises :class:`ResponseTooLargeError`."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, longest_event: int) -> None:
        self._stream = stream
        self._request = request
        self._longest_event = longest_event
        self._chunks: AsyncIterator[bytes] | None = None
        self._total = 0
        self._event = 0
        self._tail = b""

    def __aiter__(self) -> Self:
        self._chunks = aiter(self._stream)
        return self

    async def __anext__(self) -> bytes:
        if self._chunks is None:
            raise RuntimeError("the stream is iterated with async for")
        chunk = await anext(self._chunks)
        self._count(chunk)
        return chunk

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _count(self, chunk: bytes) -> None:
        seen = self._tail + chunk
        self._tail = seen[-3:]
        self._total += len(chunk)
        end = max(seen.rfind(blank) + len(blank) if blank in seen else 0 for blank in _BLANK_LINES)
        self._event = len(seen) - end if end else self._event + len(chunk)
        if self._event > self._longest_event:
            raise self._too_long(f"a piece of more than {self._longest_event >> 20} MiB")
        if self._total > LONGEST_BODY_BYTES:
            raise self._too_long(f"more than {LONGEST_BODY_BYTES >> 20} MiB")

    def _too_long(self, what: str) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"the server sent {what}", request=self._request)
