"""When a history is compacted, how, and what is always kept: the ``compaction_config`` of an agent (L01)."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

CLEARING, WINDOW, SUMMARY = "tool_result_clearing", "sliding_window", "summarize"
STRATEGIES = (CLEARING, WINDOW, SUMMARY)
# How full the window may get before room is made.
_FILLED = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """What triggers a compaction, and what it does.

    ``trigger_tokens`` counts the whole request (``None``: four fifths of the model's window), ``trigger_messages`` the
    messages of the conversation (``None``: any number). ``keep_recent_messages`` stay as they are, or more, so that no
    tool round is split. ``summary_model`` writes the summaries (``None``: the session's own). ``archive_path`` takes
    what a compaction removes: a folder, or a ``.jsonl`` file.
    """

    strategy: str = WINDOW
    trigger_tokens: int | None = None
    trigger_messages: int | None = None
    keep_recent_messages: int = 8
    sliding_window_include_truncation_notice: bool = True
    summary_model: str | None = None
    archive_path: Path | None = None

    def token_limit(self, window: int | None) -> int | None:
        """Return at how many tokens a request is compacted, ``None`` when nobody knows how many fit."""
        if self.trigger_tokens is not None or window is None:
            return self.trigger_tokens
        return max(1, int(window * _FILLED))


def compaction_config(is_on: Any, given: Any) -> CompactionConfig | None:
    """Return an agent's compaction, ``None`` when it is off. Raises ``TypeError`` or ``ValueError`` for what cannot be.

    The configuration is checked when compaction is off, too.
    """
    if not isinstance(is_on, bool):
        raise TypeError(f"compaction is True or False, not a {type(is_on).__name__}")
    if given is None:
        return CompactionConfig() if is_on else None
    if not isinstance(given, Mapping):
        raise TypeError(f"compaction_config is a mapping, not a {type(given).__name__}")
    known = [field.name for field in fields(CompactionConfig)]
    unknown = sorted(str(key) for key in given if key not in known)
    if unknown:
        raise ValueError(f"compaction_config does not know {reprlib.repr(unknown)}; its keys are {', '.join(known)}")
    values = {key: value for key, value in given.items() if value is not None}
    _check(values)
    if "archive_path" in values:
        values["archive_path"] = Path(values["archive_path"])
    config = CompactionConfig(**values)
    return config if is_on else None


def _check(values: Mapping[str, Any]) -> None:
    strategy = values.get("strategy", WINDOW)
    if strategy not in STRATEGIES:
        raise ValueError(
            f"compaction_config: strategy is {reprlib.repr(strategy)}; it must be one of {', '.join(STRATEGIES)}"
        )
    for name in ("trigger_tokens", "trigger_messages", "keep_recent_messages"):
        value = values.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"compaction_config: {name} is {reprlib.repr(value)}; it must be a whole number above 0")
    if not isinstance(values.get("sliding_window_include_truncation_notice", True), bool):
        raise ValueError("compaction_config: sliding_window_include_truncation_notice must be true or false")
    if not isinstance(values.get("summary_model", ""), str):
        raise TypeError("compaction_config: summary_model is a model's id")
    path = values.get("archive_path", ".")
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError("compaction_config: archive_path is the path of a folder or of a .jsonl file")
