"""Reading the events of a stream: each ``data:`` line's JSON, without reading anything twice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

# What is no event is read for the error that it may be, up to this size.
LONGEST_OTHER_BYTES = 1 << 20


async def events(response: httpx2.Response) -> AsyncGenerator[Any, None]:
    """Yield the JSON value of each event. Raises ``ValueError`` for what is no JSON.

    A body that is no event stream is taken as one JSON value; the items of an array are events. The SDK's own reader
    decodes each event twice and walks through anything else character by character.
    """
    lines, other = _Lines(), _Other()
    data: list[bytes] = []
    async with contextlib.aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            for line in lines.feed(chunk):
                if line.startswith(b"data:"):
                    data.append(line[5:])
                elif line:
                    other.take(line)
                elif data:
                    yield _value(data)
                    data = []
            other.check(lines.begun)
    last = b"".join(lines.begun)
    if last.startswith(b"data:"):
        data.append(last[5:])
    elif last:
        other.take(last)
    if data:
        yield _value(data)
    for value in other.values():
        yield value


class _Lines:
    """Cuts a byte stream into lines, which end with CR, LF or both; ``begun`` is what stands behind the last end."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self._after_return = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_return = False
        if not chunk:
            return []
        self._after_return = chunk.endswith(b"\r")
        lines = chunk.splitlines()
        unfinished = None if chunk.endswith((b"\r", b"\n")) else lines.pop()
        if lines and self.begun:
            lines[0] = b"".join([*self.begun, lines[0]])
            self.begun = []
        if unfinished is not None:
            self.begun.append(unfinished)
        return lines


class _Other:
    """What comes beside events, kept as far as it can be an error's JSON."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0

    def take(self, line: bytes) -> None:
        if not line.startswith((b":", b"event:", b"id:", b"retry:")):
            self._lines.append(line)
            self._grow(len(line))

    def check(self, begun: list[bytes]) -> None:
        """Raise ``ValueError`` for a line that is no event and does not end."""
        if begun and not b"".join(begun[:5]).startswith(b"data:"):
            self._grow(len(begun[-1]))

    def values(self) -> list[Any]:
        if not self._lines:
            return []
        value = _value(self._lines)
        return value if isinstance(value, list) else [value]

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_OTHER_BYTES:
            raise ValueError("the answer is no event stream")


def _value(data: list[bytes]) -> Any:
    return json.loads(b"\n".join(data).decode("utf-8", "replace"))
