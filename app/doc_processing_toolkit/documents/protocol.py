"""The pipe between the application and a worker process: one JSON object a line, text in pieces.

The request goes in with its length before it (``write_request``, ``read_request``), then, where the source is bytes,
the bytes themselves. Out come messages, told apart by ``"type"``: ``ready``, ``progress``, ``text``, ``section``, and
last ``done``, ``error`` (a sentence for the user) or ``fault`` (of ours).
"""

from __future__ import annotations

import json
import os
from typing import IO, Any, NamedTuple, cast

# A piece of text is at most 240 KiB as UTF-8: parsing one holds the interpreter for well under 10 ms.
PIECE_CHARACTERS = 60_000
PIECE_BYTES = 1 << 20
LONGEST_LINE = 1 << 20
_LENGTH_BYTES = 4

# How the worker ends when it may not have more memory, and after a fault of ours.
EXIT_MEMORY = 79
EXIT_FAULT = 70

Message = dict[str, Any]


class Request(NamedTuple):
    """What the worker is to read: a file's ``path``, or ``octets`` bytes that follow on the pipe.

    ``name`` is what messages call it, ``file_name`` what it is really called. ``path`` holds the bytes of a POSIX
    path as characters below 256, so that a path that is no text survives whatever the locale of either side.
    """

    name: str
    file_name: str
    path: str | None
    octets: int
    seconds: float
    memory_bytes: int
    source_bytes: int
    pages: int
    characters: int


class ProtocolError(Exception):
    """What came over the pipe is no message."""


def path_to_text(path: str) -> str:
    """Return a path as it stands in a request."""
    return path if os.name == "nt" else os.fsencode(path).decode("latin-1")


def path_from_text(text: str) -> str | bytes:
    """Return the path of a request, to be opened."""
    return text if os.name == "nt" else text.encode("latin-1")


def write_request(stream: IO[bytes], request: Request) -> None:
    """Send the request. The JSON is ASCII, so that lone surrogates in a name survive."""
    body = json.dumps(request._asdict()).encode("ascii")
    stream.write(len(body).to_bytes(_LENGTH_BYTES, "big") + body)
    stream.flush()


def read_request(stream: IO[bytes]) -> Request:
    """Return the request from an unbuffered ``stream``; ``EOFError`` when the other side is gone."""
    length = int.from_bytes(read_exactly(stream, _LENGTH_BYTES), "big")
    return Request(**json.loads(read_exactly(stream, length)))


def read_exactly(stream: IO[bytes], octets: int) -> bytes:
    """Return ``octets`` bytes of ``stream``; ``EOFError`` when it ends before."""
    pieces = []
    while octets:
        piece = stream.read(min(octets, PIECE_BYTES))
        if not piece:
            raise EOFError("the pipe was closed")
        pieces.append(piece)
        octets -= len(piece)
    return b"".join(pieces)


def encode_message(message: Message) -> bytes:
    """Return a message as one line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def decode_message(line: bytes) -> Message:
    """Return the message of a line; ``ProtocolError`` when it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise ProtocolError(f"no JSON: {exc}") from exc
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message without a type")
    return cast("Message", message)
