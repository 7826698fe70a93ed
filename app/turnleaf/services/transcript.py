"""A conversation as rows: the reducer's names, and the rows of a stored history, which are those of its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnleaf.services.interruptions import turn_of_line
from turnleaf.services.reducer import (
    InterruptedDiscarded,
    JournalRestored,
    QuestionAsked,
    Transcript,
    TurnInterrupted,
    TurnRestored,
    UiEvent,
)
from turnleaf.services.row_list import RowChange
from turnleaf.services.rows import Row
from turnleaf.services.sidecar import InterruptedTurn, LedgerTurn
from turnleaf.services.stored_turns import StoredTurn, stored_turns

__all__ = [
    "InterruptedDiscarded",
    "JournalRestored",
    "QuestionAsked",
    "RowChange",
    "Transcript",
    "TurnInterrupted",
    "TurnRestored",
    "UiEvent",
    "rows_of_history",
    "transcript_of_history",
]


def rows_of_history(
    messages: Sequence[Mapping[str, Any]],
    ledger: Sequence[LedgerTurn],
    run_boundaries: Sequence[Mapping[str, Any]],
    dialect: str,
    interrupted: InterruptedTurn | None,
) -> tuple[Row, ...]:
    """Return the rows that a stored history shows: the same ones, with the same keys, that its stream gave."""
    return transcript_of_history(messages, ledger, run_boundaries, dialect, interrupted).rows


def transcript_of_history(
    messages: Sequence[Mapping[str, Any]],
    ledger: Sequence[LedgerTurn],
    run_boundaries: Sequence[Mapping[str, Any]],
    dialect: str,
    interrupted: InterruptedTurn | None,
) -> Transcript:
    """Return a transcript that holds a stored history and goes on from there. The work grows with the messages."""
    transcript = Transcript()
    cards = sorted(
        (turn_of_line(line) for line in ledger if line.status == "interrupted"), key=lambda card: card.number
    )
    for turn in stored_turns(messages, ledger, run_boundaries, dialect):
        while cards and cards[0].number < turn.number:
            transcript.apply(JournalRestored(cards.pop(0)))
        _replay(transcript, turn)
    for card in (*cards, *((interrupted,) if interrupted is not None else ())):
        transcript.apply(JournalRestored(card))
    return transcript


def _replay(transcript: Transcript, turn: StoredTurn) -> None:
    transcript.apply(QuestionAsked(turn.number, turn.question, turn.attachments, turn.label))
    for event, at in turn.events:
        transcript.apply(event, at=at)
    transcript.apply(TurnRestored(turn.line), at=turn.ended_at)
