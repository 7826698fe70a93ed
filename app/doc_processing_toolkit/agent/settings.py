"""The settings of an agent: every constructor keyword once, checked when the agent is made."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from doc_processing_toolkit.agent.hooks import Hooks
from doc_processing_toolkit.core.errors import NotSupportedError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.history.compaction_config import compaction_config
from doc_processing_toolkit.history.config import check_history_config

log = logging.getLogger(__name__)

DEFAULT_INLINE_BYTES = 8 * 1024 * 1024
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "media_policy": ("auto", "inline", "externalize", "strip"),
    "on_unsupported_part": ("placeholder", "raise", "extract"),
    "effort": (None, "low", "medium", "high"),
    "anthropic_block_binding": (None, "drop_block"),
    "stream_history": ("light", "native"),
}
_WHOLE_NUMBERS: Mapping[str, int] = {
    "media_max_inline_bytes": 0,
    "max_tool_result_chars": 0,
    "truncated_result_read_chars": 1,
    "max_iterations": 1,
    "max_output_tokens": 1,
    "max_retries": 0,
}
_MAY_BE_NONE = frozenset(
    {"media_max_inline_bytes", "max_tool_result_chars", "truncated_result_read_chars", "max_output_tokens"}
)
# What this version cannot do yet, and the value that asks for nothing.
_NOT_YET: Mapping[str, Any] = {
    "mcp_servers": (),
}
_TOOL_CHOICES = (None, "auto", "none", "required")
_SENT = (
    *("temperature", "max_output_tokens", "effort", "thinking", "tool_choice", "parallel_tool_calls"),
    *("prefix_strip_fallback", "anthropic_block_binding", "reuse_anthropic_container"),
)
# Settings whose default asks for nothing, and so is not sent.
_QUIET: Mapping[str, Any] = {
    "parallel_tool_calls": True,
    "prefix_strip_fallback": False,
    "reuse_anthropic_container": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Every setting of an agent besides its model, its tools and where it is reached."""

    instructions: str | None = None
    session_history_config: Mapping[str, Any] | None = None
    compaction: bool = False
    compaction_config: Mapping[str, Any] | None = None
    media_policy: str = "auto"
    media_max_inline_bytes: int | None = DEFAULT_INLINE_BYTES
    on_unsupported_part: str = "placeholder"
    max_tool_result_chars: int | None = None
    truncated_result_read_chars: int | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool = True
    max_iterations: int = 32
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: bool | int | None = None
    effort: str | None = None
    max_retries: int = 3
    timeout: float = 600.0
    hooks: Hooks | None = None
    mcp_servers: tuple[Any, ...] = ()
    strict_prefix_binding: bool = False
    prefix_strip_fallback: bool = False
    anthropic_block_binding: str | None = None
    reuse_anthropic_container: bool = False
    stream_history: str = "light"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {_listed(choices)}")
        for name, least in _WHOLE_NUMBERS.items():
            _check_whole(name, getattr(self, name), least)
        if self.instructions is not None and not isinstance(self.instructions, str):
            raise TypeError(f"instructions is text, not a {type(self.instructions).__name__}")
        if self.hooks is not None and not isinstance(self.hooks, Hooks):
            raise TypeError(f"hooks takes Hooks(...), not a {type(self.hooks).__name__}")
        _check_seconds(self.timeout)
        _check_temperature(self.temperature)
        if not isinstance(self.thinking, bool | int | None) or (type(self.thinking) is int and self.thinking < 1):
            raise ValueError(f"thinking is {self.thinking!r}; it must be None, True, False or a number of tokens")
        check_history_config(self.session_history_config)
        compaction_config(self.compaction, self.compaction_config)
        for name, nothing in _NOT_YET.items():
            if getattr(self, name) != nothing:
                raise NotSupportedError(f"this version does not do {name} yet; leave it at {nothing!r}")

    def sent_with(self, row: ModelRow, tools: tuple[str, ...]) -> dict[str, Any]:
        """Return what goes into each request to this row; what it does not take is left out with one warning."""
        asked = {name: getattr(self, name) for name in _SENT if getattr(self, name) != _QUIET.get(name)}
        if not tools:
            asked.pop("parallel_tool_calls", None)
        if self.tool_choice not in (*_TOOL_CHOICES, *tools):
            raise ValueError(
                f"tool_choice is {self.tool_choice!r}; it must be one of {_listed((*_TOOL_CHOICES, *tools))}"
            )
        given = {name: value for name, value in asked.items() if value is not None}
        refused = sorted(name for name in given if name not in row.settings)
        if tools and "tools" not in row.settings:
            refused.append("tools")
        if refused:
            log.warning("%s does not take %s; left out", row.id, ", ".join(refused))
        sent = {name: value for name, value in given.items() if name in row.settings}
        if row.default_temperature is not None:
            sent.setdefault("temperature", row.default_temperature)
        if row.max_output_tokens is not None:
            sent.setdefault("max_output_tokens", row.max_output_tokens)
        return sent


def settings_from(given: Mapping[str, Any]) -> AgentSettings:
    """Return the settings among a constructor's arguments, copied so that the caller's own may change."""
    values = {name: given[name] for name in setting_names()}
    values["mcp_servers"] = tuple(values["mcp_servers"])
    for name in ("session_history_config", "compaction_config"):
        if isinstance(values[name], Mapping):
            values[name] = dict(values[name])
    return AgentSettings(**values)


def setting_names() -> tuple[str, ...]:
    """Return the names of all settings, in the order of the constructor."""
    return tuple(field.name for field in fields(AgentSettings))


def _check_whole(name: str, value: Any, least: int) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")


def _check_seconds(timeout: Any) -> None:
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise ValueError(f"timeout is {timeout!r}; it must be a number of seconds above 0")


def _check_temperature(temperature: Any) -> None:
    if temperature is None:
        return
    if not isinstance(temperature, int | float) or isinstance(temperature, bool) or not 0 <= temperature <= 2:
        raise ValueError(f"temperature is {temperature!r}; it must be a number from 0 to 2")


def _listed(choices: tuple[Any, ...]) -> str:
    return ", ".join(repr(choice) for choice in choices)
