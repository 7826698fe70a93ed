"""What a completed turn adds to a session: its messages, its boundary, its cost, and who answered."""

from __future__ import annotations

from typing import Any

from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.protocols import Compacted, Message, Runner, TurnRequest, TurnRun
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.stored_form import stored_form
from doc_processing_toolkit.dialects.view import Lens
from doc_processing_toolkit.history.boundaries import boundary
from doc_processing_toolkit.history.echo import new_messages
from doc_processing_toolkit.history.modes import stored, without_reasoning
from doc_processing_toolkit.media.placeholders import strip_media
from doc_processing_toolkit.session.metadata import bank, note_served_models
from doc_processing_toolkit.session.state import SessionState


def store_turn(state: SessionState, runner: Runner, request: TurnRequest, turn: TurnRun, result: AgentResult) -> None:
    """Put a completed turn into the history and its cost into the accounting."""
    lens = lens_of(runner.row.dialect)
    turn_messages = clean(_turn_messages(runner, request, turn, result, lens))
    kept = stored(stored_form(turn_messages, runner.row), state.config, lens)
    compacted = turn.compacted
    history = _placed(state.messages if compacted is None else compacted.history, turn)
    start = len(history)
    if not state.config.preserve_media:
        kept, report = strip_media(kept, lens, first_index=start)
        state.media_report = [*state.media_report, *report]
        if report and runner.row.produces_preserved_thinking_blocks:
            # The server refuses thinking when what it was bound to has changed (W-A29).
            kept = without_reasoning(kept, lens)
    metadata = state.metadata
    metadata["run_count"] += 1
    bank(metadata, result)
    note_served_models(metadata, metadata["run_count"], result)
    state.messages = [*history, *kept]
    state.estimate_gap = (state.messages, turn.estimate_gap)
    if compacted is not None:
        _adopt(state, compacted)
    elif kept:
        record = boundary(metadata["run_count"], start, len(state.messages))
        metadata["run_boundaries"] = [*metadata["run_boundaries"], record]


def _placed(history: list[Message], turn: TurnRun) -> list[Message]:
    """Return the history with the messages whose media lies with the provider now."""
    instead = {id(old): new for old, new in turn.placed}
    return [instead.get(id(message), message) for message in history] if instead else history


def _adopt(state: SessionState, compacted: Compacted) -> None:
    """Take down the compactions of a turn; no boundary from before them addresses anything now (D04)."""
    metadata = state.metadata
    metadata["compaction_count"] += len(compacted.events)
    metadata["compaction_events"] = [*metadata["compaction_events"], *compacted.events]
    state.reset_boundaries()


def _turn_messages(
    runner: Runner, request: TurnRequest, turn: TurnRun, result: AgentResult, lens: Lens
) -> list[Message]:
    sent_count = len(request.history) if turn.compacted is None else turn.compacted.sent_count
    own = new_messages(result.messages, sent_count, turn.question)
    is_light = request.is_streamed and runner.stream_history == "light"
    if is_light and request.output_schema is None and result.error is None and turn.question is not None:
        # A plain-text streamed turn stores [user, injected…, assistant] (B11).
        return [turn.question, *turn.injected, lens.assistant_message(_text(result.output))]
    return own


def _text(output: Any) -> str:
    return output if isinstance(output, str) else ""
