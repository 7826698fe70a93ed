"""Anthropic parameters: sampling, thinking, effort, tools and their schemas (W-A12, W-A28; X-A where named).

X-A1, X-A3, X-A4: the Messages API reference, by way of the parameter types of anthropic 2.14.0, and recorded use.
X-A2: sampling parameters left the SDK in 2.x; models from 4.7 on refuse them, older ones are recorded with them.
"""

from __future__ import annotations

import re
from typing import Any

from support.strict.anthropic.models import Traits
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


def check_parameters(body: Json, traits: Traits) -> Found:
    """Every top-level parameter that a model may refuse."""
    yield from _check_sampling(body, traits)
    yield from _check_thinking(body, traits)
    yield from _check_output(as_object(body.get("output_config")), traits)
    yield from _check_tools(body, traits)


def _check_sampling(body: Json, traits: Traits) -> Found:
    given = [name for name in ("temperature", "top_p", "top_k") if body.get(name) is not None]
    if given and not traits.takes_sampling:
        yield Violation("X-A2", given[0], f"`{given[0]}` is deprecated for this model.")
    most = body.get("max_tokens")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        yield Violation("X-A1", "max_tokens", "max_tokens: Input should be greater than or equal to 0")


def _check_thinking(body: Json, traits: Traits) -> Found:
    thinking = as_object(body.get("thinking"))
    kind, budget = thinking.get("type"), thinking.get("budget_tokens")
    if kind is None:
        return
    if kind == "adaptive" and kind not in traits.thinking_types:
        yield Violation("W-A28", "thinking", "adaptive thinking is not supported on this model")
    elif kind not in traits.thinking_types:
        text = f"thinking.type.{kind}: `thinking.type.{kind}` is not supported on this model"
        yield Violation("W-A28", "thinking.type", text)
    if kind == "enabled":
        if not isinstance(budget, int) or budget < 1024:
            text = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            yield Violation("W-A28", "thinking.budget_tokens", text)
        elif budget >= body.get("max_tokens", budget + 1):
            text = (
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
            )
            yield Violation("W-A28", "max_tokens", text)
    elif budget is not None:
        place = f"thinking.{kind}.budget_tokens"
        yield Violation("W-A13", place, f"{place}: Extra inputs are not permitted")


def _check_output(config: Json, traits: Traits) -> Found:
    effort = config.get("effort")
    if effort is not None and effort not in traits.efforts:
        text = f"output_config.effort: '{effort}' is not supported on this model"
        yield Violation("X-A3", "output_config.effort", text)
    form = as_object(config.get("format"))
    if form:
        if form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict):
            yield Violation("W-A13", "output_config.format", "output_config.format.schema: Field required")
        elif open_object(form["schema"]):
            text = (
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
            yield Violation("X-A4", "output_config.format.schema", text)


def open_object(schema: Any) -> bool:
    """Whether some object schema in `schema` does not forbid additional properties."""
    if isinstance(schema, list):
        return any(open_object(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return True
    nested = [schema.get(key) for key in ("items", "anyOf", "allOf")]
    for key in ("properties", "$defs", "definitions"):
        nested += list(as_object(schema.get(key)).values())
    return any(open_object(item) for item in nested)


def _check_tools(body: Json, traits: Traits) -> Found:
    tools = as_list(body.get("tools"))
    names: list[str] = []
    for number, tool in enumerate(tools):
        place, name = f"tools.{number}", as_text(as_object(tool).get("name"))
        names += [name] if name else []
        if as_object(tool).get("type") not in (None, "custom"):
            continue
        if not _NAME.match(name):
            text = f"{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            yield Violation("W-A12", place, text)
        schema = as_object(tool).get("input_schema")
        if as_object(schema).get("type") != "object":
            yield Violation("X-A1", place, f"{place}.custom.input_schema.type: Input should be 'object'")
    if len(set(names)) != len(names):
        yield Violation("X-A1", "tools", "tools: Tool names must be unique.")
    choice = as_object(body.get("tool_choice"))
    forced = choice.get("type") in ("any", "tool")
    if forced and not traits.takes_forced_tools:
        text = 'tool_choice: type "tool" and "any" are not supported for this model.'
        yield Violation("W-A28", "tool_choice", text)
    if forced and as_object(body.get("thinking")).get("type") == "enabled":
        yield Violation("X-A1", "tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        yield Violation("X-A1", "tool_choice", f"Tool '{choice.get('name')}' not found in provided tools")
