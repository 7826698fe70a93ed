"""OpenAI Responses parameters: tools, schemas, sampling, output format (W-O24 to W-O27)."""

from __future__ import annotations

import json
import re

from support.strict.responses import models
from support.strict.responses.fields import kind_of, missing, wrong_type
from support.strict.responses.schema import strict_problem
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_LEAST_OUTPUT = 16


def check_model(model: str) -> Found:
    """W-O27: a model that OpenAI does not have."""
    if model and not models.is_known(model):
        text = f"The requested model '{model}' does not exist."
        yield Violation("W-O27", "model", text, code="model_not_found", param="model")


def check_sampling(body: Json, model: str) -> Found:
    """W-O26: sampling and reasoning parameters."""
    most = body.get("max_output_tokens")
    if isinstance(most, int) and most < _LEAST_OUTPUT:
        text = (
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_LEAST_OUTPUT}, "
            f"but got {most} instead."
        )
        code = "integer_below_min_value"
        yield Violation("W-O26", "max_output_tokens", text, code=code, param="max_output_tokens")
    reasoning = as_object(body.get("reasoning"))
    for name in ("temperature", "top_p"):
        if body.get(name) is not None and models.reasons(model) and reasoning.get("effort") != "none":
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            yield Violation("W-O26", name, text, param=name)
    if reasoning.get("effort") and not models.reasons(model):
        text = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        yield Violation("W-O26", "reasoning", text, code="unsupported_parameter", param="reasoning.effort")


def check_tools(body: Json) -> Found:
    """W-O24, W-O25: the functions and the choice among them."""
    names = []
    for number, tool in enumerate(as_list(body.get("tools"))):
        place = f"tools[{number}]"
        if as_object(tool).get("type") != "function":
            continue
        if "function" in tool:
            yield missing(f"{place}.name", "W-O17")
            continue
        names.append(as_text(tool.get("name")))
        yield from check_function(tool, place, names[-1])
    choice = as_object(body.get("tool_choice"))
    if choice.get("type") == "function" and choice.get("name") not in names:
        text = f"Tool choice '{choice.get('name')}' not found in 'tools' parameter."
        yield Violation("W-O17", "tool_choice", text, param="tool_choice")


def check_function(function: Json, place: str, name: str) -> Found:
    """W-O24, W-O25: a function's name and schema, under `place` (`tools[0]`, `tools[0].function`)."""
    if not _NAME.match(name):
        text = (
            f"Invalid '{place}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'."
        )
        yield Violation("W-O25", place, text, code="invalid_value", param=f"{place}.name")
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        yield wrong_type(f"{place}.parameters", "an object", parameters, "W-O24")
        return
    schema = as_object(parameters)
    problem = strict_problem(schema) if function.get("strict") is True else None
    if schema and schema.get("type") != "object":
        problem = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    if problem:
        text = f"Invalid schema for function '{name}': {problem}"
        code = "invalid_function_parameters"
        yield Violation("W-O24", place, text, code=code, param=f"{place}.parameters")


def check_format(body: Json, items: list[Json]) -> Found:
    """W-O24, W-O26: the output format."""
    form = as_object(as_object(body.get("text")).get("format"))
    if form.get("type") == "json_schema":
        yield from check_schema_format(form, "text.format")
    if form.get("type") == "json_object":
        spoken = json.dumps([item for item in items if kind_of(item) == "message"]).lower()
        if "json" not in spoken:
            text = (
                "Response input messages must contain the word 'json' in some form to use 'text.format' of type "
                "'json_object'."
            )
            yield Violation("W-O26", "text.format", text, param="input")


def check_schema_format(form: Json, place: str) -> Found:
    """W-O24 for structured output: a name, and a strict schema that is closed."""
    if not form.get("name"):
        yield missing(f"{place}.name", "W-O24")
    problem = strict_problem(form.get("schema")) if form.get("strict") is True else None
    if problem:
        text = f"Invalid schema for response_format '{form.get('name')}': {problem}"
        yield Violation("W-O24", place, text, code="invalid_json_schema", param=place)
