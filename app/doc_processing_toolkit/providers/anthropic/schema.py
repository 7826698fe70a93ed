"""JSON schemas as Claude's structured output takes them: closed objects, and nothing but the keywords it knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_CHOICES = ("anyOf", "oneOf", "allOf")
# Keywords that say nothing about the answer.
_SILENT = frozenset(
    {
        *("$schema", "$id", "$comment", "$anchor"),
        *("default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator"),
    }
)


class OpenSchemaError(ValueError):
    """A schema that leaves open what a closed schema must name; the message says where."""


def closed_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that Claude's servers take; what they cannot enforce goes into the descriptions.

    The answer is checked against the schema that was asked for, so nothing is lost by that. Raises
    :class:`OpenSchemaError` for an object with free keys, and for a value of no type at all.
    """
    return _closed(schema, "the answer")


def _closed(schema: Any, place: str) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise OpenSchemaError(f"{place} may be anything; say of which type it is")
    rest = {key: value for key, value in schema.items() if key not in _SILENT}
    made: dict[str, Any] = {}
    for name in ("$defs", "definitions"):
        if isinstance(rest.get(name), Mapping):
            made[name] = {key: _closed(value, f"{place} ({key})") for key, value in rest.pop(name).items()}
    if "$ref" in rest:
        return {**made, "$ref": rest["$ref"]}
    if isinstance(rest.get("type"), list):
        return {**made, **_any_type(rest, place)}
    made.update(_values(rest))
    kind = rest.pop("type", None)
    if not made.keys() & {"enum", "const"}:
        made.update(_choices(rest, place) or _typed(rest, kind, place))
    if "$ref" in made:
        return made
    for name in ("title", "description"):
        if isinstance(rest.get(name), str):
            made[name] = rest.pop(name)
    return _described(made, rest)


def _any_type(schema: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a schema of several types as a choice between one for each."""
    kinds = [kind for kind in schema["type"] if kind != "null"]
    named: dict[str, Any] = {key: schema[key] for key in ("title", "description") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in ("type", *named)}
    choices = [_closed({**inner, "type": kind}, place) for kind in kinds]
    if len(kinds) < len(schema["type"]):
        choices.append({"type": "null"})
    return {**named, "anyOf": choices}


def _values(rest: dict[str, Any]) -> dict[str, Any]:
    """Take the fixed values out of ``rest``, those that the servers know."""
    made: dict[str, Any] = {}
    values = rest.get("enum")
    if isinstance(values, list) and values and all(_is_primitive(value) for value in values):
        made["enum"] = list(rest.pop("enum"))
    if "const" in rest and _is_primitive(rest["const"]):
        made["const"] = rest.pop("const")
    return made


def _choices(rest: dict[str, Any], place: str) -> dict[str, Any]:
    for name in _CHOICES:
        options = rest.get(name)
        if isinstance(options, list) and options:
            del rest[name]
            made = [_closed(option, place) for option in options]
            return made[0] if len(made) == 1 else {"allOf" if name == "allOf" else "anyOf": made}
    return {}


def _typed(rest: dict[str, Any], kind: Any, place: str) -> dict[str, Any]:
    if kind is None and "properties" in rest:
        kind = "object"
    match kind:
        case "object":
            return _object(rest, place)
        case "array":
            return _array(rest, place)
        case "string":
            return {"type": kind, "format": rest.pop("format")} if rest.get("format") in _FORMATS else {"type": kind}
        case "integer" | "number" | "boolean" | "null":
            return {"type": kind}
    raise OpenSchemaError(f"{place} may be anything; say of which type it is")


def _object(rest: dict[str, Any], place: str) -> dict[str, Any]:
    properties = rest.pop("properties", None)
    is_open = rest.pop("additionalProperties", properties is None) is not False or "patternProperties" in rest
    if not properties and is_open:
        raise OpenSchemaError(f"{place} is an object with free keys; name its properties, or ask for a list of pairs")
    inner = {key: _closed(value, f"{place}.{key}") for key, value in (properties or {}).items()}
    made: dict[str, Any] = {"type": "object", "properties": inner, "additionalProperties": False}
    if isinstance(rest.get("required"), list):
        made["required"] = list(rest.pop("required"))
    return made


def _array(rest: dict[str, Any], place: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array"}
    if isinstance(rest.get("items"), Mapping):
        made["items"] = _closed(rest.pop("items"), f"{place}[]")
    if rest.get("minItems") in (0, 1):
        made["minItems"] = rest.pop("minItems")
    return made


def _described(made: dict[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with the keywords that cannot be enforced in its description."""
    if not rest:
        return made
    told = json.dumps(rest, ensure_ascii=False, default=str)
    return {**made, "description": "\n\n".join(filter(None, (made.get("description"), told)))}


def _is_primitive(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
