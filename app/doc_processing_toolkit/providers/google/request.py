"""The body of a generateContent request: the stored messages as the server takes them, and the settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.providers.base import ModelCall, ToolSpec
from doc_processing_toolkit.providers.google.contents import sent_contents
from doc_processing_toolkit.providers.google.schema import known_schema
from doc_processing_toolkit.providers.google.thinking import thinking_of

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_CONFIG = ("max_output_tokens", "temperature")
# Beside tools only newer models take a form for the answer (W-G23); the others are told of it in words.
_SCHEMA_WITH_TOOLS = "output_schema.with_tools"
_IN_THIS_FORM = "Give your final answer as JSON that fits this JSON schema, with nothing before or behind it:\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its body, which messages hold inline media, and what could not be done as asked."""

    body: dict[str, Any]
    with_media: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


def request_of(call: ModelCall) -> Request:
    """Return the request for a call."""
    sent = sent_contents(call.messages, call.row)
    config, warning = _config(call)
    in_words = call.schema is not None and "response_json_schema" not in config
    system = [*sent.system, call.instructions or "", _IN_THIS_FORM + json.dumps(call.schema) if in_words else ""]
    told = clean_text("\n\n".join(text for text in system if text.strip()))
    body: dict[str, Any] = {
        "system_instruction": {"parts": [{"text": told}]} if told else None,
        "tools": [{"function_declarations": [_declared(tool) for tool in call.tools]}] if call.tools else None,
        "tool_config": _tool_config(call),
        "generation_config": config,
    }
    kept = {name: value for name, value in body.items() if value}
    warnings = tuple(filter(None, (*sorted(sent.warnings), warning)))
    return Request({**kept, **call.row.extra_body, "contents": sent.contents}, tuple(sent.with_media), warnings)


def _config(call: ModelCall) -> tuple[dict[str, Any], str]:
    """Return the ``generation_config``, and what of it could not be done as asked."""
    config = {name: value for name, value in call.settings.items() if name in _CONFIG}
    if call.row.stop:
        config["stop_sequences"] = list(call.row.stop)
    thinking, warning = thinking_of(call.row, call.settings)
    if thinking:
        config["thinking_config"] = thinking
    if call.schema is not None and (not call.tools or call.row.takes_setting(_SCHEMA_WITH_TOOLS)):
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = known_schema(call.schema)
    return config, warning


def _declared(tool: ToolSpec) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "description": clean_text(tool.description)}
    if tool.parameters.get("properties"):
        declared["parameters_json_schema"] = known_schema(tool.parameters)
    return declared


def _tool_config(call: ModelCall) -> dict[str, Any] | None:
    choice = call.settings.get("tool_choice")
    if choice is None or not call.tools:
        return None
    config: dict[str, Any] = {"mode": _MODES.get(choice, "ANY")}
    if choice not in _MODES:
        config["allowed_function_names"] = [choice]
    return {"function_calling_config": config}
