"""Anthropic histories turn by turn: where the running turn begins, thinking taken out, and what a turn stores (B08)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.anthropic import text_of, type_of

THINKING = frozenset({"thinking", "redacted_thinking"})
_PLAIN = THINKING | {"text"}


def running_turn_start(messages: Sequence[Message]) -> int:
    """Return where the turn begins that the messages end in: at its question, before its tool rounds.

    The server joins consecutive messages of one role (W-A20), so text behind tool results is not a question.
    """
    end = len(messages)
    while end:
        role = messages[end - 1].get("role")
        start = end
        while start and messages[start - 1].get("role") == role:
            start -= 1
        if role == "user" and not any(_has_result(message) for message in messages[start:end]):
            return start
        end = start
    return 0


def round_lacks_thinking(messages: Sequence[Message]) -> bool:
    """Whether the running turn has tool rounds and the first of them did not begin with thinking (W-A24)."""
    for message in messages[running_turn_start(messages) :]:
        if message.get("role") == "assistant":
            blocks = _blocks(message)
            return not blocks or type_of(blocks[0]) not in THINKING
    return False


def has_thinking(message: Message) -> bool:
    """Whether a message holds thinking, readable or redacted."""
    return any(type_of(block) in THINKING for block in _blocks(message))


def token_of(block: Any) -> str | None:
    """Return a thinking block's signature, or a redacted one's data; ``None`` for any other block."""
    if type_of(block) not in THINKING:
        return None
    token = block.get("signature" if block["type"] == "thinking" else "data")
    return token if isinstance(token, str) else ""


def stored_turn(messages: Sequence[Message], *, retains_thinking: bool) -> list[Message]:
    """Return a completed turn's messages, from its question to its answer, as the session stores them (B08).

    The final answer is stored as its block list where the turn thought and ``retains_thinking`` (the row produces
    preserved thinking, and ``DPT_ANTHROPIC_RETAIN_FINAL_TURN`` is not off); a turn without tools then has its
    question in blocks too. Otherwise the final answer is stored as plain text. Blocks that are neither text nor
    thinking are never dropped.
    """
    turn = list(messages)
    if not turn or turn[-1].get("role") != "assistant" or _has_call(turn[-1]):
        return turn
    if not (retains_thinking and any(has_thinking(message) for message in turn)):
        turn[-1] = _plain(turn[-1])
    elif not any(_has_call(message) for message in turn):
        turn[0] = _in_blocks(turn[0])
    return turn


def _plain(message: Message) -> Message:
    """Return an answer as plain text, its other blocks (citations' sources, tools of the server) kept if it has any."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    if all(type_of(block) in _PLAIN for block in content):
        return {"role": "assistant", "content": text_of(message)}
    return {**message, "content": [block for block in content if type_of(block) not in THINKING]}


def _in_blocks(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def _blocks(message: Message) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _has_call(message: Message) -> bool:
    return any(type_of(block) == "tool_use" for block in _blocks(message))


def _has_result(message: Message) -> bool:
    return any(type_of(block) == "tool_result" for block in _blocks(message))
