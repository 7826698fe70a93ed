"""Made-up conversations: what the user did, the events that the stream gave, and the messages that were stored."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from doc_processing_toolkit.core.events import (
    Complete,
    Event,
    Progress,
    ReasoningDelta,
    Retry,
    TextDelta,
    ToolCall,
    ToolCallResult,
    TurnStart,
    Usage,
)
from doc_processing_toolkit.core.result import AgentResult
from turnleaf.services.partial import PartialAnswer
from turnleaf.services.reducer import QuestionAsked, TurnInterrupted, UiEvent
from turnleaf.services.row_list import RowChange
from turnleaf.services.rows import AttachmentInfo, Row
from turnleaf.services.sidecar import InterruptedTurn, LedgerTurn, TurnFacts
from turnleaf.services.transcript import Transcript

WHEN = datetime(2026, 11, 29, tzinfo=UTC)
WORDS = st.text(alphabet="ab cd\né漢🙂", min_size=1, max_size=12)
PAPER = AttachmentInfo("paper.pdf", "0" * 64, "application/pdf", 1234, "pdf", 3, 900, 225)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool
    seconds: float


@dataclass(frozen=True)
class Round:
    reasoning: tuple[str, ...]
    text: tuple[str, ...]
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Turn:
    question: str
    attachments: tuple[AttachmentInfo, ...]
    model: str
    rounds: tuple[Round, ...]
    final: Round
    stops_after: int | None
    is_sent_again: bool
    thinking_s: float


@dataclass
class Told:
    """A conversation that has been lived through, event by event."""

    transcript: Transcript = field(default_factory=Transcript)
    mirror: list[Row] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    boundaries: list[dict[str, int]] = field(default_factory=list)
    ledger: list[LedgerTurn] = field(default_factory=list)
    interrupted: InterruptedTurn | None = None

    def tell(self, events: list[Event | UiEvent], at: float | None) -> None:
        for change in self.transcript.apply_all(events, at=at):
            follow(self.mirror, change)


CALLS = st.builds(
    Call,
    name=st.sampled_from(["add", "look_up"]),
    arguments=st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | WORDS, max_size=2),
    result=WORDS | st.just(""),
    is_error=st.booleans(),
    seconds=st.floats(0.002, 9).map(lambda value: round(value, 3)),
)
PIECES = st.lists(WORDS, max_size=3).map(tuple)
ROUNDS = st.builds(Round, reasoning=PIECES, text=PIECES, calls=st.lists(CALLS, min_size=1, max_size=3).map(tuple))
FINALS = st.builds(Round, reasoning=PIECES, text=st.lists(WORDS, min_size=1, max_size=3).map(tuple))
TURNS = st.builds(
    Turn,
    question=WORDS,
    attachments=st.sampled_from([(), (PAPER,)]),
    model=st.sampled_from(["Demo", "Other"]),
    rounds=st.lists(ROUNDS, max_size=2).map(tuple),
    final=FINALS,
    stops_after=st.none() | st.integers(0, 12),
    is_sent_again=st.booleans(),
    thinking_s=st.floats(0.002, 30).map(lambda value: round(value, 3)),
)


def follow(rows: list[Row], change: RowChange) -> None:
    """Do to a plain list what a view does with a change."""
    match change.kind:
        case "insert":
            rows.insert(change.index, change.row)
        case "update":
            assert rows[change.index].key == change.row.key
            if change.appended:
                assert change.row.text == rows[change.index].text + change.appended  # type: ignore[union-attr]
            rows[change.index] = change.row
        case "remove":
            assert rows[change.index].key == change.row.key
            del rows[change.index]


def live_through(turn: Turn, told: Told, batch_size: int) -> None:
    """Let a turn happen: asked, streamed in batches, then stored, or stopped before its end."""
    run = len(told.boundaries) + 1
    number = 1 + max([line.number for line in told.ledger], default=0)
    if told.interrupted is not None:
        if turn.is_sent_again:
            number = told.interrupted.number
        else:
            told.ledger.append(_line_of(told.interrupted))
            number = told.interrupted.number + 1
        told.interrupted = None
    told.tell([QuestionAsked(number, turn.question, turn.attachments, turn.model)], None)
    timed = events_of(turn, run)
    kept = timed[: turn.stops_after] if turn.stops_after is not None else timed
    for start in range(0, len(kept), batch_size):
        batch = kept[start : start + batch_size]
        # A batch has one time: split it where the time moves.
        for moment in dict.fromkeys(at for _, at in batch):
            told.tell([event for event, at in batch if at == moment], moment)
    if kept and isinstance(kept[-1][0], Complete):
        _store(turn, told, number, run)
    else:
        told.interrupted = _stop(turn, told, number, run, [event for event, _ in kept])


def events_of(turn: Turn, run: int) -> list[tuple[Event, float | None]]:
    now = 100.0
    timed: list[tuple[Event, float | None]] = [(TurnStart(run), now), (Progress("reading_prompt", 1, 2, "tokens"), now)]
    for index, each in enumerate((*turn.rounds, turn.final)):
        timed += [(ReasoningDelta(piece), now) for piece in each.reasoning]
        now += turn.thinking_s if each.reasoning else 0
        timed += [(TextDelta(piece), now) for piece in each.text]
        timed += [(ToolCall(f"c{index}{n}", call.name, call.arguments), now) for n, call in enumerate(each.calls)]
        timed += [
            (ToolCallResult(f"c{index}{n}", call.name, call.result, call.is_error, call.seconds), now)
            for n, call in reversed(list(enumerate(each.calls)))
        ]
        timed.append((Usage(1, 1, 0, 0, 0, 0.0), now))
    timed.insert(2, (Retry(2, 0.1, "overloaded"), 100.0))
    result = AgentResult(
        output="".join(turn.final.text),
        messages=messages_of(turn),
        model=turn.model,
        provider="local",
        input_tokens=10,
        output_tokens=3,
        duration_s=1.25,
    )
    return [*timed, (Complete(result), now)]


def messages_of(turn: Turn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": turn.question}]
    for index, each in enumerate((*turn.rounds, turn.final)):
        message: dict[str, Any] = {"role": "assistant", "content": "".join(each.text)}
        if each.reasoning:
            message["reasoning_content"] = "".join(each.reasoning)
        if each.calls:
            message["tool_calls"] = [
                {
                    "id": f"c{index}{n}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for n, call in enumerate(each.calls)
            ]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": f"c{index}{n}", "content": call.result}
            for n, call in enumerate(each.calls)
        ]
    return messages


def _store(turn: Turn, told: Told, number: int, run: int) -> None:
    start = len(told.messages)
    told.messages += messages_of(turn)
    told.boundaries.append({"run": run, "start": start, "end": len(told.messages)})
    told.ledger.append(line(turn, number, run, told.transcript.turn_facts()))


def line(turn: Turn, number: int, run: int, facts: TurnFacts) -> LedgerTurn:
    return LedgerTurn(
        number=number,
        run=run,
        question=turn.question,
        model=turn.model,
        model_label=turn.model,
        ended_at=WHEN,
        attachments=turn.attachments,
        input_tokens=10,
        output_tokens=3,
        seconds=1.25,
        facts=facts,
    )


def _stop(turn: Turn, told: Told, number: int, run: int, events: list[Event]) -> InterruptedTurn:
    partial = PartialAnswer()
    for event in events:
        partial.add(event)
    told.tell([TurnInterrupted("stopped", "You stopped it.")], None)
    return InterruptedTurn(
        number=number,
        run=run,
        question=turn.question,
        attachments=turn.attachments,
        model=turn.model,
        model_label=turn.model,
        partial=partial.text,
        cause="stopped",
        reason="You stopped it.",
        tools=partial.tools,
    )


def _line_of(turn: InterruptedTurn) -> LedgerTurn:
    return LedgerTurn(
        number=turn.number,
        run=turn.run,
        question=turn.question,
        model=turn.model,
        model_label=turn.model_label,
        ended_at=WHEN,
        attachments=turn.attachments,
        status="interrupted",
        partial=turn.partial,
        tools=turn.tools,
        cause=turn.cause,
        reason=turn.reason,
    )
