"""How much an OpenAI model reasons: the agent's ``thinking`` and ``effort`` in the words of Responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow

# Models that do not reason, for ids that the registry lacks; they refuse ``include`` and ``reasoning``.
_PLAIN = re.compile(r"(ft:)?(gpt-[34]|chatgpt-)|.*-chat\b")
# The least effort that a model takes: reasoning cannot be switched off everywhere.
_LEAST: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"o\d"), "low"),
    (re.compile(r"gpt-5(?!\.)"), "minimal"),
)
_OFF = "none"
# Token budgets, which Responses does not have, as efforts.
_BUDGETS = ((4096, "low"), (16384, "medium"))


def does_reason(row: ModelRow) -> bool:
    """Whether the row's model reasons, so that its encrypted reasoning can be asked for."""
    return row.takes_setting("effort") and not _PLAIN.match(row.model)


def reasoning_of(row: ModelRow, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the ``reasoning`` field, ``None`` for the model's own default.

    ``thinking=False`` is the least effort that the model takes, ``True`` is medium unless ``effort`` says otherwise,
    a token budget is the effort that comes close. Thinking that was asked for is also shown, as a summary.
    """
    thinking, effort = settings.get("thinking"), settings.get("effort")
    if thinking is False:
        return {"effort": least_effort(row.model)}
    if thinking is None:
        return None if effort is None else {"effort": effort}
    return {"effort": effort or _effort_of(thinking), "summary": "auto"}


def least_effort(model: str) -> str:
    """Return the least effort that a model takes; ``none`` switches its reasoning off."""
    return next((effort for pattern, effort in _LEAST if pattern.match(model)), _OFF)


def _effort_of(thinking: bool | int) -> str:
    if thinking is True:
        return "medium"
    return next((effort for most, effort in _BUDGETS if thinking <= most), "high")
