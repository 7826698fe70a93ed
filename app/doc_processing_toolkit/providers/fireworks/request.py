"""What Fireworks takes of a chat request: it refuses every field that it does not know (W-F1 to W-F11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.protocols import Message

_FIELDS = {
    "system": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "reasoning_content"}),
    "tool": frozenset({"role", "content", "name", "tool_call_id"}),
}
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_SEEN_PARTS = frozenset({"text", "image_url", "video_url"})
_TEXT_ONLY = frozenset({"text"})
# A schema must say one of these to be understood (W-F11); an empty one is anything.
_SAYS_WHAT = frozenset(
    {
        *("type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"),
        *("properties", "items", "additionalProperties", "not", "if"),
    }
)


def fitted(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat request's body as Fireworks takes it; messages that need no change are the same objects."""
    fitting = {key: value for key, value in body.items() if key != "thinking"}
    if "reasoning_effort" not in fitting:
        effort = _effort(body.get("thinking"))
        if effort is not None:
            fitting["reasoning_effort"] = effort
    fitting["messages"] = [_message(message) for message in body["messages"]]
    if "tools" in body:
        fitting["tools"] = [_tool(tool) for tool in body["tools"]]
    return fitting


def _effort(thinking: bool | int | None) -> str | int | None:
    """Return what ``reasoning_effort`` says for the agent's ``thinking``; the two exclude each other (W-F8)."""
    if thinking is None:
        return None
    if isinstance(thinking, bool):
        return "medium" if thinking else "none"
    return thinking


def _message(message: Message) -> Message:
    role = "system" if message.get("role") == "developer" else str(message.get("role"))
    allowed = _FIELDS.get(role)
    if allowed is None:
        return message
    fitting = message
    if not allowed.issuperset(message) or role != message["role"]:
        fitting = {key: value for key, value in message.items() if key in allowed}
        fitting["role"] = role
    content = message.get("content")
    if isinstance(content, list):
        takes = _SEEN_PARTS if role == "user" else _TEXT_ONLY
        parts = [_part(part, takes) for part in content]
        if any(new is not old for new, old in zip(parts, content, strict=True)):
            fitting = {**fitting, "content": parts}
    calls = message.get("tool_calls")
    if isinstance(calls, list) and not all(isinstance(call, dict) and _CALL_FIELDS.issuperset(call) for call in calls):
        known = [_known(call, _CALL_FIELDS) for call in calls if isinstance(call, dict)]
        fitting = {**fitting, "tool_calls": known}
    return fitting


def _part(part: Any, takes: frozenset[str]) -> Any:
    """Return a content part; what the role does not take becomes text that says so (W-F3, W-F10)."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in takes:
        refusal = part.get("refusal") if isinstance(part, dict) else None
        return {"type": "text", "text": refusal if isinstance(refusal, str) else f"[{kind}, not accepted by Fireworks]"}
    return _known(part, frozenset({"type", kind}))


def _known(value: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    if names.issuperset(value):
        return value
    return {key: item for key, item in value.items() if key in names}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    parameters = _understood(function["parameters"])
    return {**tool, "function": {**function, "parameters": parameters}}


def _understood(schema: Any) -> Any:
    """Return a schema in which every part says what it is; one that only restricts becomes anything."""
    if not isinstance(schema, Mapping):
        return schema
    if not _SAYS_WHAT.intersection(schema):
        return {}
    inner: dict[str, Any] = {}
    if isinstance(schema.get("properties"), Mapping):
        inner["properties"] = {name: _understood(value) for name, value in schema["properties"].items()}
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            inner[key] = [_understood(value) for value in schema[key]]
    if "items" in schema:
        inner["items"] = _understood(schema["items"])
    return {**schema, **inner}
