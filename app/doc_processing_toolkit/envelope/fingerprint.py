"""The prefix fingerprint: enough to notice that instructions or tools moved, not enough to rebuild them (001)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

PARTS = ("system", "tools")


def fingerprint(instructions: str | None, tools: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the SHA-256 of the system prompt and of the tools, sorted by name.

    A tool counts by its ``name``, ``description`` and ``parameters``.
    """
    surface = sorted(
        ({key: tool.get(key) for key in ("name", "description", "parameters")} for tool in tools),
        key=lambda tool: str(tool["name"]),
    )
    text = json.dumps(surface, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return {"system": _digest(instructions or ""), "tools": _digest(text)}


def compare(saved: Mapping[str, Any] | None, current: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what moved: ``changed`` (``system``, ``tools``), ``saved`` and ``current``; ``None`` when nothing did."""
    if not saved:
        return None
    changed = [part for part in PARTS if saved.get(part) is not None and saved[part] != current[part]]
    return {"changed": changed, "saved": dict(saved), "current": dict(current)} if changed else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
