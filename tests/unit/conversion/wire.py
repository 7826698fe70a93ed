"""What the strict rules of each wire say of a stored history with the next question behind it."""

from __future__ import annotations

from typing import Any

from doc_processing_toolkit import registry
from doc_processing_toolkit.dialects.openai import wire_item
from doc_processing_toolkit.providers.google.contents import sent_contents
from support.strict import Violation, WireRequest, anthropic, chat, google, responses

_NEXT = {"role": "user", "content": "and now?"}


def violations(messages: list[dict[str, Any]], model_id: str) -> list[Violation]:
    """Return what the row's server would refuse of the next turn on this history."""
    row = registry.find(model_id)
    sent = [*messages, _NEXT]
    match row.dialect:
        case "anthropic":
            body = {"model": row.model, "max_tokens": 100, "messages": sent}
            return anthropic.check(WireRequest("anthropic", body, row.model))
        case "openai":
            body = {"model": row.model, "input": [wire_item(message) for message in sent]}
            return responses.check(WireRequest("responses", body, row.model, profile="openai"))
        case "google":
            body = {"contents": sent_contents(sent, row).contents}
            return google.check(WireRequest("google", body, row.model))
    body = {"model": row.model, "messages": sent}
    return chat.check(WireRequest("chat", body, row.model, profile="fireworks"))
