"""Reading an envelope's file without holding the interpreter, and what a conversation needs to know of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doc_processing_toolkit.envelope.read import ReadEnvelope, load, read

PIECEWISE_BYTES = 1 << 20
"""Smaller files are parsed in one call, which takes a few milliseconds."""
_BLANK = " \t\r\n"


def read_envelope(path: Path) -> tuple[dict[str, Any], ReadEnvelope]:
    """Return an envelope's JSON as it stands in the file, and its checked content. Blocking.

    Raises ``EnvelopeError`` that names the file and the place of the damage.
    """
    data = _parsed(path)
    return data, read(data, str(path))


def run_count_of(envelope: ReadEnvelope) -> int:
    """Return how many turns the session had completed, by its counter or by its boundaries."""
    count = envelope.metadata.get("run_count")
    runs = [record.get("run") for record in boundaries_of(envelope)]
    counted = count if isinstance(count, int | float) and not isinstance(count, bool) and math.isfinite(count) else 0
    return max([int(counted), *(run for run in runs if isinstance(run, int))])


def boundaries_of(envelope: ReadEnvelope) -> list[Mapping[str, Any]]:
    """Return the run boundaries that have the shape of one."""
    records = envelope.metadata.get("run_boundaries")
    return [record for record in records if isinstance(record, dict)] if isinstance(records, list) else []


def _parsed(path: Path) -> dict[str, Any]:
    data = _parsed_in_pieces(path) if _is_long(path) else None
    if data is None:
        # The toolkit's reader: every encoding, and an error that names line and column.
        data = load(path)[0]
    return data


def _is_long(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > PIECEWISE_BYTES
    except OSError:
        return False


def _parsed_in_pieces(path: Path) -> dict[str, Any] | None:
    """Parse a long envelope value by value and message by message; ``None`` for one that is not plain and sound."""
    try:
        return _object(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError, IndexError):
        return None


def _object(text: str) -> dict[str, Any]:
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    data: dict[str, Any] = {}
    position = _expect(text, 0, "{")
    while True:
        key, position = decoder.raw_decode(text, _skip(text, position))
        if not isinstance(key, str):
            raise ValueError("a key expected")
        position = _skip(text, _expect(text, position, ":"))
        value, position = (
            _array(text, position, decoder) if text[position] == "[" else decoder.raw_decode(text, position)
        )
        data[key] = value
        position = _skip(text, position)
        if text[position] == "}":
            break
        position = _expect(text, position, ",")
    if text[position + 1 :].strip(_BLANK):
        raise ValueError("something follows the object")
    return data


def _array(text: str, position: int, decoder: json.JSONDecoder) -> tuple[list[Any], int]:
    items: list[Any] = []
    position = _skip(text, position + 1)
    if text[position] == "]":
        return items, position + 1
    while True:
        item, position = decoder.raw_decode(text, _skip(text, position))
        items.append(item)
        position = _skip(text, position)
        if text[position] == "]":
            return items, position + 1
        position = _expect(text, position, ",")


def _skip(text: str, position: int) -> int:
    while text[position] in _BLANK:
        position += 1
    return position


def _expect(text: str, position: int, character: str) -> int:
    position = _skip(text, position)
    if text[position] != character:
        raise ValueError(f"{character!r} expected")
    return position + 1
