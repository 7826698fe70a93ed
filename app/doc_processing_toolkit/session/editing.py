"""Editing a history: cuts, clearing, and copies; what a cut keeps is never rewritten (D01–D06)."""

from __future__ import annotations

from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.history.boundaries import cut_boundaries, legal_prefix
from doc_processing_toolkit.session.metadata import copy_metadata
from doc_processing_toolkit.session.state import SessionState


def clear(state: SessionState) -> None:
    """Empty the history, and forget the rests of cut results. Raises ``RuntimeError`` while a turn runs."""
    state.require_idle()
    state.messages = []
    state.kept_results.release()
    state.reset_boundaries()


def truncate_to(state: SessionState, dialect: str, count: int, *, drop_orphans: bool) -> int:
    """Cut the history down to a prefix of at most ``count`` messages, and return the number kept."""
    state.require_idle()
    _check_count("message_count", count)
    kept = _kept(state, dialect, count, drop_orphans=drop_orphans)
    state.messages = state.messages[:kept]
    state.metadata["run_boundaries"] = cut_boundaries(state.metadata["run_boundaries"], kept)
    return kept


def end_of_turn(state: SessionState, turn: int) -> int:
    """Return where the first ``turn`` recorded turns end; everything when there are no more than that."""
    _check_count("n", turn)
    records = state.metadata["run_boundaries"]
    if turn >= len(records):
        return len(state.messages)
    return int(records[turn]["start"] if turn == 0 else records[turn - 1]["end"])


def fork(state: SessionState, dialect: str, turn: int | None) -> SessionState:
    """Return a detached copy with a new id, cut after the recorded turn ``turn`` (``None``: whole)."""
    copied = SessionState(
        config=state.config,
        messages=list(state.messages),
        metadata=copy_metadata(state.metadata),
        late_injection_policy=state.late_injection_policy,
        max_follow_up_turns=state.max_follow_up_turns,
        media_table=dict(state.media_table),
        media_report=list(state.media_report),
        dropped_parts=list(state.dropped_parts),
        kept_results=state.kept_results.copy(),
        frozen_tools=state.frozen_tools,
    )
    copied.metadata["forked_from"] = {"session_id": state.session_id, "turn": turn}
    if turn is not None:
        truncate_to(copied, dialect, end_of_turn(state, turn), drop_orphans=True)
        copied.metadata.pop("interrupted_turn", None)
    return copied


def _kept(state: SessionState, dialect: str, count: int, *, drop_orphans: bool) -> int:
    if drop_orphans:
        return legal_prefix(state.messages, count, lens_of(dialect))
    return min(count, len(state.messages))


def _check_count(name: str, count: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"{name} is a whole number, not a {type(count).__name__}")
    if count < 0:
        raise ValueError(f"{name} is {count}; it must not be negative")
