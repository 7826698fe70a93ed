"""Which history mode a session has, and where the choice comes from (001, "Configuration precedence")."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core import switches

log = logging.getLogger(__name__)

MODES = ("full", "messages_only", "no_tool_results", "no_reasoning", "compact_tool_results", "text_summary")
DEFAULT_COMPACT_CHARACTERS = 500
_KEYS = ("mode", "preserve_media", "compact_tool_results_max_chars")


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """What a session stores and sends of its history."""

    mode: str = "full"
    preserve_media: bool = True
    compact_tool_results_max_chars: int = DEFAULT_COMPACT_CHARACTERS

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as it is written into an envelope."""
        data: dict[str, Any] = {"mode": self.mode, "preserve_media": self.preserve_media}
        if self.compact_tool_results_max_chars != DEFAULT_COMPACT_CHARACTERS:
            data["compact_tool_results_max_chars"] = self.compact_tool_results_max_chars
        return data


def check_history_config(config: Any) -> None:
    """Raise ``ValueError`` or ``TypeError`` for a configuration that no session could have."""
    if config is None:
        return
    if not isinstance(config, Mapping):
        raise TypeError(f"session_history_config is a mapping, not a {type(config).__name__}")
    unknown = sorted(str(key) for key in config if key not in _KEYS)
    if unknown:
        raise ValueError(
            f"session_history_config does not know {reprlib.repr(unknown)}; its keys are {', '.join(_KEYS)}"
        )
    mode = config.get("mode")
    if mode is not None and mode not in MODES:
        shown = reprlib.repr(mode)
        raise ValueError(f"session_history_config: mode is {shown}; it must be one of {', '.join(MODES)}")
    if not isinstance(config.get("preserve_media", True), bool | None):
        raise ValueError("session_history_config: preserve_media must be true or false")
    limit = config.get("compact_tool_results_max_chars")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise ValueError("session_history_config: compact_tool_results_max_chars must be a whole number of at least 0")


def resolve_history_config(session: Mapping[str, Any] | None, agent: Mapping[str, Any] | None) -> HistoryConfig:
    """Return the configuration of a session: its own, else the agent's, else the environment's, else the default."""
    for config in (session, agent):
        if config is not None:
            check_history_config(config)
            return _from_mapping(config)
    mode = switches.history_mode()
    if mode is not None and mode not in MODES:
        log.warning("%s is %r, which is no history mode; using full", switches.HISTORY_MODE, mode)
        mode = None
    return HistoryConfig(mode=mode or "full")


def _from_mapping(config: Mapping[str, Any]) -> HistoryConfig:
    given = {key: config[key] for key in _KEYS if config.get(key) is not None}
    return HistoryConfig(**given)
