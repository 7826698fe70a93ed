"""The tools that a turn's requests carry: the agent's own, or those that an Anthropic session began with (E01)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent.settings import AgentSettings
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.agent.truncation import READ_ON, offers_reading_on, reading_tool
from doc_processing_toolkit.core.errors import SessionCompatibilityError
from doc_processing_toolkit.core.kept_results import KeptResults
from doc_processing_toolkit.core.model_row import ModelRow

log = logging.getLogger(__name__)

# Where a change of the tools invalidates the thinking of all earlier turns (W-A30).
_FROZEN_ON = frozenset({"anthropic"})


@dataclass(frozen=True, slots=True)
class Surface:
    """The tools of one turn, by name, and how the agent's own differ from them, ``None`` when they do not."""

    tools: Mapping[str, Tool]
    drift: dict[str, Any] | None = None

    @property
    def frozen(self) -> tuple[Tool, ...]:
        """The tools as a session keeps them."""
        return tuple(self.tools.values())


def surface_of(
    row: ModelRow,
    settings: AgentSettings,
    own: Mapping[str, Tool],
    frozen: Sequence[Tool] | None,
    kept: KeptResults,
) -> Surface:
    """Return the tools of a turn; a session's ``frozen`` ones stand against the agent's ``own`` where that matters.

    Raises ``SessionCompatibilityError`` under ``strict_prefix_binding`` when the two differ.
    """
    if not row.takes_setting("tools"):
        return Surface({})
    derived = dict(own)
    if offers_reading_on(settings):
        derived[READ_ON] = reading_tool(kept, settings.truncated_result_read_chars or 1)
    if frozen is None or row.dialect not in _FROZEN_ON:
        return Surface(derived)
    drift = _drift(frozen, derived)
    if drift is None:
        return Surface(derived)
    if settings.strict_prefix_binding:
        raise SessionCompatibilityError(
            f"the tools are not those that the session began with ({_told(drift)}), and strict_prefix_binding is on; "
            "give the agent the tools back, or begin another session"
        )
    log.warning("the session goes on with the tools that it began with: %s", _told(drift))
    return Surface({tool.name: derived[READ_ON] if _is_reading(tool, derived) else tool for tool in frozen}, drift)


def _is_reading(tool: Tool, derived: Mapping[str, Tool]) -> bool:
    return tool.name == READ_ON and READ_ON in derived


def _drift(frozen: Sequence[Tool], derived: Mapping[str, Tool]) -> dict[str, Any] | None:
    before = {tool.name: tool for tool in frozen}
    added = sorted(derived.keys() - before.keys())
    removed = sorted(before.keys() - derived.keys())
    redefined = sorted(name for name in before.keys() & derived.keys() if before[name].spec != derived[name].spec)
    if not (added or removed or redefined) and list(before) == list(derived):
        return None
    return {"event": "drift", "failed_servers": [], "added": added, "removed": removed, "redefined": redefined}


def _told(drift: Mapping[str, Any]) -> str:
    told = [f"{kind}: {', '.join(drift[kind])}" for kind in ("added", "removed", "redefined") if drift[kind]]
    return "; ".join(told) or "their order changed"
