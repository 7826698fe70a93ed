"""The reducer: one event of a conversation after the other into rows; pure, without clock, file or widget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from doc_processing_toolkit.core.events import (
    Complete,
    Event,
    Injected,
    Progress,
    ReasoningDelta,
    Retry,
    TextDelta,
    ToolCall,
    ToolCallResult,
    TurnComplete,
    TurnStart,
)
from doc_processing_toolkit.core.result import AgentResult
from turnleaf.services.partial import PartialAnswer, shown
from turnleaf.services.row_list import RowChange, RowList
from turnleaf.services.rows import (
    AnswerRow,
    AttachmentInfo,
    DividerRow,
    InterruptedRow,
    MetaRow,
    QuestionRow,
    ReasoningRow,
    Row,
    StatusRow,
    ToolRow,
)
from turnleaf.services.sidecar import InterruptedTurn, InterruptionCause, LedgerTurn, TurnFacts


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The user has sent a question; ``model_label`` is the name of the model that will answer.

    An interrupted turn of the same number gives way: it is sent again.
    """

    number: int
    question: str
    attachments: tuple[AttachmentInfo, ...] = ()
    model_label: str = ""


@dataclass(frozen=True, slots=True)
class TurnInterrupted:
    """The running turn was stopped, failed, or was ended with the app: its rows become one card."""

    cause: InterruptionCause
    reason: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class JournalRestored:
    """An interrupted turn was found in the journal."""

    turn: InterruptedTurn


@dataclass(frozen=True, slots=True)
class InterruptedDiscarded:
    """The card of turn ``number`` goes."""

    number: int


@dataclass(frozen=True, slots=True)
class TurnRestored:
    """A turn of a stored history ends; the figures come from its ledger line, if it has one."""

    line: LedgerTurn | None


UiEvent = QuestionAsked | TurnInterrupted | TurnRestored | JournalRestored | InterruptedDiscarded


@dataclass(slots=True)
class _OpenTurn:
    """The turn that is being written: its question, which rows still grow, and what only a stream knows."""

    number: int
    question: str
    attachments: tuple[AttachmentInfo, ...]
    label: str
    keys: list[str] = field(default_factory=list)
    partial: PartialAnswer = field(default_factory=PartialAnswer)
    reasoning: str = ""
    reasoning_since: float | None = None
    answer: str = ""
    status: str = ""
    tools: dict[str, str] = field(default_factory=dict)
    open_tools: set[str] = field(default_factory=set)

    def new_key(self, kind: str) -> str:
        """Return a key that is the same whenever the turn is built again."""
        count = sum(key.split("/")[1] == kind for key in self.keys)
        key = f"{self.number}/{kind}/{count}"
        self.keys.append(key)
        return key


class Transcript:
    """The rows of one conversation. One reducer serves the stream and the stored history, so both show the same."""

    def __init__(self) -> None:
        self._list = RowList()
        self._turn: _OpenTurn | None = None
        self._is_open = False
        self._last_number = 0
        self._last_label = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as they stand."""
        return self._list.rows

    def apply(self, event: Event | UiEvent, *, at: float | None = None) -> list[RowChange]:
        """Apply one event; `at` is when it arrived, in seconds of any steady clock (for how long reasoning took)."""
        return self.apply_all((event,), at=at)

    def apply_all(self, events: Iterable[Event | UiEvent], *, at: float | None = None) -> list[RowChange]:
        """Apply a batch; a row that changes more than once in it is reported once.

        A batch costs the length of the growing answer once, not once per delta: give deltas in batches.
        """
        for event in events:
            self._apply(event, at)
        return self._list.take_changes()

    def turn_facts(self) -> TurnFacts:
        """Return, for the ledger line of the latest turn, what its messages do not hold."""
        rows = [self._list.get(key) for key in self._turn.keys] if self._turn is not None else []
        tools = [row for row in rows if isinstance(row, ToolRow)]
        return TurnFacts(
            timings=tuple(row.seconds for row in rows if isinstance(row, ReasoningRow | ToolRow)),
            failed_tools=tuple(index for index, row in enumerate(tools) if row.is_error),
        )

    def _apply(self, event: Event | UiEvent, at: float | None) -> None:
        match event:
            case QuestionAsked():
                self._ask(event)
            case TurnInterrupted():
                self._interrupt(event)
            case TurnRestored(line):
                self._end_restored(line, at)
            case JournalRestored(turn):
                self._restore(turn)
            case InterruptedDiscarded(number):
                self._remove_card(number)
            case TurnStart() if not self._is_open:
                self._ask(QuestionAsked(self._last_number + 1, "", (), self._last_label))
            case _ if self._is_open and self._turn is not None:
                self._turn.partial.add(event)
                self._stream(self._turn, event, at)

    def _stream(self, turn: _OpenTurn, event: Event, at: float | None) -> None:
        match event:
            case Progress():
                self._set_status(turn, event.phase, event.done, event.total, event.unit, event.detail)
            case Retry():
                self._set_status(turn, "retry", event.attempt, 0, "", event.reason)
            case TextDelta(text) if text:
                self._end_reasoning(turn, at)
                self._grow_answer(turn, text)
            case ReasoningDelta(text) if text:
                self._grow_reasoning(turn, text, at)
            case ToolCall():
                self._call(turn, event, at)
            case ToolCallResult():
                self._answer_call(turn, event)
            case Injected(text):
                self._inject(turn, text, at)
            case Complete(result) | TurnComplete(result):
                self._complete(turn, result, at)

    def _ask(self, event: QuestionAsked) -> None:
        self._close_turn(None)
        self._remove_card(event.number)
        turn = _OpenTurn(event.number, event.question, event.attachments, event.model_label)
        self._turn, self._is_open = turn, True
        self._divide(turn.number, turn.label)
        if event.question or event.attachments:
            self._list.insert(QuestionRow(turn.new_key("question"), turn.number, event.question, event.attachments))
        self._set_status(turn, "asking")

    def _divide(self, number: int, label: str) -> None:
        change = label if self._last_label and label and label != self._last_label else ""
        self._list.insert(DividerRow(f"{number}/divider", number, change))
        self._last_number = number

    def _interrupt(self, event: TurnInterrupted) -> None:
        turn = self._turn
        if turn is None or not self._is_open:
            return
        for key in (turn.status, *turn.keys):
            self._list.remove(key)
        self._is_open = False
        self._list.insert(
            InterruptedRow(
                key=f"{turn.number}/interrupted",
                turn=turn.number,
                question=turn.question,
                attachments=turn.attachments,
                partial=turn.partial.text,
                cause=event.cause,
                reason=event.reason,
                details=event.details,
                tools=turn.partial.tools,
            )
        )

    def _restore(self, turn: InterruptedTurn) -> None:
        self._close_turn(None)
        self._remove_card(turn.number)
        self._divide(turn.number, turn.model_label)
        self._list.insert(
            InterruptedRow(
                key=f"{turn.number}/interrupted",
                turn=turn.number,
                question=turn.question,
                attachments=turn.attachments,
                partial=turn.partial,
                cause=turn.cause,
                reason=turn.reason,
                details=turn.details,
                tools=turn.tools,
            )
        )

    def _remove_card(self, number: int) -> None:
        if self._list.get(f"{number}/interrupted") is not None:
            self._list.remove(f"{number}/interrupted")
            self._list.remove(f"{number}/divider")

    def _grow_answer(self, turn: _OpenTurn, text: str) -> None:
        self._clear_status(turn)
        if not turn.answer:
            turn.answer = turn.new_key("answer")
            self._list.insert(AnswerRow(turn.answer, turn.number, text, streaming=True))
        else:
            self._list.grow(turn.answer, text)

    def _grow_reasoning(self, turn: _OpenTurn, text: str, at: float | None) -> None:
        self._clear_status(turn)
        if turn.reasoning:
            self._list.grow(turn.reasoning, text)
            return
        # Reasoning that comes after text of the same round stands before it, as the stored message has it.
        position = self._position(turn.answer) if turn.answer else None
        turn.reasoning, turn.reasoning_since = turn.new_key("reasoning"), at
        self._list.insert(ReasoningRow(turn.reasoning, turn.number, text), at=position)

    def _call(self, turn: _OpenTurn, event: ToolCall, at: float | None) -> None:
        self._end_round(turn, at)
        key = turn.new_key("tool")
        turn.tools[event.id] = key
        turn.open_tools.add(key)
        arguments = shown(event.arguments) if event.arguments else ""
        self._list.insert(ToolRow(key, turn.number, event.name, arguments))

    def _answer_call(self, turn: _OpenTurn, event: ToolCallResult) -> None:
        key = turn.tools.get(event.id)
        row = self._list.get(key) if key is not None else None
        if key is None or not isinstance(row, ToolRow):
            return
        turn.open_tools.discard(key)
        self._list.update(
            replace(row, result=shown(event.content), is_error=event.is_error, seconds=_seconds(event.duration_s))
        )
        if not turn.open_tools:
            self._set_status(turn, "asking")

    def _inject(self, turn: _OpenTurn, text: str, at: float | None) -> None:
        self._end_round(turn, at)
        self._list.insert(QuestionRow(turn.new_key("question"), turn.number, text))
        self._set_status(turn, "asking")

    def _complete(self, turn: _OpenTurn, result: AgentResult, at: float | None) -> None:
        if result.error is not None and not result.messages:
            # Nothing to store: what happened is said by the TurnInterrupted that follows.
            self._end_round(turn, at)
            return
        self._settle_answer(turn, result.output)
        self._close_turn(at)
        self._last_label = turn.label or self._last_label
        self._list.insert(_meta_row(turn, result))

    def _settle_answer(self, turn: _OpenTurn, output: Any) -> None:
        """Make the last answer say what is stored, which may differ from what was streamed by white space."""
        if not isinstance(output, str):
            return
        if output and turn.answer:
            self._list.update(AnswerRow(turn.answer, turn.number, output))
        elif output:
            self._grow_answer(turn, output)
        elif turn.answer:
            self._list.remove(turn.answer)
            turn.keys.remove(turn.answer)
            turn.answer = ""

    def _end_restored(self, line: LedgerTurn | None, at: float | None) -> None:
        turn = self._turn
        if turn is None or not self._is_open:
            return
        self._close_turn(at)
        self._last_label = turn.label or self._last_label
        if line is not None and line.figures_known:
            self._list.insert(_meta_row(turn, line))

    def _close_turn(self, at: float | None) -> None:
        if self._turn is not None and self._is_open:
            self._end_round(self._turn, at)
        self._is_open = False

    def _end_round(self, turn: _OpenTurn, at: float | None) -> None:
        """End the text and the reasoning that grow: a tool's call, a message in between, or the end follows."""
        self._clear_status(turn)
        self._end_reasoning(turn, at)
        row = self._list.get(turn.answer) if turn.answer else None
        if isinstance(row, AnswerRow) and row.streaming:
            self._list.update(replace(row, streaming=False))
        turn.answer = turn.reasoning = ""

    def _end_reasoning(self, turn: _OpenTurn, at: float | None) -> None:
        since, turn.reasoning_since = turn.reasoning_since, None
        row = self._list.get(turn.reasoning) if turn.reasoning else None
        if isinstance(row, ReasoningRow) and since is not None and at is not None:
            self._list.update(replace(row, seconds=_seconds(at - since)))

    def _position(self, key: str) -> int | None:
        return next((index for index, row in enumerate(self._list.rows) if row.key == key), None)

    def _set_status(
        self, turn: _OpenTurn, phase: str, done: int = 0, total: int = 0, unit: str = "", detail: str = ""
    ) -> None:
        row = StatusRow(f"{turn.number}/status", turn.number, phase, done, total, unit, detail)
        if turn.status:
            self._list.update(row)
        else:
            turn.status = row.key
            self._list.insert(row)

    def _clear_status(self, turn: _OpenTurn) -> None:
        if turn.status:
            self._list.remove(turn.status)
            turn.status = ""


def _meta_row(turn: _OpenTurn, account: AgentResult | LedgerTurn) -> MetaRow:
    seconds = account.duration_s if isinstance(account, AgentResult) else account.seconds
    return MetaRow(
        key=f"{turn.number}/meta",
        turn=turn.number,
        model=turn.label or account.model,
        input_tokens=account.input_tokens,
        output_tokens=account.output_tokens,
        cost=account.cost,
        cost_known=account.cost_known,
        seconds=_seconds(seconds),
    )


def _seconds(duration: float | None) -> float | None:
    """Return a duration for showing; ``None`` for one that is not known, or is no millisecond long."""
    rounded = round(duration, 3) if duration is not None else 0.0
    return rounded if rounded > 0 else None
