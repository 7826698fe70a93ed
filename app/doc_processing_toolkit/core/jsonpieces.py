"""Encoding large JSON in pieces of about a mebibyte, so that no single step holds the interpreter for long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

PIECE_CHARACTERS = 1 << 19

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_pieces(value: Any) -> Iterator[str]:
    """Yield the compact JSON text of a JSON-clean value, piece by piece.

    Raises ``ValueError`` for NaN and ``TypeError`` for what has no JSON form, as ``json.dumps`` does.
    """
    kind = type(value)
    if kind is str and len(value) > PIECE_CHARACTERS:
        yield from _string_pieces(value)
    elif kind is dict and value and _weight(value) > PIECE_CHARACTERS:
        yield from _object_pieces(value)
    elif kind is list and value and _weight(value) > PIECE_CHARACTERS:
        yield from _array_pieces(value)
    else:
        yield _encode(value)


def _string_pieces(text: str) -> Iterator[str]:
    yield '"'
    for start in range(0, len(text), PIECE_CHARACTERS):
        yield _encode(text[start : start + PIECE_CHARACTERS])[1:-1]
    yield '"'


def _object_pieces(value: dict[Any, Any]) -> Iterator[str]:
    separator = "{"
    for key, item in value.items():
        yield f"{separator}{_encode(str(key))}:"
        yield from json_pieces(item)
        separator = ","
    yield "}"


def _array_pieces(items: list[Any]) -> Iterator[str]:
    """Encode neighbouring light items in one step, heavy ones by themselves."""
    separator = "["
    start = batched = 0
    for position, item in enumerate(items):
        weight = _weight(item)
        if batched + weight <= PIECE_CHARACTERS:
            batched += weight
            continue
        if position > start:
            yield separator + _encode(items[start:position])[1:-1]
            separator = ","
        start, batched = position, weight
        if weight > PIECE_CHARACTERS:
            yield separator
            yield from json_pieces(item)
            separator = ","
            start, batched = position + 1, 0
    if start < len(items):
        yield separator + _encode(items[start:])[1:-1]
    yield "]"


def _weight(value: Any) -> int:
    """Return roughly how many characters a value takes; the count stops above one piece."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return 8
    total = 8
    for item in value:
        if type(item) is str:
            total += len(item)
        elif item is not None:
            total += _weight(item)
        if total > PIECE_CHARACTERS:
            break
    return total
