"""The body of a chat-completions request: the stored messages as the row's server reads them, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.chat import text_of
from doc_processing_toolkit.providers.base import ModelCall, ToolSpec

_RENAMED = {"max_output_tokens": "max_tokens", "effort": "reasoning_effort"}
_FORCING = frozenset({"auto", "none", "required"})


def body_of(
    call: ModelCall, *, fields: Mapping[str, Any], stop: tuple[str, ...], asks_for_usage: bool = True
) -> dict[str, Any]:
    """Return the request's JSON body; ``fields`` and ``stop`` are what the connection adds to the row's own."""
    row = call.row
    body: dict[str, Any] = {"model": row.model, "messages": wire_messages(call), "stream": True}
    if row.wants_stream_options and asks_for_usage:
        body["stream_options"] = {"include_usage": True}
    stops = list(dict.fromkeys((*row.stop, *stop)))
    if stops:
        body["stop"] = stops
    for name, value in call.settings.items():
        if name == "tool_choice":
            value = _tool_choice(value)
        if name not in ("tool_choice", "parallel_tool_calls") or call.tools:
            body[_RENAMED.get(name, name)] = value
    if call.tools:
        body["tools"] = [_tool(tool) for tool in call.tools]
    if call.schema is not None:
        body["response_format"] = _response_format(call.schema)
    body.update(row.extra_body)
    body.update(fields)
    return body


def wire_messages(call: ModelCall) -> list[Message]:
    """Return the messages to send, the instructions first; stored messages are passed on as they are."""
    messages = list(call.messages)
    if call.row.joins_text_parts:
        messages = [_joined(message) for message in messages]
    if call.instructions:
        messages.insert(0, {"role": "system", "content": call.instructions})
    return messages


def _joined(message: Message) -> Message:
    """Return the message with its text parts as one string, for a server whose template takes strings only."""
    if isinstance(message.get("content"), list):
        return {**message, "content": text_of(message)}
    return message


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _tool_choice(choice: str) -> Any:
    if choice in _FORCING:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    name = str(schema.get("title") or "answer")
    safe = "".join(character if character.isalnum() or character in "_-" else "_" for character in name)[:64]
    return {"type": "json_schema", "json_schema": {"name": safe, "schema": dict(schema), "strict": True}}
