"""OpenAI Responses fields: top level, input items, content parts (W-O11, W-O12, W-O16, W-O17)."""

from __future__ import annotations

import json
from typing import Any

from support.strict.rule import Found, Json, Violation, as_list, as_object, words

TOP = words(
    "access_programs background background_options context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
)
_MOVED = {"response_format": "text.format", "max_tokens": "max_output_tokens", "messages": "input"}
# kind: (required, optional), after the parameter types of openai 3.57.0.
ITEMS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "message": (words("role content"), words("id status phase")),
    "function_call": (words("arguments call_id name"), words("id status async caller namespace")),
    "function_call_output": (words("call_id output"), words("id status caller name namespace")),
    "reasoning": (words("summary"), words("id encrypted_content content status")),
    "custom_tool_call": (words("call_id input name"), words("id async caller namespace status")),
    "custom_tool_call_output": (words("call_id output"), words("id caller status")),
    "item_reference": (words("id"), frozenset()),
    "web_search_call": (words("id"), words("action status")),
    "file_search_call": (words("id queries status"), words("results")),
    "code_interpreter_call": (words("id container_id"), words("code outputs status")),
    "image_generation_call": (
        words("id"),
        words("action background error output_format quality result revised_prompt size status svg_usage"),
    ),
    "mcp_list_tools": (words("id server_label tools"), words("error")),
    "mcp_call": (words("id arguments name server_label"), words("approval_request_id error output status")),
    "mcp_approval_request": (words("id arguments name server_label"), frozenset()),
    "mcp_approval_response": (words("approval_request_id approve"), words("id reason")),
    "compaction": (words("encrypted_content"), words("id")),
    "compaction_trigger": (frozenset(), words("id")),
    "tool_search_call": (words("arguments"), words("call_id execution id status")),
    "tool_search_output": (words("tools"), words("call_id execution id status")),
}
# Kinds whose inner shape is not checked here.
OPEN_ITEMS = words(
    "additional_tools apply_patch_call apply_patch_call_output computer_call computer_call_output configuration_update "
    "local_shell_call local_shell_call_output program program_output shell_call shell_call_output"
)
_INPUT_PARTS = {
    "input_text": words("text prompt_cache_breakpoint"),
    "input_image": words("detail file_id image_url prompt_cache_breakpoint"),
    "input_file": words("detail file_data file_id file_url filename prompt_cache_breakpoint"),
}
_OUTPUT_PARTS = {"output_text": words("text annotations logprobs"), "refusal": words("refusal")}
_SUPPORTED = (
    "'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'"
)


def items_of(body: Json) -> list[Json]:
    """Return the input items; a string is one user message, an item without `type` a message."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [as_object(item) for item in as_list(given)]


def kind_of(item: Json) -> str:
    """Return an item's type."""
    kind = item.get("type")
    return str(kind) if kind else "message"


def unknown(path: str, rule: str = "W-O17") -> Violation:
    """The refusal of a field that the API does not have."""
    return Violation(rule, path, f"Unknown parameter: '{path}'.", code="unknown_parameter", param=path)


def missing(path: str, rule: str = "W-O17") -> Violation:
    """The refusal of an absent required field."""
    text = f"Missing required parameter: '{path}'."
    return Violation(rule, path, text, code="missing_required_parameter", param=path)


def wrong_type(path: str, wanted: str, value: Any, rule: str = "W-O17") -> Violation:
    """The refusal of a value of the wrong JSON type."""
    names = {dict: "an object", list: "an array", str: "a string", type(None): "null", bool: "a boolean"}
    found = names.get(type(value), "a number")
    text = f"Invalid type for '{path}': expected {wanted}, but got {found} instead."
    return Violation(rule, path, text, code="invalid_type", param=path)


def check_top(body: Json) -> Found:
    """W-O17, W-O26: names at the top level."""
    for name in sorted(set(body) - TOP):
        if name in _MOVED:
            text = (
                f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{_MOVED[name]}'."
            )
            yield Violation("W-O26", name, text, code="unsupported_parameter")
        else:
            yield unknown(name)
    if "model" not in body:
        yield missing("model")
    if not isinstance(body.get("input", []), str | list):
        yield wrong_type("input", "one of a string or array of objects", body["input"])


def check_items(items: list[Json]) -> Found:
    """W-O11, W-O12, W-O16, W-O17: the shape of every input item and of its parts."""
    for number, item in enumerate(items):
        place, kind = f"input[{number}]", kind_of(item)
        if kind in ITEMS:
            required, optional = ITEMS[kind]
            yield from (missing(f"{place}.{name}") for name in sorted(required - set(item)))
            yield from (unknown(f"{place}.{name}") for name in sorted(set(item) - required - optional - {"type"}))
        elif kind not in OPEN_ITEMS:
            names = ", ".join(f"'{name}'" for name in sorted(ITEMS))
            text = f"Invalid value: '{kind}'. Supported values are: {names}."
            yield Violation("W-O16", place, text, code="invalid_value", param=f"{place}.type")
        if kind == "message":
            yield from _check_message(item, place)
        elif kind == "function_call":
            yield from _check_arguments(item, place)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from _check_output(item.get("output"), f"{place}.output")
        elif kind == "reasoning" and not isinstance(item.get("summary", []), list):
            yield wrong_type(f"{place}.summary", "an array of objects", item["summary"], "W-O6")


def _check_message(item: Json, place: str) -> Found:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        text = f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        yield Violation("W-O18", place, text, code="invalid_value", param=f"{place}.role")
    if not isinstance(content, str | list):
        if "content" in item:
            yield wrong_type(f"{place}.content", "one of a string or array of objects", content)
        return
    parts = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
    for index, part in enumerate(content if isinstance(content, list) else []):
        yield from _check_part(part, f"{place}.content[{index}]", parts)


def _check_part(part: Any, place: str, allowed: dict[str, frozenset[str]]) -> Found:
    if not isinstance(part, dict):
        yield wrong_type(place, "an object", part)
        return
    kind = part.get("type")
    if kind not in allowed:
        text = f"Invalid value: '{kind}'. Supported values are: {_SUPPORTED}."
        yield Violation("W-O16", place, text, code="invalid_value", param=f"{place}.type")
        return
    yield from (unknown(f"{place}.{name}") for name in sorted(set(part) - allowed[kind] - {"type"}))
    field = {"input_text": "text", "output_text": "text", "refusal": "refusal"}.get(kind)
    if field and not isinstance(part.get(field), str):
        yield wrong_type(f"{place}.{field}", "a string", part.get(field))


def _check_arguments(item: Json, place: str) -> Found:
    arguments = item.get("arguments")
    if "arguments" in item and not isinstance(arguments, str):
        yield wrong_type(f"{place}.arguments", "a string", arguments, "W-O11")
    elif isinstance(arguments, str) and not is_json(arguments):
        yield Violation("W-O11", f"{place}.arguments", "the arguments of a call are not JSON", status=None)


def is_json(text: str) -> bool:
    """Whether a text parses as JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _check_output(output: Any, place: str) -> Found:
    if output is not None and not isinstance(output, str | list):
        yield wrong_type(place, "one of a string or array of objects", output, "W-O12")
    for index, part in enumerate(as_list(output)):
        yield from _check_part(part, f"{place}[{index}]", _INPUT_PARTS)
