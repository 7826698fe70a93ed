"""The parts of Gemini contents: their fields in either spelling, what they are, and how an answer's are stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.dialects.view import Kind

Part = dict[str, Any]

# What makes a part what it is; the first field that has a value decides.
_KINDS = (
    ("function_call", Kind.CALL),
    ("function_response", Kind.RESULT),
    ("inline_data", Kind.MEDIA),
    ("file_data", Kind.MEDIA),
    ("executable_code", Kind.PROVIDER_TOOL),
    ("code_execution_result", Kind.PROVIDER_TOOL),
    ("tool_call", Kind.PROVIDER_TOOL),
    ("tool_response", Kind.PROVIDER_TOOL),
    ("text", Kind.TEXT),
)
# What says something about a part without being one; a part of nothing else is refused (W-G20).
_REMARKS = frozenset({"thought", "part_metadata", "media_resolution", "media_processing"})
# Fields that hold a message of the API; everything below them is data and stays as it is.
_MESSAGES = frozenset(
    {
        *("function_call", "function_response", "inline_data", "file_data", "executable_code"),
        *("code_execution_result", "tool_call", "tool_response", "video_metadata", "media_resolution"),
    }
)
_FIELDS = frozenset({*_MESSAGES, *_REMARKS, "text", "thought_signature"})
_CAPITAL = re.compile(r"[A-Z]")
_UNDERSCORE = re.compile(r"_([a-z])")


def camel(name: str) -> str:
    """Return a field's name in the spelling that the API answers with; it takes both."""
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


def snake(name: str) -> str:
    """Return a field's name in the spelling that is stored."""
    return _CAPITAL.sub(lambda match: "_" + match[0].lower(), name)


_CAMEL = {name: camel(name) for name in _FIELDS}
_SNAKE = {spelled: name for name, spelled in _CAMEL.items()}
_RANKS = {spelled: rank for rank, (name, _) in enumerate(_KINDS) for spelled in (name, _CAMEL[name])}


def value_of(fields: Mapping[str, Any], name: str) -> Any:
    """Return a field's value, whichever spelling it has; ``None`` where it is absent, or there without a value."""
    value = fields.get(name)
    if value is not None:
        return value
    return fields.get(_CAMEL.get(name) or camel(name))


def message_of(part: Any, name: str) -> Mapping[str, Any] | None:
    """Return the message that a part's field holds, ``None`` where it holds none."""
    value = value_of(part, name) if isinstance(part, Mapping) else None
    return value if isinstance(value, Mapping) else None


def kind_of(part: Any) -> Kind:
    """Return what a part is. A kind that nobody knows yet, or a signature alone, is ``OTHER``."""
    if not isinstance(part, Mapping):
        return Kind.OTHER
    best, found = len(_KINDS), Kind.OTHER
    for name, value in part.items():
        if value is not None and name in _RANKS and _RANKS[name] < best:
            rank = _RANKS[name]
            if isinstance(value, str if _KINDS[rank][1] is Kind.TEXT else Mapping):
                best, found = rank, _KINDS[rank][1]
    if part.get("thought") is True and found not in (Kind.CALL, Kind.RESULT):
        return Kind.REASONING
    return found


def spelling_in(fields: Mapping[str, Any], name: str) -> str:
    """Return the key under which a field stands; its stored spelling where it does not stand there."""
    spelled = _CAMEL.get(name) or camel(name)
    return spelled if fields.get(name) is None and fields.get(spelled) is not None else name


def is_signed(part: Any) -> bool:
    """Whether a part carries a thought signature."""
    return isinstance(part, Mapping) and bool(value_of(part, "thought_signature"))


def is_empty(part: Any) -> bool:
    """Whether a part holds nothing that the API takes; empty text and a signature alone are something (W-G20)."""
    if not isinstance(part, Mapping):
        return True
    return all(value is None or _SNAKE.get(name, name) in _REMARKS for name, value in part.items())


def stored_part(part: Mapping[str, Any]) -> Part:
    """Return a part of an answer in the shape that is stored: that of the SDK's ``model_dump`` without ``None``.

    Known fields get their snake_case names, signatures url-safe base64. A field that nobody knows stays as it came.
    """
    made: Part = {}
    for name, value in part.items():
        if value is None:
            continue
        own = name if name in _FIELDS else _SNAKE.get(name)
        if own is None:
            made[name] = value
        elif own in _MESSAGES and isinstance(value, Mapping):
            made[own] = {snake(key): inner for key, inner in value.items() if inner is not None}
        else:
            made[own] = value
    signature = made.get("thought_signature")
    if isinstance(signature, str):
        made["thought_signature"] = signature.replace("+", "-").replace("/", "_")
    return made


def without_nulls(part: Any) -> Any:
    """Return a part without the fields that have no value; the same object when every field has one.

    What a call's arguments and a response hold is data: a ``None`` in there stays.
    """
    if not isinstance(part, Mapping) or not any(_has_null(name, value) for name, value in part.items()):
        return part
    return {name: _filled(name, value) for name, value in part.items() if value is not None}


def _has_null(name: str, value: Any) -> bool:
    return value is None or (type(value) is dict and None in value.values() and _is_message(name))


def _filled(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping) or not _is_message(name):
        return value
    return {key: inner for key, inner in value.items() if inner is not None}


def _is_message(name: str) -> bool:
    return _SNAKE.get(name, name) in _MESSAGES
