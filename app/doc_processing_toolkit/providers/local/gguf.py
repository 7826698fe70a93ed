"""The header of a ``.gguf`` file: what it says of itself, read with strict bounds and without loading the model."""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from doc_processing_toolkit.core.errors import ProviderError

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_KEYS = 65_536
_MAX_KEY_BYTES = 65_535
_MAX_TEXT_BYTES = 4 * 1024 * 1024
# The largest known vocabularies have 262,144 entries, twice over with their merges.
_MAX_LISTED_ITEMS = 4_000_000
_MAX_NESTING = 4
_CONTEXT_LENGTH, _PART = ".context_length", "split.no"
_TEXTS = frozenset({"general.architecture", "general.name", "tokenizer.chat_template"})
_NUMBERS = (_CONTEXT_LENGTH, _PART)

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


@dataclass(frozen=True, slots=True)
class GgufInfo:
    """What a model file says of itself. ``size`` is bytes; ``context_length`` is tokens, ``None`` when not stated."""

    name: str
    architecture: str
    context_length: int | None
    has_chat_template: bool
    size: int


class _MalformedError(Exception):
    """The header breaks the format; the text says where."""


def describe_gguf(path: Path) -> GgufInfo:
    """Return what the header of ``path`` says, reading at most its metadata (blocking: call it in a thread).

    Raises ``ProviderError`` for a path that is no regular file, is not a GGUF file, is cut short or malformed, or holds
    a later part of a split model. Memory and time stay bounded whatever the file holds.
    """
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            raise _refused(path, "is not a file", "Choose a .gguf file")
        with open(path, "rb") as source:
            metadata = _Header(source, facts.st_size).metadata()
    except OSError as exc:
        raise _refused(path, f"cannot be read ({exc.strerror or exc})", "Check the path and its permissions") from exc
    except ValueError as exc:
        raise _refused(path, "is not a usable path", "Choose a .gguf file") from exc
    except _MalformedError as exc:
        raise _refused(path, f"is not a usable model file: {exc}", "Download it again or choose another") from exc
    part = metadata.get(_PART)
    if isinstance(part, int) and part > 0:
        raise _refused(path, f"is part {part + 1} of a model in several files", "Choose the first part")
    return _info(metadata, path, facts.st_size)


def _info(metadata: dict[str, object], path: Path, size: int) -> GgufInfo:
    architecture = metadata.get("general.architecture")
    architecture = architecture if isinstance(architecture, str) else ""
    length = metadata.get(architecture + _CONTEXT_LENGTH)
    template, name = metadata.get("tokenizer.chat_template"), metadata.get("general.name")
    return GgufInfo(
        name=name if isinstance(name, str) and name.strip() else path.stem,
        architecture=architecture,
        context_length=length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None,
        has_chat_template=isinstance(template, str) and bool(template.strip()),
        size=size,
    )


def _refused(path: Path, what: str, remedy: str) -> ProviderError:
    return ProviderError(f"The model file {str(path)!r} {what}. {remedy}.", provider="local", code="bad_model_file")


class _Header:
    """The cursor over one file's metadata. Every length is checked against the file before it is believed."""

    def __init__(self, source: BinaryIO, size: int) -> None:
        self._source = source
        self._unread = size
        self._left = _MAX_LISTED_ITEMS

    def metadata(self) -> dict[str, object]:
        """Return the values that are of use here by key; everything else is skipped."""
        if self._source.read(4) != MAGIC:
            raise _MalformedError("it does not start as a GGUF file does")
        version = self._number("<I")
        if version not in _VERSIONS:
            raise _MalformedError(f"version {version} of the format is not supported")
        self._number("<Q")  # the number of tensors
        count = self._number("<Q")
        if count > _MAX_KEYS:
            raise _MalformedError(f"{count} entries in its header")
        values: dict[str, object] = {}
        for _ in range(count):
            key = self._text(_MAX_KEY_BYTES)
            value = self._value(key, self._number("<I"))
            if value is not None:
                values[key] = value
        return values

    def _value(self, key: str, kind: int) -> object:
        if kind == _STRING:
            text = self._text(_MAX_TEXT_BYTES)
            return text if key in _TEXTS else None
        if kind == _ARRAY:
            self._skip_list(depth=0)
            return None
        if kind not in _SCALARS:
            raise _MalformedError(f"a value of unknown kind {kind}")
        number = self._unpack(_SCALARS[kind])
        return number if key.endswith(_NUMBERS) else None

    def _skip_list(self, depth: int) -> None:
        if depth >= _MAX_NESTING:
            raise _MalformedError("lists nested too deeply")
        kind, count = self._number("<I"), self._number("<Q")
        if kind in _SCALARS:
            self._skip(count * struct.calcsize(_SCALARS[kind]))
            return
        if kind not in (_STRING, _ARRAY):
            raise _MalformedError(f"a list of unknown kind {kind}")
        self._left -= count
        if self._left < 0:
            raise _MalformedError("its lists are too long")
        for _ in range(count):
            if kind == _STRING:
                self._skip(int.from_bytes(self._take(8), "little"))
            else:
                self._skip_list(depth + 1)

    def _text(self, limit: int) -> str:
        length = self._number("<Q")
        if length > limit:
            raise _MalformedError(f"a text of {length} bytes in its header")
        return self._take(length).decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        return int(self._unpack(form))

    def _unpack(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return value

    def _skip(self, length: int) -> None:
        if length <= _MAX_KEY_BYTES:  # a short read stays in the buffer; a seek is slower, and vocabularies are long
            self._take(length)
            return
        if length > self._unread:
            raise _MalformedError("it is cut short")
        self._source.seek(length, os.SEEK_CUR)
        self._unread -= length

    def _take(self, length: int) -> bytes:
        self._unread -= length
        data = self._source.read(length)
        if len(data) < length:
            raise _MalformedError("it is cut short")
        return data
