"""Structured answers: the schema that is asked for, and the answer checked against it (A10)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from doc_processing_toolkit.core.errors import AgentError

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}
_DEEPEST = 100


class AnswerMismatchError(AgentError):
    """An answer that does not have the form that was asked for; the message says where it differs."""


def schema_of(output_schema: Any) -> Mapping[str, Any] | None:
    """Return the JSON schema of what ``output_schema`` asks for. Raises ``TypeError`` for another kind of thing."""
    if output_schema is None:
        return None
    if isinstance(output_schema, Mapping):
        return output_schema
    derive = getattr(output_schema, "model_json_schema", None)
    if inspect.isclass(output_schema) and callable(derive):
        schema: Mapping[str, Any] = derive()
        return schema
    raise TypeError(f"output_schema takes a pydantic model or a JSON schema, not {output_schema!r}")


def parse_answer(output_schema: Any, text: str) -> Any:
    """Return the answer as the model's instance, or as a dict for a JSON schema.

    Raises :class:`AnswerMismatchError` for an answer that is no JSON or has another form.
    """
    if not isinstance(output_schema, Mapping):
        return _instance(output_schema, text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnswerMismatchError(f"the answer is not JSON: {error}") from error
    problem = find_problem(value, output_schema)
    if problem is not None:
        raise AnswerMismatchError(f"the answer does not have the form asked for: {problem}")
    return value


def find_problem(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return where and how a value differs from a JSON schema, ``None`` when it does not.

    Keywords that this check does not know are passed over.
    """
    return _Check(schema).problem(value, schema, "answer", 0)


def _instance(model: Any, text: str) -> Any:
    import pydantic

    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "answer"
        raise AnswerMismatchError(f"the answer does not have the form asked for: {place}: {first['msg']}") from error


class _Check:
    """One validation against one root schema, whose ``$defs`` the references name."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def problem(self, value: Any, schema: Any, place: str, depth: int) -> str | None:
        if schema is False:
            return f"{place} must not be there"
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        if isinstance(schema.get("$ref"), str):
            return self.problem(value, self._referenced(schema["$ref"]), place, depth + 1)
        checks = (self._type, self._values, self._choices, self._object, self._array, self._size)
        found = (check(value, schema, place, depth) for check in checks)
        return next((problem for problem in found if problem is not None), None)

    def _referenced(self, reference: str) -> Any:
        node: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if name:
                node = node.get(name) if isinstance(node, Mapping) else None
        return node

    def _type(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        kinds = schema.get("type")
        if kinds is None:
            return None
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        if any(_TYPES.get(name, lambda value: True)(value) for name in names):
            return None
        return f"{place} must be of type {' or '.join(names)}"

    def _values(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        if "const" in schema and value != schema["const"]:
            return f"{place} must be {schema['const']!r}"
        if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
            return f"{place} must be one of {', '.join(map(repr, schema['enum']))}"
        return None

    def _choices(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        for part in schema.get("allOf", ()):
            problem = self.problem(value, part, place, depth + 1)
            if problem is not None:
                return problem
        for name, most in (("anyOf", None), ("oneOf", 1)):
            choices = schema.get(name)
            if choices:
                fitting = sum(self.problem(value, choice, place, depth + 1) is None for choice in choices)
                if not fitting or (most is not None and fitting > most):
                    return f"{place} fits {fitting} of the {len(choices)} forms allowed"
        return None

    def _object(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        if not isinstance(value, dict):
            return None
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                return f"{place}.{name} is missing"
        for name, item in value.items():
            rule = properties.get(name, schema.get("additionalProperties", True))
            problem = self.problem(item, rule, f"{place}.{name}", depth + 1)
            if problem is not None:
                return problem
        return None

    def _array(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        if not isinstance(value, list) or "items" not in schema:
            return None
        found = (
            self.problem(item, schema["items"], f"{place}[{index}]", depth + 1) for index, item in enumerate(value)
        )
        return next((problem for problem in found if problem is not None), None)

    def _size(self, value: Any, schema: Mapping[str, Any], place: str, depth: int) -> str | None:
        if isinstance(value, str):
            if isinstance(schema.get("pattern"), str) and not re.search(schema["pattern"], value):
                return f"{place} must match {schema['pattern']!r}"
            return _out_of_range(len(value), schema, "minLength", "maxLength", f"the length of {place}")
        if isinstance(value, list):
            return _out_of_range(len(value), schema, "minItems", "maxItems", f"the number of items in {place}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _out_of_range(value, schema, "minimum", "maximum", place)
        return None


def _out_of_range(size: float, schema: Mapping[str, Any], low: str, high: str, what: str) -> str | None:
    if low in schema and size < schema[low]:
        return f"{what} must be at least {schema[low]}"
    if high in schema and size > schema[high]:
        return f"{what} must be at most {schema[high]}"
    return None
