"""The JSON schemas that OpenAI refuses under `strict` (W-O24)."""

from __future__ import annotations

from typing import Any

from support.strict.rule import Json, as_list, as_object


def strict_problem(schema: Any, context: tuple[str, ...] = ()) -> str | None:
    """Return the server's words for the first object that is not closed or not fully required, else `None`."""
    if not isinstance(schema, dict):
        return None
    where = f"In context=({', '.join(repr(step) for step in context)}{',' if len(context) == 1 else ''}), "
    if schema.get("type") == "object" or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            return where + "'additionalProperties' is required to be supplied and to be false."
        names = list(as_object(schema.get("properties")))
        absent = [name for name in names if name not in as_list(schema.get("required"))]
        if absent:
            return (
                where + "'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{absent[0]}'."
            )
    for step, inner in _nested(schema):
        problem = strict_problem(inner, (*context, *step))
        if problem:
            return problem
    return None


def _nested(schema: Json) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for key in ("properties", "$defs", "definitions"):
        found += [((key, name), inner) for name, inner in as_object(schema.get(key)).items()]
    found += [(("items",), schema.get("items"))]
    for key in ("anyOf", "allOf"):
        found += [((key, str(number)), inner) for number, inner in enumerate(as_list(schema.get(key)))]
    return found
