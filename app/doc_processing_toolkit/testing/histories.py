"""Builders of histories: ready-made conversations in a dialect's own shape, for tests of what stores and sends them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from doc_processing_toolkit.core.protocols import Message

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


def question(text: str, *, images: Iterable[bytes] = ()) -> Message:
    """Return a chat user message, with PNG images before the text."""
    parts = [image_part(data) for data in images]
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}] if parts else text}


def image_part(data: bytes = PIXEL, mime_type: str = "image/png") -> dict[str, Any]:
    """Return a chat image part that holds ``data``."""
    url = f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}


def answer(text: str, *, reasoning: str | None = None) -> Message:
    """Return a chat assistant message."""
    message: Message = {"role": "assistant", "content": text}
    return message if reasoning is None else {**message, "reasoning_content": reasoning}


def tool_round(
    calls: Mapping[str, tuple[str, Mapping[str, Any], Any]], *, text: str | None = None, reasoning: str | None = None
) -> list[Message]:
    """Return a whole chat tool round; ``calls`` maps an id to name, arguments and result (text or parts)."""
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(dict(arguments))}}
        for call_id, (name, arguments, _) in calls.items()
    ]
    message: Message = {"role": "assistant", "content": text, "tool_calls": asked}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    results = [
        {"role": "tool", "tool_call_id": call_id, "content": result} for call_id, (_, _, result) in calls.items()
    ]
    return [message, *results]


def envelope(messages: Iterable[Message], **changes: Any) -> dict[str, Any]:
    """Return a version 3 envelope around a history, with every key that a save writes."""
    return {
        "schema_version": 3,
        "session_id": "5f0c7bd6-4d2f-4a0c-9b8e-0d3a4b5c6d7e",
        "provider": "scripted",
        "model": "scripted/demo",
        "toolkit_version": "0.1.0",
        "saved_at": "2026-09-24T10:00:00+00:00",
        "sdk": {"name": "openai", "version": "3.57.0"},
        "media_policy": "inline",
        "media": {},
        "media_report": [],
        "messages": list(messages),
        "metadata": {},
        "session_history_config": {"mode": "full", "preserve_media": True},
        "late_injection_policy": "surface",
        "max_follow_up_turns": 1,
        "prefix_fingerprint": {},
        "reuse_anthropic_container": False,
        "anthropic_container_id": None,
        "closed": False,
        **changes,
    }
