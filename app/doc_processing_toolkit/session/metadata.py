"""The accounting of a session: every counter from the start, only growing, and copies that no one else can change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.core.times import utc_now

COUNTERS: Mapping[str, int | float] = {
    "run_count": 0,
    "total_input_tokens": 0,
    "total_output_tokens": 0,
    "total_tokens": 0,
    "total_cost": 0.0,
    "total_cached_input_tokens": 0,
    "total_cache_write_tokens": 0,
    "total_retry_cost": 0.0,
    "total_retry_count": 0,
    "total_retry_input_tokens": 0,
    "total_retry_output_tokens": 0,
    "compaction_count": 0,
    "unpriced_runs": 0,
}
LISTS = ("compaction_events", "served_models", "run_boundaries")
_FROM_RESULT: Mapping[str, str] = {
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "total_cost": "cost",
    "total_cached_input_tokens": "cached_input_tokens",
    "total_cache_write_tokens": "cache_write_tokens",
    "total_retry_cost": "retry_cost",
    "total_retry_count": "retry_count",
    "total_retry_input_tokens": "retry_input_tokens",
    "total_retry_output_tokens": "retry_output_tokens",
}


def new_metadata() -> dict[str, Any]:
    """Return the accounting of a session in which nothing has happened."""
    now = utc_now()
    return {**COUNTERS, **{name: [] for name in LISTS}, "created_at": now, "updated_at": now}


def bank(metadata: dict[str, Any], result: AgentResult) -> None:
    """Add what a run has cost to the totals."""
    for total, field in _FROM_RESULT.items():
        metadata[total] += getattr(result, field)
    if not result.cost_known:
        metadata["unpriced_runs"] += 1
    metadata["updated_at"] = utc_now()


def note_served_models(metadata: dict[str, Any], run: int, result: AgentResult) -> None:
    """Record which model answered: one record per run and served model (H10)."""
    served = dict.fromkeys((record.provider, record.model) for record in result.cost_records if not record.is_summary)
    records = [{"run": run, "provider": provider, "model": model, "row": result.model} for provider, model in served]
    metadata["served_models"] = [*metadata["served_models"], *records]


def copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that shares no list and no dict with a session's own; records in its lists are copied too."""
    return {key: _copied(value) for key, value in metadata.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
