"""Which dialect a history is written in, read from the messages themselves (001, K06)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.anthropic import AnthropicLens
from doc_processing_toolkit.dialects.chat import ChatLens
from doc_processing_toolkit.dialects.google import GoogleLens
from doc_processing_toolkit.dialects.openai import OpenAILens
from doc_processing_toolkit.dialects.view import Lens

_LENSES: dict[str, Lens] = {
    "anthropic": AnthropicLens(),
    "chat": ChatLens(),
    "google": GoogleLens(),
    "openai": OpenAILens(),
}
_ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function", "model"})
_OPENAI_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "summary_text"})


def lens_of(dialect: str) -> Lens:
    """Return the lens of a dialect. Raises ``KeyError`` for one that this version has no lens for."""
    return _LENSES[dialect]


def has_lens(dialect: str) -> bool:
    """Whether this version can look into messages of a dialect."""
    return dialect in _LENSES


def dialect_of(message: Message) -> str | None:
    """Return the dialect that only this message's shape can be, ``"neutral"`` for plain text, ``None`` for no shape."""
    if isinstance(message.get("parts"), list):
        return "google"
    content = message.get("content")
    if message.get("role") is None:
        return "openai" if isinstance(message.get("type"), str) else None
    if not isinstance(message["role"], str) or message["role"] not in _ROLES:
        return None
    if message.get("type") not in (None, "message"):
        return "openai"
    if isinstance(content, list):
        return _dialect_of_blocks({_type(block) for block in content})
    if _has_chat_fields(message):
        return "chat"
    return "neutral" if isinstance(content, str) else None


def foreign_dialect(messages: Iterable[Message], own: str) -> tuple[int, str] | None:
    """Return position and dialect of the first message that cannot be in the dialect ``own``."""
    lens = _LENSES[own]
    for index, message in enumerate(messages):
        if not lens.sniff(message):
            found = dialect_of(message)
            if found not in (own, "neutral", None):
                return index, str(found)
    return None


def _has_chat_fields(message: Message) -> bool:
    return message.get("role") == "tool" or any(
        message.get(key) is not None for key in ("tool_calls", "reasoning_content")
    )


def _dialect_of_blocks(types: set[str]) -> str:
    if types & _ANTHROPIC_BLOCKS:
        return "anthropic"
    if types & _OPENAI_PARTS:
        return "openai"
    if types <= {"text"}:
        return "neutral"
    return "chat"


def _type(block: Any) -> str:
    return str(block.get("type")) if isinstance(block, dict) else ""
