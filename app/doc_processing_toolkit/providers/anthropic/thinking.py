"""How a Claude model is asked to think: the request's ``thinking`` field, by what the model's row takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import RequestFailedError

BINDING_BETA = "thinking-binding-controls-2026-08-01"
LEAST_BUDGET = 1024
_USUAL_BUDGET = 16_384
_ADAPTIVE: Mapping[str, Any] = {"type": "adaptive", "display": "summarized"}


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a request says about thinking.

    ``field`` is ``None`` where the request says nothing. ``is_on`` says whether the model thinks before it answers,
    ``is_off`` that it was switched off where it would think by itself. ``warning`` says what could not be done.
    """

    field: dict[str, Any] | None = None
    is_on: bool = False
    is_off: bool = False
    warning: str = ""

    @property
    def needs_a_beginning(self) -> bool:
        """Whether an open tool round must begin with thinking: only under a budget (W-A24)."""
        return self.field is not None and self.field["type"] == "enabled"


def thinking_of(row: ModelRow, settings: Mapping[str, Any], max_tokens: int, *, forces_tool: bool) -> Thinking:
    """Return how this request is asked to think.

    A forced tool and thinking exclude each other (W-A28), so a forced tool switches thinking off. Raises
    :class:`RequestFailedError` for a budget that leaves nothing of ``max_tokens`` for the answer.
    """
    asked = settings.get("thinking")
    if forces_tool:
        off = _switched_off(row)
        return off if not asked else Thinking(off.field, off.is_on, off.is_off, "a forced tool excludes thinking")
    if asked is False:
        return _switched_off(row)
    if asked is None and not row.takes_setting("thinking.default"):
        return Thinking()
    takes_budget = row.takes_setting("thinking.enabled")
    has_budget = isinstance(asked, int) and not isinstance(asked, bool)
    if takes_budget and (has_budget or not row.takes_setting("thinking.adaptive")):
        return _with_budget(row, asked if has_budget else None, max_tokens)
    warning = "it takes no thinking budget; set effort to say how much it thinks" if has_budget else ""
    return Thinking(dict(_ADAPTIVE), is_on=True, warning=warning)


def bind(thinking: Thinking, row: ModelRow, settings: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the ``thinking`` field and the betas of a request, with what block binding asks for (E05)."""
    drops = settings.get("anthropic_block_binding") == "drop_block"
    if not drops and not (thinking.is_on and row.produces_preserved_thinking_blocks):
        return thinking.field, []
    if not drops or thinking.field is None or not thinking.is_on:
        return thinking.field, [BINDING_BETA]
    return {**thinking.field, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}, [BINDING_BETA]


def _switched_off(row: ModelRow) -> Thinking:
    if not row.takes_setting("thinking.default"):
        return Thinking()
    for kind in ("between_tools", "disabled"):
        if row.takes_setting(f"thinking.{kind}"):
            return Thinking({"type": kind}, is_off=True)
    return Thinking(
        dict(_ADAPTIVE), is_on=True, warning="its thinking cannot be switched off; a low effort shortens it"
    )


def _with_budget(row: ModelRow, asked: int | None, max_tokens: int) -> Thinking:
    budget = max(asked or min(_USUAL_BUDGET, max_tokens // 2), LEAST_BUDGET)
    if budget >= max_tokens:
        raise RequestFailedError(
            f"{row.label} cannot think for {budget:,} tokens when thinking and answer together may take "
            f"{max_tokens:,}; raise max_output_tokens, or think less (at least {LEAST_BUDGET:,} tokens)",
            is_retryable=False,
            provider=row.provider,
            code="thinking_budget",
        )
    warning = f"the least thinking budget is {LEAST_BUDGET:,} tokens" if asked and asked < LEAST_BUDGET else ""
    return Thinking({"type": "enabled", "budget_tokens": budget}, is_on=True, warning=warning)
