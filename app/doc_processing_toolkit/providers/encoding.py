"""Request bodies as bytes, in pieces: quick where texts are short, and never holding the loop where they are long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from doc_processing_toolkit.core.jsonpieces import json_pieces

# Roughly what is encoded in one step, in characters.
STEP_CHARACTERS = 1 << 19
_LARGE_BYTES = 1 << 16


async def encoded(body: Mapping[str, Any]) -> list[bytes]:
    """Return the JSON text of a JSON-clean body as pieces of UTF-8; the loop gets its turn between large ones.

    Lists (the messages of a request) are encoded some items at a time, and large items in pieces. Each piece costs a
    system call when it is sent, so small ones are joined.
    """
    pieces: list[bytes] = []
    small: list[bytes] = []
    for piece in _pieces(body):
        small.append(piece)
        if len(piece) > _LARGE_BYTES:
            pieces.append(b"".join(small))
            small = []
            await asyncio.sleep(0)
    return [*pieces, b"".join(small)] if small else pieces


def _pieces(body: Mapping[str, Any]) -> Iterator[bytes]:
    separator = b"{"
    for name, value in body.items():
        yield separator + _encoded(name) + b":"
        separator = b","
        if isinstance(value, list):
            yield from _list_pieces(value)
        else:
            yield from _value_pieces(value)
    yield b"}" if body else b"{}"


def _list_pieces(items: list[Any]) -> Iterator[bytes]:
    separator, first, gathered = b"[", 0, 0
    for index, item in enumerate(items):
        weight = _weight(item)
        if gathered and gathered + weight > STEP_CHARACTERS:
            yield separator + _encoded(items[first:index])[1:-1]
            separator, first, gathered = b",", index, 0
        if weight > STEP_CHARACTERS:
            yield separator
            yield from _value_pieces(item)
            separator, first = b",", index + 1
        else:
            gathered += weight
    if first < len(items):
        yield separator + _encoded(items[first:])[1:-1]
    yield b"]" if items else b"[]"


def _value_pieces(value: Any) -> Iterator[bytes]:
    if _weight(value) <= STEP_CHARACTERS:
        yield _encoded(value)
    else:
        yield from (piece.encode("utf-8", "replace") for piece in json_pieces(value))


def _encoded(value: Any) -> bytes:
    # Loaded by every SDK anyway; five times as fast as json.
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        # A lone surrogate, which UTF-8 cannot hold.
        return b"".join(piece.encode("utf-8", "replace") for piece in json_pieces(value))


def _weight(value: Any) -> int:
    """Return roughly how many characters a value takes; the count stops above one step."""
    kind = type(value)
    if kind is str:
        return len(value) + 2
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return 8
    total = 8
    for item in value:
        total += len(item) + 2 if type(item) is str else _weight(item)
        if total > STEP_CHARACTERS:
            break
    return total
