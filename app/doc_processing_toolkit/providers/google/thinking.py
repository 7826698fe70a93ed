"""How a Gemini model is asked to think: the request's ``thinking_config``, by what the model's row takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow

# What Google's own OpenAI-compatible endpoint makes of an effort on models that take a budget.
_BUDGETS: Mapping[str, int] = {"low": 1_024, "medium": 8_192, "high": 24_576}
_AUTOMATIC = -1


def thinking_of(row: ModelRow, settings: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Return the ``thinking_config`` of a request, ``None`` where it says nothing, and what could not be done.

    Thought summaries are asked for when thinking is: they come as reasoning and are sent again with the history.
    """
    asked, effort = settings.get("thinking"), settings.get("effort")
    if asked is None and effort is None:
        return None, ""
    config: dict[str, Any] = {"include_thoughts": True} if asked else {}
    if row.takes_setting("thinking.budget"):
        return _with_budget(row, config, asked, effort)
    return _with_level(row, config, asked, effort)


def _with_budget(
    row: ModelRow, config: dict[str, Any], asked: bool | int | None, effort: str | None
) -> tuple[dict[str, Any], str]:
    if asked is False:
        if row.takes_setting("thinking.off"):
            return {"thinking_budget": 0}, ""
        return {"thinking_budget": _BUDGETS["low"]}, "its thinking cannot be switched off; it thinks little"
    if asked is not None and asked is not True:
        return {**config, "thinking_budget": asked}, ""
    return {**config, "thinking_budget": _BUDGETS[effort] if effort else _AUTOMATIC}, ""


def _with_level(
    row: ModelRow, config: dict[str, Any], asked: bool | int | None, effort: str | None
) -> tuple[dict[str, Any] | None, str]:
    if asked is False:
        if row.takes_setting("thinking.minimal"):
            return {"thinking_level": "MINIMAL"}, ""
        return {"thinking_level": "LOW"}, "its thinking cannot be switched off; it thinks little"
    if effort:
        config["thinking_level"] = effort.upper()
    has_budget = asked is not None and not isinstance(asked, bool)
    warning = "it takes no thinking budget; set effort to say how much it thinks" if has_budget else ""
    return config, warning
