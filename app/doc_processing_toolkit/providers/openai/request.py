"""The body of a Responses request: the stored items as they are, and the settings in the wire's words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from doc_processing_toolkit.core import switches
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.providers.base import ModelCall, ToolSpec
from doc_processing_toolkit.providers.openai.reasoning import does_reason, reasoning_of
from doc_processing_toolkit.providers.openai.schema import answer_format, tool_parameters

ENCRYPTED_REASONING = "reasoning.encrypted_content"
_CHOICES = frozenset({"auto", "none", "required"})
_AS_JSON = "Answer with nothing but JSON of this JSON schema:\n"


def keeps_payloads() -> bool:
    """Whether reasoning is replayed from its encrypted payload, and nothing is left with the server (B09)."""
    return not switches.is_off(switches.OPENAI_RETAIN_ENCRYPTED_REASONING)


def body_of(call: ModelCall, items: Sequence[Message]) -> dict[str, Any]:
    """Return the request's JSON body around these items."""
    row, settings = call.row, call.settings
    body: dict[str, Any] = {
        "model": row.model,
        "input": list(items),
        "stream": True,
        # The padding against eavesdroppers on plain connections costs a third of a stream.
        "stream_options": {"include_obfuscation": False},
    }
    if keeps_payloads():
        body["store"] = False
        if does_reason(row):
            body["include"] = [ENCRYPTED_REASONING]
    reasoning = reasoning_of(row, settings)
    if reasoning is not None:
        body["reasoning"] = reasoning
    most = settings.get("max_output_tokens")
    # The model's own limit need not be said: it would count against the account's tokens per minute.
    if most is not None and most != row.max_output_tokens:
        body["max_output_tokens"] = most
    if settings.get("temperature") is not None:
        body["temperature"] = settings["temperature"]
    body.update(_tools(call))
    body.update(_text(call))
    body.update(row.extra_body)
    return body


def _tools(call: ModelCall) -> dict[str, Any]:
    if not call.tools:
        return {}
    fields: dict[str, Any] = {"tools": [_tool(tool) for tool in call.tools]}
    choice = call.settings.get("tool_choice")
    if choice is not None:
        fields["tool_choice"] = choice if choice in _CHOICES else {"type": "function", "name": choice}
    if call.settings.get("parallel_tool_calls") is not None:
        fields["parallel_tool_calls"] = call.settings["parallel_tool_calls"]
    return fields


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters, is_strict = tool_parameters(tool.parameters)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": is_strict,
    }


def _text(call: ModelCall) -> dict[str, Any]:
    """Return the instructions and the format of the answer."""
    instructions = call.instructions
    fields: dict[str, Any] = {}
    if call.schema is not None:
        form = answer_format(call.schema)
        if form is not None:
            fields["text"] = {"format": form}
        else:
            # Only objects can be asked for as a format; any other schema is asked for in words.
            instructions = _joined(instructions, call.schema)
    if instructions:
        fields["instructions"] = instructions
    return fields


def _joined(instructions: str | None, schema: Mapping[str, Any]) -> str:
    asked = _AS_JSON + json.dumps(schema, ensure_ascii=False)
    return f"{instructions}\n\n{asked}" if instructions else asked
