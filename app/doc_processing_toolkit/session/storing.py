"""What a completed turn adds to a session: its messages, its boundary, its cost, and who answered."""

from __future__ import annotations

from typing import Any

from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.protocols import Message, Runner, TurnRequest, TurnRun
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Lens
from doc_processing_toolkit.history.boundaries import boundary
from doc_processing_toolkit.history.echo import new_messages
from doc_processing_toolkit.history.modes import stored
from doc_processing_toolkit.media.placeholders import strip_media
from doc_processing_toolkit.session.metadata import bank, note_served_models
from doc_processing_toolkit.session.state import SessionState


def store_turn(state: SessionState, runner: Runner, request: TurnRequest, turn: TurnRun, result: AgentResult) -> None:
    """Put a completed turn into the history and its cost into the accounting."""
    lens = lens_of(runner.row.dialect)
    turn_messages = _turn_messages(runner, request, turn, result, lens)
    kept = stored(clean(turn_messages), state.config, lens)
    start = len(state.messages)
    if not state.config.preserve_media:
        kept, report = strip_media(kept, lens, first_index=start)
        state.media_report = [*state.media_report, *report]
    metadata = state.metadata
    metadata["run_count"] += 1
    bank(metadata, result)
    note_served_models(metadata, metadata["run_count"], result)
    state.messages = [*state.messages, *kept]
    if kept:
        record = boundary(metadata["run_count"], start, len(state.messages))
        metadata["run_boundaries"] = [*metadata["run_boundaries"], record]


def _turn_messages(
    runner: Runner, request: TurnRequest, turn: TurnRun, result: AgentResult, lens: Lens
) -> list[Message]:
    own = new_messages(result.messages, len(request.history), turn.question)
    is_light = request.is_streamed and runner.stream_history == "light"
    if is_light and request.output_schema is None and result.error is None and turn.question is not None:
        # A plain-text streamed turn stores [user, injected…, assistant] (B11).
        return [turn.question, *turn.injected, lens.assistant_message(_text(result.output))]
    return own


def _text(output: Any) -> str:
    return output if isinstance(output, str) else ""
