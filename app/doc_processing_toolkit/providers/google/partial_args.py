"""Arguments of a function call that arrive in pieces, each at its place in the object (``partialArgs``)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

# More than any tool takes; a larger index would only fill the memory.
LONGEST_LIST = 10_000
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_ESCAPED = re.compile(r"\\(.)")
_VALUES = ("stringValue", "numberValue", "boolValue", "string_value", "number_value", "bool_value")


class MisplacedPieceError(ValueError):
    """A piece whose place cannot be, or that says nothing."""


def put_piece(arguments: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Put one piece into the arguments; text that stands there already goes on.

    Raises :class:`MisplacedPieceError` for a path that does not fit what is there.
    """
    path = piece.get("jsonPath") or piece.get("json_path")
    steps = _steps(path) if isinstance(path, str) else []
    if not steps:
        raise MisplacedPieceError(f"{path!r} is no place in an object")
    holder: Any = arguments
    for step, following in itertools.pairwise(steps):
        inner = _get(holder, step)
        if inner is None:
            inner = [] if isinstance(following, int) else {}
            _put(holder, step, inner)
        holder = inner
    value = next((piece[name] for name in _VALUES if piece.get(name) is not None), None)
    before = _get(holder, steps[-1])
    _put(holder, steps[-1], before + value if isinstance(before, str) and isinstance(value, str) else value)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 1 if path.startswith("$") else 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise MisplacedPieceError(f"{path!r} is no path")
        name, index, single, double = found.groups()
        quoted = single if single is not None else double
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(name if name is not None else _ESCAPED.sub(r"\1", quoted))
        position = found.end()
    return steps


def _get(holder: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return holder[step] if isinstance(holder, list) and step < len(holder) else None
    return holder.get(step) if isinstance(holder, dict) else None


def _put(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(step, str) and isinstance(holder, dict):
        holder[step] = value
    elif isinstance(step, int) and isinstance(holder, list) and step < LONGEST_LIST:
        holder.extend([None] * (step + 1 - len(holder)))
        holder[step] = value
    else:
        raise MisplacedPieceError(f"{step!r} does not fit what is there")
