"""Anthropic ids and names, empty text, roles and the end of the list (W-A11, W-A12, W-A14 to W-A22, W-A35)."""

from __future__ import annotations

import re
from typing import Any

from support.strict.anthropic.models import Traits
from support.strict.anthropic.turns import Turn
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
MOST_MESSAGES = 100_000
"""W-A14."""
_MOST_CACHE_MARKS = 4


def check_names(turns: list[Turn]) -> Found:
    """W-A11, W-A12: the characters of ids and of tool names in history."""
    keys = (("tool_use", "id", _ID), ("tool_use", "name", _NAME), ("tool_result", "tool_use_id", _ID))
    for turn in turns:
        for placed in turn.of("tool_use", "tool_result"):
            for kind, key, pattern in keys:
                value = placed.block.get(key)
                if placed.kind == kind and isinstance(value, str) and not pattern.match(value):
                    place = f"{placed.path}.{kind}.{key}"
                    shape = pattern.pattern.replace(r"\Z", "$")
                    rule = "W-A12" if key == "name" else "W-A11"
                    yield Violation(rule, place, f"{place}: String should match pattern '^{shape}'")


def check_empty(messages: list[Any], turns: list[Turn]) -> Found:
    """W-A16 to W-A19: messages and text blocks without content. Thinking with empty text is legal (W-A27)."""
    last = len(messages) - 1
    for number, message in enumerate(messages):
        content = as_object(message).get("content")
        final_assistant = number == last and as_object(message).get("role") == "assistant"
        if content in ("", []) and not final_assistant:
            text = (
                f"messages.{number}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )
            yield Violation("W-A16", f"messages.{number}", text)
        yield from _check_text_blocks(content, number)
    if turns and turns[-1].role == "assistant" and turns[-1].blocks:
        ending = as_text(turns[-1].blocks[-1].block.get("text"))
        if ending != ending.rstrip():
            text = "messages: final assistant content cannot end with trailing whitespace"
            yield Violation("W-A19", f"messages.{last}", text)


def _check_text_blocks(content: object, number: int) -> Found:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else as_list(content)
    inner = [b for block in blocks for b in as_list(as_object(block).get("content"))]
    for block in blocks + [b for b in inner if as_object(b).get("type") == "text"]:
        if as_object(block).get("type") != "text" or not isinstance(block.get("text"), str):
            continue
        if block["text"] == "":
            yield Violation("W-A17", f"messages.{number}", "messages: text content blocks must be non-empty")
        elif not block["text"].strip() and len(blocks) == 1 and block is blocks[0]:
            # Beside other blocks it was accepted (W-C5).
            text = "messages: text content blocks must contain non-whitespace text"
            yield Violation("W-A18", f"messages.{number}", text)


def check_system(system: object) -> Found:
    """W-A17 for the system prompt."""
    for index, block in enumerate(as_list(system)):
        if as_object(block).get("type") != "text":
            yield Violation("W-A13", f"system.{index}", f"system.{index}: Input should be a text block")
        elif as_object(block).get("text") == "":
            yield Violation("W-A17", f"system.{index}", "system: text content blocks must be non-empty")


def check_roles(messages: list[Any], turns: list[Turn], traits: Traits) -> Found:
    """W-A21, W-A22: which roles, and who may speak last."""
    if not messages:
        yield Violation("W-A13", "messages", "messages: at least one message is required")
    for position, turn in enumerate(turns):
        place = f"messages.{turn.first}.role"
        if turn.role == "system" and traits.takes_system_messages:
            if position == 0 or turns[position - 1].role != "user":
                yield Violation("W-A22", place, f"{place}: a system message must follow a user message")
        elif turn.role not in ("user", "assistant"):
            yield Violation("W-A22", place, f"{place}: Input should be 'user' or 'assistant'")
    yield from _check_prefill(turns, traits)


def _check_prefill(turns: list[Turn], traits: Traits) -> Found:
    if not turns or turns[-1].role != "assistant" or traits.takes_prefill:
        return
    # A paused turn goes back as it is, and ends with what the server was doing.
    if not turns[-1].of("server_tool_use", "mcp_tool_use"):
        text = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield Violation("W-A21", f"messages.{turns[-1].last}", text)


def check_cache_marks(body: Json) -> Found:
    """W-A15: how many blocks carry `cache_control`, and which may not."""
    marked = 1 if body.get("cache_control") else 0
    for place, block in _every_block(body):
        if not block.get("cache_control"):
            continue
        marked += 1
        if block.get("type") == "text" and block.get("text") == "":
            yield Violation("W-A15", place, f"{place}: cache_control cannot be set for empty text blocks")
        if block.get("defer_loading"):
            yield Violation("W-A15", place, f"{place}: cache_control cannot be set on a tool with defer_loading")
    if marked > _MOST_CACHE_MARKS:
        text = f"A maximum of {_MOST_CACHE_MARKS} blocks with cache_control may be provided. Found {marked}."
        yield Violation("W-A15", "", text)


def _every_block(body: Json) -> list[tuple[str, Json]]:
    found = [(f"tools.{n}", as_object(tool)) for n, tool in enumerate(as_list(body.get("tools")))]
    found += [(f"system.{n}", as_object(block)) for n, block in enumerate(as_list(body.get("system")))]
    for number, message in enumerate(as_list(body.get("messages"))):
        for index, block in enumerate(as_list(as_object(message).get("content"))):
            found.append((f"messages.{number}.content.{index}", as_object(block)))
            nested = as_list(as_object(block).get("content"))
            found += [(f"messages.{number}.content.{index}.content.{n}", as_object(b)) for n, b in enumerate(nested)]
    return found


def check_container(body: Json, turns: list[Turn]) -> Found:
    """W-A35: an open round with calls that code execution made needs its container."""
    if not turns or body.get("container") or turns[-1].role != "user" or not turns[-1].of("tool_result"):
        return
    answered = {placed.block.get("tool_use_id") for placed in turns[-1].of("tool_result")}
    for placed in turns[-2].of("tool_use") if len(turns) > 1 else ():
        caller = as_text(as_object(placed.block.get("caller")).get("type"))
        if caller.startswith("code_execution") and placed.block.get("id") in answered:
            text = "container_id is required when there are pending tool uses generated by code execution with tools"
            yield Violation("W-A35", "container", text)
            return
