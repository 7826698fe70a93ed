"""Chat-completions messages: fields, roles, parts, arguments (W-F1 to W-F3, W-F5, W-F10, W-F17, W-O15, W-O17)."""

from __future__ import annotations

from typing import Any

from support.strict.chat.profiles import Profile
from support.strict.responses.fields import is_json, missing, unknown, wrong_type
from support.strict.rule import Found, Json, Violation, as_list, as_object, words

_OTHERS = {
    "system": words("role content name"),
    "developer": words("role content name"),
    "user": words("role content name"),
    "tool": words("role content name tool_call_id"),
}


def check_top(body: Json, profile: Profile) -> Found:
    """W-F1, W-O17: unknown names at the top level, in the server's own words."""
    for name in sorted(set(body) - profile.top) if profile.top else ():
        if profile.name == "fireworks":
            yield _extra(name, body[name])
        else:
            text = f"Unrecognized request argument supplied: {name}"
            yield Violation("W-O17", name, text)
    for name in ("model", "messages"):
        if name not in body:
            yield missing(name, "W-F2")


def _extra(field: str, value: Any) -> Violation:
    text = f"Extra inputs are not permitted, field: '{field}', value: {value!r}"
    return Violation("W-F1", field, text[:300])


def check_messages(messages: list[Any], profile: Profile) -> Found:
    """The shape of each message for this server."""
    if not messages:
        text = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
        yield Violation("W-F2", "messages", text, code="empty_array", param="messages")
    for number, given in enumerate(messages):
        place, message = f"messages[{number}]", as_object(given)
        role = message.get("role")
        if role not in profile.roles:
            names = ", ".join(f"'{name}'" for name in sorted(profile.roles))
            text = f"Invalid value: '{role}'. Supported values are: {names}."
            yield Violation("W-F2", place, text, code="invalid_value", param=f"{place}.role")
            continue
        allowed = profile.assistant if role == "assistant" else _OTHERS[role]
        for name in sorted(set(message) - allowed) if allowed else ():
            path = f"{place}.{name}"
            yield _extra(path, message[name]) if profile.name == "fireworks" else unknown(path)
        yield from _check_content(message, place, profile)
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            yield missing(f"{place}.tool_call_id", "W-F3")
        for index, call in enumerate(as_list(message.get("tool_calls"))):
            yield from _check_call(as_object(call), f"{place}.tool_calls[{index}]", profile)


def _check_content(message: Json, place: str, profile: Profile) -> Found:
    content, role = message.get("content"), message["role"]
    if content is None:
        if role != "assistant" or not (message.get("tool_calls") or message.get("refusal")):
            wanted = "one of a string or array of objects"
            yield (
                missing(f"{place}.content", "W-F2")
                if "content" not in message
                else wrong_type(f"{place}.content", wanted, None, "W-F2")
            )
    elif not isinstance(content, str | list):
        yield wrong_type(f"{place}.content", "one of a string or array of objects", content)
    for index, part in enumerate(as_list(content)):
        yield from _check_part(part, f"{place}.content[{index}]", role, profile)


def _check_part(part: Any, place: str, role: str, profile: Profile) -> Found:
    kind, where = as_object(part).get("type"), place.split(".", 1)[0]
    allowed = profile.parts if role == "user" or not profile.top else words("text refusal")
    if role == "tool" and kind == "image_url":
        text = (
            f"Invalid '{where}'. Image URLs are only allowed for messages with role 'user', but this message with "
            "role 'tool' contains an image URL."
        )
        yield Violation("W-F3", place, text, code="invalid_value", param=where)
    elif kind not in allowed:
        text = f"Invalid '{where}'. Content blocks are expected to be either text or image_url type."
        if profile.name == "openai":
            names = "'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'"
            text = f"Invalid value: '{kind}'. Supported values are: {names}."
        rule = "W-O16" if profile.name == "openai" else "W-F10"
        yield Violation(rule, place, text, code="invalid_value", param=f"{place}.type")
    elif kind == "text" and not isinstance(part.get("text"), str):
        yield wrong_type(f"{place}.text", "a string", part.get("text"))
    elif kind == "text" and profile.top:
        known = words("type text prompt_cache_breakpoint")
        yield from (unknown(f"{place}.{name}", "W-F1") for name in sorted(set(part) - known))


def _check_call(call: Json, place: str, profile: Profile) -> Found:
    function, identifier = as_object(call.get("function")), call.get("id")
    if not isinstance(identifier, str) or not identifier:
        yield missing(f"{place}.id", "W-F4")
    elif profile.longest_tool_call_id and len(identifier) > profile.longest_tool_call_id:
        text = (
            f"Invalid '{place}.id': string too long. Expected a string with maximum length "
            f"{profile.longest_tool_call_id}, but got a string with length {len(identifier)} instead."
        )
        yield Violation("W-O15", place, text, code="string_above_max_length", param=f"{place}.id")
    if call.get("type") not in ("function", "custom") and profile.top:
        yield missing(f"{place}.type", "W-F4")
    for name in sorted(set(call) - {"id", "type", "function", "custom", "index"}) if profile.top else ():
        yield unknown(f"{place}.{name}", "W-F1")
    arguments = function.get("arguments")
    if "function" in call and not isinstance(arguments, str):
        yield wrong_type(f"{place}.function.arguments", "a string", arguments, "W-F5")
    elif isinstance(arguments, str) and not is_json(arguments):
        yield Violation("W-F5", place, "the arguments of a call are not JSON: some chat templates fail on it")
