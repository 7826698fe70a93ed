"""Chat-completions parameters, tools and images (W-F8, W-F9, W-F11, W-O24 to W-O27)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from support.strict.chat.profiles import Profile
from support.strict.responses import models
from support.strict.responses.media import check_image
from support.strict.responses.parameters import check_function, check_schema_format
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text, words

_FIREWORKS_MODEL = re.compile(r"accounts/[\w-]+/(models|deployedModels|routers)/[\w.-]+|fireworks/[\w.-]+")
_FIREWORKS_IMAGE = re.compile(r"data:image/(png|jpe?g|gif|bmp|tiff|x-portable-pixmap|webp);base64,")
_SCHEMA_WORDS = words("type anyOf oneOf allOf $ref enum const properties items additionalProperties not if")
_MOST_IMAGES, _MANY_IMAGES, _MANY_BYTES = 60, 30, 10 * 1024 * 1024


def check_model(model: str, profile: Profile) -> Found:
    """W-O27: a model that the server does not have."""
    if profile.checks_model and model and not models.is_known(model):
        text = f"The model `{model}` does not exist or you do not have access to it."
        yield Violation("W-O27", "model", text, status=404, code="model_not_found")
    if profile.name == "fireworks" and not _FIREWORKS_MODEL.match(model):
        text = "Model not found, inaccessible, and/or not deployed"
        yield Violation("W-F1", "model", text, status=404, code="NOT_FOUND")


def check_parameters(body: Json, model: str, profile: Profile) -> Found:
    """Parameters that the server or the model refuses."""
    if profile.name == "openai":
        yield from _check_openai(body, model)
    thinking = as_object(body.get("thinking"))
    if profile.name == "fireworks" and thinking:
        if body.get("reasoning_effort") is not None:
            yield Violation("W-F8", "thinking", "reasoning_effort and thinking cannot be specified together")
        budget = thinking.get("budget_tokens")
        if isinstance(budget, int) and budget < 1024:
            text = "thinking.budget_tokens: Input should be greater than or equal to 1024"
            yield Violation("W-F8", "thinking.budget_tokens", text)
    form = as_object(body.get("response_format"))
    if form.get("type") == "json_schema" and profile.name == "openai":
        if re.match(r"gpt-(4|3\.5)(-turbo.*|-\d{4}.*)?\Z", model):
            text = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
            yield Violation("W-O26", "response_format", text)
        yield from check_schema_format(as_object(form.get("json_schema")), "response_format.json_schema")


def _check_openai(body: Json, model: str) -> Found:
    if not models.reasons(model):
        return
    if body.get("max_tokens") is not None:
        text = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        yield Violation("W-O26", "max_tokens", text, code="unsupported_parameter", param="max_tokens")
    for name in ("stop", "temperature", "top_p"):
        if body.get(name) is not None and body.get("reasoning_effort") != "none":
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            yield Violation("W-O26", name, text, code="unsupported_parameter", param=name)


def check_tools(body: Json, profile: Profile) -> Found:
    """W-O24, W-O25, W-F11: names and schemas of functions."""
    names = []
    for number, tool in enumerate(as_list(body.get("tools"))):
        function = as_object(as_object(tool).get("function"))
        if not function:
            continue
        names.append(as_text(function.get("name")))
        yield from check_function(function, f"tools[{number}].function", names[-1])
        odd = next(_not_understood(function.get("parameters")), None) if profile.name == "fireworks" else None
        if odd is not None:
            text = f"JSON Schema not supported: could not understand the instance `{odd}`."
            yield Violation("W-F11", f"tools[{number}].function.parameters", text)
    choice = as_object(as_object(body.get("tool_choice")).get("function")).get("name")
    if choice is not None and choice not in names:
        text = f"Tool choice '{choice}' not found in 'tools' parameter."
        yield Violation("W-O17", "tool_choice", text, param="tool_choice")


def _not_understood(schema: Any) -> Iterator[Json]:
    if not isinstance(schema, dict):
        return
    if schema and not _SCHEMA_WORDS & set(schema):
        yield schema
    for inner in as_object(schema.get("properties")).values():
        yield from _not_understood(inner)
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in as_list(schema.get(key)):
            yield from _not_understood(inner)
    yield from _not_understood(schema.get("items"))


def check_audio(messages: list[Any], model: str, profile: Profile) -> Found:
    """W-F10: audio parts are for audio models only."""
    for number, given in enumerate(messages if profile.name == "openai" and "audio" not in model else ()):
        for index, part in enumerate(as_list(as_object(given).get("content"))):
            if as_object(part).get("type") == "input_audio":
                text = f"Invalid 'messages[{number}]'. Content blocks are expected to be either text or image_url type."
                place = f"messages[{number}]"
                yield Violation("W-F10", f"{place}.content[{index}]", text, code="invalid_value", param=place)


def check_images(messages: list[Any], profile: Profile) -> Found:
    """W-F9, W-O21: image parts, their data URLs, how many and how large."""
    found = size = 0
    for number, given in enumerate(messages):
        for index, part in enumerate(as_list(as_object(given).get("content"))):
            if as_object(part).get("type") != "image_url":
                continue
            place, image = f"messages[{number}].content[{index}].image_url", part.get("image_url")
            # A bare string in place of the object was accepted by compatible servers.
            url = image if isinstance(image, str) else as_object(image).get("url")
            if not isinstance(url, str):
                text = f"Invalid type for '{place}.url': expected a base64-encoded data URL, but got null instead."
                yield Violation("W-O17", place, text, code="invalid_type", param=f"{place}.url")
                continue
            found, size = found + 1, size + (len(url) if url.startswith("data:") else 0)
            yield from check_image(url, f"{place}.url") if profile.name == "openai" else _check_fireworks(url, place)
    if profile.name == "fireworks":
        yield from _check_amount(found, size)


def _check_fireworks(url: str, place: str) -> Found:
    if url.startswith("data:") and not re.match(
        r"data:image/(png|jpe?g|gif|bmp|tiff|x-portable-pixmap|webp);base64,", url
    ):
        yield Violation("W-F9", place, "The image is not in a supported format.")


def _check_amount(found: int, size: int) -> Found:
    if found > _MOST_IMAGES:
        text = (
            f"Too many images were provided, we currently limit the number of images per conversation to {_MOST_IMAGES}"
        )
        yield Violation("W-F9", "messages", text)
    elif found > _MANY_IMAGES or size > _MANY_BYTES:
        text = f"{found} images with {size} bytes of base64: the documentation allows 30 and 10 MB"
        yield Violation("W-F9", "messages", text, status=None)
