"""Dataclasses to plain JSON values and back, by their annotations: unknown keys are ignored, missing ones defaulted."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import types
import typing
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, Union

T = TypeVar("T")

EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, tzinfo=UTC)


class CodecError(ValueError):
    """A value does not have the declared type; the message names the place."""


def to_plain(value: Any) -> Any:
    """Return the JSON form of a dataclass: tuples as lists, times as ISO text, bytes as base64."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case list() | tuple():
            return [to_plain(item) for item in value]
        case dict():
            return {str(key): to_plain(item) for key, item in value.items()}
        case datetime():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
    raise CodecError(f"a {type(value).__name__} has no JSON form")


def within_reach(moment: datetime) -> datetime:
    """Return `moment` with a time zone, and near enough to be told in every other; a file may claim any year."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(aware, EARLIEST), LATEST)


def from_plain(kind: type[T], value: Any, *, place: str = "") -> T:
    """Return `value` as a `kind`. Raises ``CodecError`` that names the place of what does not fit."""
    return typing.cast(T, _read(kind, value, place or kind.__name__))


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Each field's annotation, and whether it may be missing."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (
            hints[field.name],
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    }


def _read(kind: Any, value: Any, place: str) -> Any:
    if kind is Any:
        return value
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_optional(typing.get_args(kind), value, place)
    if origin is Literal:
        if value in typing.get_args(kind):
            return value
        raise CodecError(f"{place}: {value!r} is none of {', '.join(map(str, typing.get_args(kind)))}")
    if origin in (list, tuple):
        return _read_sequence(origin, typing.get_args(kind)[0], value, place)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(typing.cast(type, kind), value, place)
    return _read_scalar(dict if origin is dict else kind, value, place)


def _read_optional(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    (kind,) = (each for each in kinds if each is not types.NoneType)
    return _read(kind, value, place)


def _read_sequence(origin: type, item_kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise CodecError(f"{place}: a list is needed, not a {type(value).__name__}")
    return origin(_read(item_kind, item, f"{place}[{index}]") for index, item in enumerate(value))


def _read_dataclass(kind: type, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise CodecError(f"{place}: an object is needed, not a {type(value).__name__}")
    arguments = {}
    for name, (hint, may_be_missing) in _fields(kind).items():
        if name in value:
            arguments[name] = _read(hint, value[name], f"{place}.{name}")
        elif not may_be_missing:
            raise CodecError(f"{place}.{name}: missing")
    return kind(**arguments)


def _read_scalar(kind: Any, value: Any, place: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, bool):
        raise CodecError(f"{place}: a whole number is needed, not {value}")
    if kind is datetime and isinstance(value, str):
        return _read_time(value, place)
    if kind is bytes and isinstance(value, str):
        return _read_bytes(value, place)
    if isinstance(value, kind):
        return value
    raise CodecError(f"{place}: a {kind.__name__} is needed, not a {type(value).__name__}")


def _read_time(value: str, place: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as exc:
        raise CodecError(f"{place}: {value!r} is not a time") from exc
    return within_reach(moment)


def _read_bytes(value: str, place: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as exc:
        raise CodecError(f"{place}: not base64") from exc
