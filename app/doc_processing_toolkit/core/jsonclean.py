"""Turning any value into one that JSON can hold: bytes to base64, SDK objects to dicts, no NaN, no lone surrogates."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

MAX_DEPTH = 200
MAX_INTEGER_BITS = 4096


class UncleanValueError(ValueError):
    """A value that cannot become JSON; ``path`` says where it stands, such as ``content[0].text``."""

    def __init__(self, problem: str, path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


def clean_text(text: str) -> str:
    """Return the text with surrogate pairs joined and lone ones as U+FFFD; the same object when it has none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: Any, *, path: str = "", depth: int = 0) -> Any:
    """Return a detached, JSON-clean copy of ``value``.

    Raises :class:`UncleanValueError` for what nests deeper than ``MAX_DEPTH`` (a cycle does) or has no JSON form.
    """
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return _clean_integer(value, path)
    if kind is float:
        return value if math.isfinite(value) else None
    if depth > MAX_DEPTH:
        raise UncleanValueError(f"is nested more than {MAX_DEPTH} levels deep", path)
    if isinstance(value, Mapping):
        return _clean_mapping(value, path, depth)
    if isinstance(value, list | tuple):
        return [clean(item, path=f"{path}[{index}]", depth=depth + 1) for index, item in enumerate(value)]
    return _clean_object(value, path, depth)


def copy_clean(value: Any) -> Any:
    """Return a detached copy of a value that is JSON-clean already; cheaper than :func:`clean`."""
    if isinstance(value, dict):
        return {key: copy_clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_clean(item) for item in value]
    return value


def _clean_integer(value: int, path: str) -> int:
    if value.bit_length() > MAX_INTEGER_BITS:
        raise UncleanValueError("is an integer too large for JSON", path)
    return value


def _clean_mapping(value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
    return {
        clean_text(key if isinstance(key, str) else str(key)): clean(
            item, path=f"{path}.{key}" if path else str(key), depth=depth + 1
        )
        for key, item in value.items()
    }


def _clean_object(value: Any, path: str, depth: int) -> Any:
    plain = _plain_form(value)
    if plain is None:
        raise UncleanValueError(f"is a {type(value).__name__}, which has no JSON form", path)
    return clean(plain[0], path=path, depth=depth + 1)


def _plain_form(value: Any) -> tuple[Any] | None:
    """Return a simpler form of an object in a 1-tuple, or ``None`` when there is none."""
    match value:
        case bytes() | bytearray() | memoryview():
            return (base64.b64encode(value).decode("ascii"),)
        case Enum():
            return (value.value,)
        case datetime() | date() | time():
            return (value.isoformat(),)
        case UUID() | PurePath():
            return (str(value),)
        case str():
            return (str.__str__(value),)
        case bool() | int() | float():
            return (float(value) if isinstance(value, float) else int(value),)
        case set() | frozenset():
            return (sorted(value, key=repr),)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ({field.name: getattr(value, field.name) for field in dataclasses.fields(value)},)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return (dump(mode="json", exclude_unset=True),)
    if isinstance(value, Iterable):
        return (list(value),)
    return None
