"""The body of a Messages request: the stored messages as the server takes them, the settings and the betas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.anthropic import text_of
from doc_processing_toolkit.dialects.anthropic_turns import round_lacks_thinking
from doc_processing_toolkit.providers.anthropic.messages import Omission, sent_messages
from doc_processing_toolkit.providers.anthropic.schema import OpenSchemaError, closed_schema
from doc_processing_toolkit.providers.anthropic.thinking import Thinking, bind, thinking_of
from doc_processing_toolkit.providers.base import ModelCall, RequestFailedError, ToolSpec

# What an answer may take where neither the agent nor the registry says; every current Claude can write as much.
USUAL_MAX_TOKENS = 32_000
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request, ready to be encoded: its body, the betas that it needs, and what could not be done as asked."""

    body: dict[str, Any]
    betas: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Refused:
    """The thinking blocks, by signature, that the server has refused as bound to another conversation (W-A29)."""

    tokens: set[str] = field(default_factory=set)


def request_of(call: ModelCall, refused: Refused) -> Request:
    """Return the request for a call.

    Raises :class:`RequestFailedError` for what the server would refuse: a schema or a budget that cannot be, a
    picture of a kind or size that it does not take.
    """
    row, settings = call.row, call.settings
    choice, warnings = _tool_choice(call)
    max_tokens = settings.get("max_output_tokens") or row.max_output_tokens or USUAL_MAX_TOKENS
    thinking = thinking_of(row, settings, max_tokens, forces_tool=_forces(choice))
    if thinking.needs_a_beginning and round_lacks_thinking(call.messages):
        # The round began under a forced tool, without thinking; with thinking the server would refuse it (W-A24).
        thinking = Thinking()
    if thinking.warning:
        warnings.append(thinking.warning)
    thinking_field, betas = bind(thinking, row, settings)
    system, messages = _system_and_messages(call)
    body: dict[str, Any] = {
        "model": row.model,
        "max_tokens": max_tokens,
        "stream": True,
        "system": system,
        "tools": [_tool(tool) for tool in call.tools],
        "tool_choice": choice,
        "thinking": thinking_field,
        "output_config": _output_config(call),
        "stop_sequences": list(row.stop),
        "container": call.container,
        # The server marks the last block by itself, so each request finds what the one before it wrote.
        "cache_control": {"type": "ephemeral"} if _is_worth_caching(call) else None,
        "messages": sent_messages(messages, row, _omission(call, thinking, refused)),
    }
    kept = {name: value for name, value in body.items() if name == "messages" or value}
    return Request({**kept, **row.extra_body}, tuple(betas), tuple(warnings))


def _system_and_messages(call: ModelCall) -> tuple[str, list[Message]]:
    """Return the system prompt and the messages; a system message that a history begins with is part of the prompt."""
    messages = list(call.messages)
    texts = [call.instructions or ""]
    while messages and messages[0].get("role") == "system":
        texts.insert(-1, text_of(messages.pop(0)))
    return clean_text("\n\n".join(text for text in texts if text.strip())), messages


def _omission(call: ModelCall, thinking: Thinking, refused: Refused) -> Omission:
    """Return which thinking stays out of this request (E02, E03)."""
    checks_without_thinking = call.row.takes_setting("thinking.checked_when_off")
    strips = bool(call.settings.get("prefix_strip_fallback"))
    return Omission(
        earlier_thinking=thinking.is_off and checks_without_thinking,
        tokens=frozenset(refused.tokens) if strips else frozenset(),
    )


def _is_worth_caching(call: ModelCall) -> bool:
    """Whether a later request will begin as this one does: writing to the cache costs a quarter more than reading."""
    return call.is_continued or bool(call.tools) or any(message.get("role") == "assistant" for message in call.messages)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "input_schema": {"type": "object", **tool.parameters}}
    return {**made, "description": clean_text(tool.description)} if tool.description else made


def _tool_choice(call: ModelCall) -> tuple[dict[str, Any] | None, list[str]]:
    asked = call.settings.get("tool_choice")
    one_by_one = call.settings.get("parallel_tool_calls") is False
    if not call.tools or (asked is None and not one_by_one):
        return None, []
    kind = _CHOICES.get(asked or "auto", "tool")
    warnings = []
    if kind in ("any", "tool") and not call.row.takes_setting("tool_choice.forced"):
        warnings.append("it cannot be made to call a tool; tool_choice is 'auto'")
        kind = "auto"
    choice: dict[str, Any] = {"type": kind}
    if kind == "tool":
        choice["name"] = asked
    if one_by_one and kind != "none":
        choice["disable_parallel_tool_use"] = True
    return choice, warnings


def _forces(choice: Mapping[str, Any] | None) -> bool:
    return choice is not None and choice["type"] in ("any", "tool")


def _output_config(call: ModelCall) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if call.settings.get("effort") is not None:
        config["effort"] = call.settings["effort"]
    if call.schema is not None:
        try:
            config["format"] = {"type": "json_schema", "schema": closed_schema(call.schema)}
        except OpenSchemaError as error:
            raise RequestFailedError(
                f"{call.row.label} cannot answer in this form: {error}",
                is_retryable=False,
                provider=call.row.provider,
                code="output_schema",
            ) from error
    return config
