"""Reading an envelope: whatever is in the file, it opens or it is an :class:`EnvelopeError` that names the place."""

from __future__ import annotations

import json
import logging
import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doc_processing_toolkit.core.errors import EnvelopeError
from doc_processing_toolkit.core.jsonclean import UncleanValueError, clean
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.envelope.schema import KEYS, SCHEMA_VERSION

log = logging.getLogger(__name__)

MAX_BYTES = 2 << 30
_LONGEST_PLACE = 80
_BLANK = " \t\r\n\ufeff"


@dataclass(frozen=True, slots=True)
class ReadEnvelope:
    """An envelope's content, its types checked, every optional key present."""

    source: str
    schema_version: int
    session_id: str | None
    provider: str | None
    model: str | None
    messages: list[Message]
    metadata: dict[str, Any]
    media: dict[str, Any] = field(default_factory=dict)
    media_report: list[dict[str, Any]] = field(default_factory=list)
    history_config: dict[str, Any] | None = None
    late_injection_policy: Any = None
    max_follow_up_turns: Any = None
    prefix_fingerprint: dict[str, Any] = field(default_factory=dict)
    anthropic_container_id: str | None = None


def load(source: Any) -> tuple[Any, str]:
    """Return the parsed JSON of text, bytes, or a file, and what to call its source.

    A ``str`` whose first non-blank character is ``{`` or ``[`` is text, any other a path. Raises ``TypeError`` for
    another kind of source, ``EnvelopeError`` for what cannot be read or parsed.
    """
    match source:
        case bytes() | bytearray():
            return _parsed(bytes(source), "the bytes given"), "the bytes given"
        case str() if source.lstrip(_BLANK)[:1] in ("{", "["):
            return _parsed(source.lstrip(_BLANK), "the text given"), "the text given"
        case str() | os.PathLike():
            return _parsed(_file(source), os.fspath(source)), os.fspath(source)
    raise TypeError(f"a session is read from text, bytes or a path, not from a {type(source).__name__}")


def read(data: Any, source: str) -> ReadEnvelope:
    """Return the content of a parsed envelope. Raises ``TypeError`` for no mapping, ``EnvelopeError`` for damage."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{source} must be a mapping, not a {type(data).__name__}")
    try:
        cleaned: dict[str, Any] = clean(data)
    except UncleanValueError as error:
        place = error.path if len(error.path) <= _LONGEST_PLACE else error.path[:_LONGEST_PLACE] + "…"
        raise EnvelopeError(f"{source}: {place or 'the envelope'} {error.problem}") from error
    except RecursionError as error:
        raise EnvelopeError(f"{source}: is nested too deeply") from error
    reader = _Reader(cleaned, source)
    version = reader.version()
    _note_unknown(cleaned, version, source)
    return ReadEnvelope(
        source=source,
        schema_version=version,
        session_id=reader.text("session_id"),
        provider=reader.text("provider"),
        model=reader.text("model"),
        messages=reader.messages(),
        metadata=reader.mapping("metadata") or {},
        media=reader.mapping("media") or {},
        media_report=reader.records("media_report"),
        history_config=reader.mapping("session_history_config"),
        late_injection_policy=cleaned.get("late_injection_policy"),
        max_follow_up_turns=cleaned.get("max_follow_up_turns"),
        prefix_fingerprint=reader.mapping("prefix_fingerprint") or {},
        anthropic_container_id=reader.text("anthropic_container_id"),
    )


class _Reader:
    """Takes typed values out of an envelope; a wrong type is an :class:`EnvelopeError`, a missing one is not."""

    def __init__(self, data: Mapping[str, Any], source: str) -> None:
        self._data = data
        self._source = source

    def text(self, key: str) -> str | None:
        value = self._data.get(key)
        if value is not None and not isinstance(value, str):
            raise self._wrong(key, "text", value)
        return value

    def mapping(self, key: str) -> dict[str, Any] | None:
        value = self._data.get(key)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(key, "an object", value)
        return value

    def records(self, key: str) -> list[dict[str, Any]]:
        value = self._data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(key, "a list", value)
        for index, entry in enumerate(value):
            if not isinstance(entry, dict):
                raise self._wrong(f"{key}[{index}]", "an object", entry)
        return value

    def messages(self) -> list[Message]:
        if "messages" not in self._data:
            raise EnvelopeError(f"{self._source}: has no messages; it is not a saved session")
        if self._data["messages"] is None:
            raise self._wrong("messages", "a list", None)
        return self.records("messages")

    def version(self) -> int:
        value = self._data.get("schema_version")
        if value is None:
            return 1
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong("schema_version", "a whole number from 1", value)
        return value

    def _wrong(self, place: str, expected: str, value: Any) -> EnvelopeError:
        return EnvelopeError(f"{self._source}: {place} must be {expected}, not {_described(value)}")


def _file(path: str | os.PathLike[str]) -> bytes:
    name = os.fspath(path)
    try:
        target = Path(path)
        if not target.is_file():
            raise EnvelopeError(f"{name}: {'is not a file' if target.exists() else 'there is no such file'}")
        if target.stat().st_size > MAX_BYTES:
            raise EnvelopeError(f"{name}: is larger than 2 GiB")
        return target.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, EnvelopeError):
            raise
        raise EnvelopeError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _parsed(text: str | bytes, source: str) -> Any:
    if not text.strip():
        raise EnvelopeError(f"{source}: is empty")
    try:
        if isinstance(text, bytes):
            # Finds UTF-8, UTF-16 and UTF-32, with a byte-order mark or without.
            text = text.decode(json.detect_encoding(text), "surrogatepass").lstrip(_BLANK)
        data = json.loads(text, parse_constant=_nothing, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise EnvelopeError(
            f"{source}: line {error.lineno}, column {error.colno}: is not valid JSON ({error.msg})"
        ) from error
    except UnicodeDecodeError as error:
        raise EnvelopeError(f"{source}: byte {error.start}: is not UTF-8 text") from error
    except RecursionError as error:
        raise EnvelopeError(f"{source}: is nested too deeply") from error
    except ValueError as error:
        raise EnvelopeError(f"{source}: holds a number that is too long") from error
    if not isinstance(data, dict):
        raise EnvelopeError(f"{source}: must be an object, not {_described(data)}; it is not a saved session")
    return data


def _nothing(constant: str) -> None:
    """NaN and the infinities are no JSON; they count as missing."""


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _described(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
        case list():
            return "a list"
    return f"a {type(value).__name__}"


def _note_unknown(data: Mapping[str, Any], version: int, source: str) -> None:
    if version > SCHEMA_VERSION:
        unknown = reprlib.repr(sorted(set(data) - set(KEYS)))
        log.warning("%s is of version %d, newer than %d; ignored: %s", source, version, SCHEMA_VERSION, unknown)
