"""JSON schemas as Gemini takes them: the keywords it knows; what it does not know goes into the descriptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# The keywords of the API's `responseJsonSchema` and `parametersJsonSchema`.
_KNOWN = frozenset(
    {
        *("type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems"),
        *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required", "propertyOrdering"),
    }
)
_FORMATS = frozenset({"date-time", "date", "time", "enum"})
# Keywords that say nothing about the values.
_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "readOnly", "writeOnly", "discriminator"})
_REFERENCE = "#/$defs/"
_DEFINITIONS = ("$defs", "definitions")
_TYPES: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))


def known_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that says the same in the keywords that Gemini knows.

    What it cannot be told as a rule stands in the descriptions, as JSON; answers are checked against the schema
    that was asked for. Definitions, wherever they stand, are put at the top.
    """
    writer = _Writer()
    made = writer.known(schema)
    # A model that refers to itself is nothing but a reference at the top.
    made = writer.defined.get(str(made.get("$ref")).removeprefix(_REFERENCE), made)
    return {"$defs": writer.defined, **made} if writer.defined else made


class _Writer:
    """Writes one schema; ``defined`` are the definitions met so far."""

    def __init__(self) -> None:
        self.defined: dict[str, Any] = {}

    def known(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        for name in _DEFINITIONS:
            definitions = schema.get(name)
            for key, value in definitions.items() if isinstance(definitions, Mapping) else ():
                self.defined[key] = self.known(value)
        if isinstance(schema.get("$ref"), str):
            # Beside a reference nothing else may stand.
            reference = {"$ref": schema["$ref"].replace("#/definitions/", _REFERENCE)}
            told = schema.get("description")
            return {"anyOf": [reference], "description": told} if told else reference
        left_out = (*_SILENT, *_DEFINITIONS)
        rest = {key: value for key, value in schema.items() if key not in left_out and value is not None}
        if "oneOf" in rest:
            rest.setdefault("anyOf", rest.pop("oneOf"))
        parts = rest.get("allOf")
        if not isinstance(parts, list) or len(parts) != 1:
            return self._with({}, rest)
        # The old way to put a description beside a reference.
        del rest["allOf"]
        return self.known({**parts[0], **rest}) if isinstance(parts[0], Mapping) else self._with({}, rest)

    def _with(self, made: dict[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``made`` with the keywords of ``rest``; the unknown ones go into the description."""
        told: dict[str, Any] = {}
        for key, value in rest.items():
            if key == "const":
                made.update(_constant(value))
            elif key not in _KNOWN or (key == "format" and value not in _FORMATS):
                told[key] = value
            else:
                made[key] = self._inner(key, value)
        if told:
            note = json.dumps(told, ensure_ascii=False, default=str)
            made["description"] = "\n\n".join(filter(None, (str(made.get("description") or ""), note)))
        return made

    def _inner(self, key: str, value: Any) -> Any:
        if key == "properties" and isinstance(value, Mapping):
            return {name: self.known(schema) for name, schema in value.items()}
        if key in ("anyOf", "prefixItems") and isinstance(value, list):
            return [self.known(schema) for schema in value]
        if key in ("items", "additionalProperties") and isinstance(value, Mapping):
            return self.known(value)
        return value


def _constant(value: Any) -> dict[str, Any]:
    kind = next((name for python_type, name in _TYPES if isinstance(value, python_type)), None)
    return {"enum": [value], "type": kind} if kind is not None else {"enum": [value]}
