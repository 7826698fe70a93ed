"""Continuing a live session on another agent, in place, and saying beforehand what that would leave behind."""

from __future__ import annotations

from typing import Any

from doc_processing_toolkit.conversion.crossing import Crossing, Origin, count_kept, cross, log_crossing
from doc_processing_toolkit.core.errors import SessionCompatibilityError, UnsupportedPartError
from doc_processing_toolkit.core.protocols import Runner
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.envelope.fingerprint import compare
from doc_processing_toolkit.session.state import SessionState


def rebind(state: SessionState, old: Runner, new: Runner) -> None:
    """Take the history to ``new``; all or nothing. Raises ``RuntimeError`` while a turn runs."""
    state.require_idle()
    state.require_open()
    crossing = _crossing(state, old, new, new.on_unsupported_part)
    state.messages = crossing.messages
    state.converted_from = None
    adopt(state, crossing)
    state.prefix_change_report = compare(old.prefix_fingerprint(), new.prefix_fingerprint())
    state.anthropic_container_id = None
    state.frozen_tools = None
    state.tool_surface_drift = []
    hop = {
        "event": "rebind",
        "run": state.metadata["run_count"],
        "from_provider": old.provider,
        "from_model": old.model,
        "provider": new.provider,
        "model": new.model,
        "at": utc_now(),
    }
    state.metadata["served_models"] = [*state.metadata["served_models"], hop]
    state.metadata["updated_at"] = utc_now()


def preview(state: SessionState, old: Runner, new: Runner) -> list[dict[str, Any]]:
    """Return the report that :func:`rebind` would give, a refusal and what the row cannot take included."""
    try:
        crossing = _crossing(state, old, new, "placeholder")
    except (SessionCompatibilityError, UnsupportedPartError) as error:
        return [{"kind": "refused", "turn": getattr(error, "turn", None), "detail": str(error)}]
    becomes = "refused" if new.on_unsupported_part == "raise" else "placeholder"
    unsupported = [
        {"kind": "unsupported", "index": part["index"], "reason": part["kind"], "becomes": becomes}
        for part in crossing.dropped_parts
    ]
    return [*crossing.report, *unsupported, count_kept(crossing, new.row)]


def adopt(state: SessionState, crossing: Crossing) -> None:
    """Take a crossing's reports into the session and log them; a conversion empties the run boundaries."""
    log_crossing(crossing)
    state.converted_from = crossing.converted_from
    state.dropped_parts = [*state.dropped_parts, *crossing.dropped_parts]
    if crossing.report:
        state.metadata["conversion_report"] = [*state.metadata.get("conversion_report", ()), *crossing.report]
    if crossing.converted_from is not None:
        state.reset_boundaries()


def _crossing(state: SessionState, old: Runner, new: Runner, policy: str) -> Crossing:
    return cross(
        state.messages,
        Origin(old.provider, state.anthropic_container_id),
        new.row,
        policy=policy,
        boundaries=state.metadata["run_boundaries"],
    )
