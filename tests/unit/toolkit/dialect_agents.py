"""Agents of every dialect over the strict server, so that one test holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit import Agent, registry
from doc_processing_toolkit.dialects.detect import has_lens
from support.strict import StrictServer

# name -> (model, the strict server's name). "preserved" is Claude with thinking that is bound to its prefix.
MODELS: Mapping[str, tuple[str, str]] = {
    "anthropic": ("claude-haiku-4-5", "anthropic"),
    "preserved": ("claude-opus-5-5", "anthropic"),
    "openai": ("gpt-6-luna", "openai"),
    "google": ("gemini-3.5-flash-lite", "google"),
    "fireworks": ("fireworks/accounts/fireworks/models/kimi-k3", "fireworks"),
    "compatible": ("openai-compatible/m", "compatible"),
}


def _is_known(model: str) -> bool:
    try:
        row = registry.find(model)
    except ValueError:
        return False
    return has_lens(row.dialect)


DIALECTS = tuple(name for name, (model, _) in MODELS.items() if _is_known(model))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_of(dialect: str, server: StrictServer, **settings: Any) -> Agent:
    """Return an agent of a dialect that asks the strict server, without retries and with the tool ``add``."""
    model, wire = MODELS[dialect]
    given = {"max_retries": 0, "tools": [add], "api_key": "k", **settings}
    return Agent(model, base_url=server.url(wire), **given)
