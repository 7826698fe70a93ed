"""Gemini declarations, schemas and parameters (W-G12, W-G22, W-G23; X-G1: recorded refusal of penalties)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from support.strict.google.parts import spelled, unknown
from support.strict.google.signatures import demands_signatures
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text, words

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}\Z")
_MODEL = re.compile(r"(models/|tunedModels/)?(gemini|gemma|learnlm|aqa|nano-banana|imagen|veo)(-|\Z)")
_SCHEMA = words(
    "anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems minLength "
    "minProperties minimum nullable pattern properties propertyOrdering required title type"
)
_DECLARATION = words("behavior description name parameters parametersJsonSchema response responseJsonSchema")


def check_model(model: str) -> Found:
    """W-G30: a model that is not there."""
    if not _MODEL.match(model):
        text = (
            f"models/{model} is not found for API version v1beta, or is not supported for generateContent. "
            "Call ListModels to see the list of available models and their supported methods."
        )
        yield Violation("W-G30", "model", text, status=404, code="NOT_FOUND")


def check_tools(body: Json, model: str) -> Found:
    """W-G12, W-G22, W-G23 and what the model does not take."""
    config = spelled(body.get("generationConfig") or body.get("generation_config"))
    declared = 0
    for number, tool in enumerate(as_list(body.get("tools"))):
        for index, given in enumerate(as_list(spelled(tool).get("functionDeclarations"))):
            declared += 1
            place = f"tools[{number}].function_declarations[{index}]"
            yield from _check_declaration(as_object(given), place)
    if declared and as_text(config.get("responseMimeType")) == "application/json" and not demands_signatures(model):
        text = "Function calling with a response mime type: 'application/json' is unsupported"
        yield Violation("W-G23", "generation_config", text)
    if "responseSchema" in config:
        yield from _unknown_words(config["responseSchema"], "generation_config.response_schema")
    for name in ("presencePenalty", "frequencyPenalty"):
        if name in config and re.match(r"gemini-2\.5", model):
            yield Violation("X-G1", f"generation_config.{name}", f"Penalty is not enabled for models/{model}")
            return


def _check_declaration(given: Json, place: str) -> Found:
    fields = spelled(given)
    yield from (unknown(name, place) for name in sorted(fields) if name not in _DECLARATION)
    if not _NAME.match(as_text(fields.get("name"))):
        text = (
            f"* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an underscore. "
            "Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum "
            "length of 64.\n"
        )
        yield Violation("W-G12", place, text)
    if "parameters" in fields:
        yield from _unknown_words(fields["parameters"], f"{place}.parameters")
        yield from _check_objects(fields["parameters"], f"GenerateContentRequest.{place}.parameters")
    if "parameters" in fields and "parametersJsonSchema" in fields:
        text = f"* GenerateContentRequest.{place}: parameters and parameters_json_schema are mutually exclusive.\n"
        yield Violation("W-G22", place, text)


def _unknown_words(schema: Any, place: str) -> Iterator[Violation]:
    for name in sorted(as_object(schema)):
        if "".join(spelled({name: 1})) not in _SCHEMA:
            found = unknown(name, place)
            yield Violation("W-G22", found.path, found.message, details=found.details)
    for step, inner in _nested(as_object(schema)):
        yield from _unknown_words(inner, f"{place}.{step}")


def _nested(schema: Json) -> Iterator[tuple[str, Any]]:
    fields = spelled(schema)
    for name, inner in as_object(fields.get("properties")).items():
        yield f"properties[{name}].value", inner
    if "items" in fields:
        yield "items", fields["items"]
    for number, inner in enumerate(as_list(fields.get("anyOf"))):
        yield f"any_of[{number}]", inner


def _check_objects(schema: Any, place: str, *, top: bool = True) -> Iterator[Violation]:
    fields = spelled(schema)
    empty = as_text(fields.get("type")).upper() == "OBJECT" and not fields.get("properties")
    if empty and not top:
        yield Violation("W-G22", place, f"* {place}.properties: should be non-empty for OBJECT type\n")
    for step, inner in _nested(as_object(schema)):
        yield from _check_objects(inner, f"{place}.{step}", top=False)
