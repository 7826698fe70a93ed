"""JSON schemas as OpenAI takes them: what its strict mode asks of tools and of structured answers (W-O24)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What strict mode understands; anything else is refused.
_TAKEN = frozenset(
    {
        *("type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
_SAYS_WHAT = ("type", "enum", "const", "anyOf", "$ref")
_DEEPEST = 60


class NotStrictError(ValueError):
    """A schema that strict mode cannot express."""


def tool_parameters(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a tool's parameters and whether they are strict.

    Strict where that changes nothing of what the tool takes: every argument is required. A tool with optional
    arguments would get ``null`` for those it was not given, so its schema stays as it is.
    """
    try:
        return _strict(schema, is_filled=False, depth=0), True
    except NotStrictError:
        return dict(schema), False


def answer_format(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the ``text.format`` of a structured answer, ``None`` for a schema that is not an object's.

    Under strict mode every field is asked for, and what it does not understand is left to the check of the answer.
    """
    root = _inlined(schema)
    if root.get("type") != "object":
        return None
    form = {"type": "json_schema", "name": _name(schema.get("title"))}
    try:
        return {**form, "schema": _strict(root, is_filled=True, depth=0), "strict": True}
    except NotStrictError:
        return {**form, "schema": root, "strict": False}


def _strict(schema: Any, *, is_filled: bool, depth: int) -> dict[str, Any]:
    """Return the schema closed and fully required; ``is_filled`` lets it require what was optional."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        raise NotStrictError
    if is_filled:
        schema = _translated(schema)
    elif not _TAKEN.issuperset(schema) or schema.get("format", "uuid") not in _FORMATS:
        raise NotStrictError
    if not any(name in schema for name in _SAYS_WHAT):
        raise NotStrictError
    strict = {**schema, **_inner(schema, is_filled=is_filled, depth=depth + 1)}
    if schema.get("type") == "object" or "properties" in schema:
        _close(strict, schema, is_filled=is_filled)
    elif schema.get("type") == "array" and "items" not in schema:
        raise NotStrictError
    return strict


def _inner(schema: Mapping[str, Any], *, is_filled: bool, depth: int) -> dict[str, Any]:
    def each(value: Any) -> dict[str, Any]:
        return _strict(value, is_filled=is_filled, depth=depth)

    inner: dict[str, Any] = {}
    for key in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(key), Mapping):
            inner[key] = {name: each(value) for name, value in schema[key].items()}
    if isinstance(schema.get("anyOf"), list):
        inner["anyOf"] = [each(value) for value in schema["anyOf"]]
    if "items" in schema:
        inner["items"] = each(schema["items"])
    return inner


def _close(strict: dict[str, Any], schema: Mapping[str, Any], *, is_filled: bool) -> None:
    names = list(strict.get("properties", {}))
    if schema.get("additionalProperties", False) is not False:
        # A map with free keys.
        raise NotStrictError
    if not is_filled and not set(names) <= set(schema.get("required", ())):
        raise NotStrictError
    strict["properties"] = strict.get("properties", {})
    strict["required"] = names
    strict["additionalProperties"] = False


def _translated(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in strict mode's words; what they cannot say is left out."""
    if isinstance(schema.get("$ref"), str):
        # Nothing may stand beside a reference, but for the definitions that it needs.
        return {key: schema[key] for key in ("$ref", "$defs", "definitions") if key in schema}
    changed = dict(schema)
    choices = changed.pop("oneOf", None)
    if isinstance(choices, list):
        changed.setdefault("anyOf", choices)
    parts = changed.pop("allOf", None)
    if isinstance(parts, list):
        if len(parts) != 1 or not isinstance(parts[0], Mapping):
            raise NotStrictError
        changed = {**parts[0], **changed}
        return _translated(changed)
    if changed.get("format", "uuid") not in _FORMATS:
        del changed["format"]
    return {key: value for key, value in changed.items() if key in _TAKEN}


def _inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with an object at its root where that is a reference to one."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return dict(schema)
    for key in ("$defs", "definitions"):
        definitions = schema.get(key)
        found = definitions.get(reference.rpartition("/")[2]) if isinstance(definitions, Mapping) else None
        if isinstance(found, Mapping):
            return {**found, key: definitions}
    return dict(schema)


def _name(title: Any) -> str:
    """Return a name that OpenAI takes: letters, digits, '_' and '-', at most 64."""
    text = title if isinstance(title, str) and title else "answer"
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in text)[:64]
