"""A stored history cut into turns, each told again as the events that it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.events import (
    Event,
    Injected,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallResult,
)
from doc_processing_toolkit.dialects import BlockView, Kind, Lens, documents_of, has_lens, lens_of, question_of
from doc_processing_toolkit.documents import estimate_tokens
from turnleaf.services.rows import AttachmentInfo
from turnleaf.services.sidecar import LedgerTurn, TurnFacts

UNKNOWN_SECONDS = -1.0
_TEXT_KEYS = ("text", "refusal", "thinking", "summary", "content")


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn of a history. ``events`` carry the time at which each arrived, on a clock of the turn's own."""

    number: int
    question: str
    attachments: tuple[AttachmentInfo, ...]
    label: str
    line: LedgerTurn | None
    events: tuple[tuple[Event, float | None], ...]
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class _Span:
    """The messages of one turn and the ledger line that belongs to them, if one does."""

    messages: Sequence[Mapping[str, Any]]
    line: LedgerTurn | None


def stored_turns(
    messages: Sequence[Mapping[str, Any]],
    ledger: Sequence[LedgerTurn],
    run_boundaries: Sequence[Mapping[str, Any]],
    dialect: str,
) -> list[StoredTurn]:
    """Return the turns that the history still holds, in order, numbered as in the ledger.

    Messages that no boundary covers (an old envelope, a conversion, a compaction) are cut at the user's questions.
    """
    lens = lens_of(dialect if has_lens(dialect) else "chat")
    completed = [line for line in ledger if line.status == "completed"]
    turns: list[StoredTurn] = []
    for span in _spans(messages, completed, run_boundaries, lens):
        last = turns[-1].number if turns else 0
        number = span.line.number if span.line is not None else last + 1
        turns.append(_turn_of(span, max(number, last + 1), lens))
    return turns


def _spans(
    messages: Sequence[Mapping[str, Any]],
    completed: Sequence[LedgerTurn],
    run_boundaries: Sequence[Mapping[str, Any]],
    lens: Lens,
) -> Iterator[_Span]:
    line_of_run = {line.run: line for line in completed}
    position = 0
    for boundary in run_boundaries:
        start, end = boundary.get("start"), boundary.get("end")
        if not (isinstance(start, int) and isinstance(end, int) and position <= start < end <= len(messages)):
            continue
        yield from _loose_spans(messages[position:start], (), lens)
        yield _Span(messages[start:end], line_of_run.get(boundary.get("run", -1)))
        position = end
    rest = messages[position:]
    recorded = {boundary.get("run") for boundary in run_boundaries}
    yield from _loose_spans(rest, [line for line in completed if line.run not in recorded], lens)


def _loose_spans(messages: Sequence[Mapping[str, Any]], lines: Sequence[LedgerTurn], lens: Lens) -> Iterator[_Span]:
    """Cut messages at the user's questions; from the end, as long as the questions agree, a span has a line."""
    if not messages:
        return
    starts = [index for index, message in enumerate(messages) if _is_question(message, lens)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    spans = [messages[start:end] for start, end in zip(starts, [*starts[1:], len(messages)], strict=True)]
    matched: list[LedgerTurn | None] = [None] * len(spans)
    for back in range(1, min(len(spans), len(lines)) + 1):
        if _question(spans[-back][0], lens) != lines[-back].question:
            break
        matched[-back] = lines[-back]
    yield from (_Span(span, line) for span, line in zip(spans, matched, strict=True))


def _is_question(message: Mapping[str, Any], lens: Lens) -> bool:
    return lens.role(dict(message)) == "user" and not any(
        view.kind is Kind.RESULT for view in lens.views(dict(message))
    )


def _turn_of(span: _Span, number: int, lens: Lens) -> StoredTurn:
    line = span.line
    opens = bool(span.messages) and _is_question(span.messages[0], lens)
    clock = _Clock(line.facts if line is not None else TurnFacts())
    events = tuple(
        timed
        for message in span.messages[1 if opens else 0 :]
        for event in _events_of(message, lens)
        for timed in (clock.timed(event),)
    )
    asked = span.messages[0] if opens else {}
    return StoredTurn(
        number=number,
        question=line.question if line is not None else _question(asked, lens),
        attachments=line.attachments if line is not None else _attachments(asked, lens),
        label=line.model_label if line is not None else "",
        line=line,
        events=events,
        ended_at=clock.now,
    )


class _Clock:
    """Puts back what a stream knew and messages do not: how long reasoning and tools took, and which tools failed."""

    def __init__(self, facts: TurnFacts) -> None:
        self._timings = iter(facts.timings)
        self._failed = facts.failed_tools
        self._tools: dict[str, tuple[int, float]] = {}
        self._tool_count = 0
        self.now: float | None = 0.0

    def timed(self, event: Event) -> tuple[Event, float | None]:
        at = self.now
        match event:
            case ReasoningDelta():
                seconds = next(self._timings, None)
                self.now = at + seconds if at is not None and seconds is not None else at
            case ToolCall():
                seconds = next(self._timings, None)
                known = UNKNOWN_SECONDS if seconds is None else seconds
                self._tools[event.id] = (self._tool_count, known)
                self._tool_count += 1
            case ToolCallResult():
                position, seconds = self._tools.get(event.id, (-1, UNKNOWN_SECONDS))
                event = ToolCallResult(event.id, event.name, event.content, position in self._failed, seconds)
        return event, at


def _events_of(message: Mapping[str, Any], lens: Lens) -> Iterator[Event]:
    native = dict(message)
    role = lens.role(native)
    if role == "system":
        return
    if role == "user" and _is_question(message, lens):
        yield Injected(_question(message, lens))
        return
    views = lens.views(native)
    for kind in (Kind.REASONING, Kind.TEXT):
        text = "".join(_text_of(view.block) for view in views if view.kind is kind)
        if text:
            yield ReasoningDelta(text) if kind is Kind.REASONING else TextDelta(text)
    for view in views:
        if view.kind is Kind.CALL:
            yield ToolCall(view.call_id or "", view.name or "", _arguments_of(view))
        elif view.kind is Kind.RESULT:
            yield ToolCallResult(view.call_id or "", view.name or "", lens.result_text(view), False, UNKNOWN_SECONDS)


def _question(message: Mapping[str, Any], lens: Lens) -> str:
    if "content" in message:
        return question_of(dict(message))
    return "".join(_text_of(view.block) for view in lens.views(dict(message)) if view.kind is Kind.TEXT)


def _attachments(message: Mapping[str, Any], lens: Lens) -> tuple[AttachmentInfo, ...]:
    """What a question's message says of its files where no ledger knows them: names may be missing, digests are."""
    if not message:
        return ()
    documents = [
        AttachmentInfo(
            name=part.name or "Document",
            sha256="",
            mime_type="text/plain",
            size=len(part.text.encode("utf-8", "replace")),
            kind="text",
            characters=len(part.text),
            estimated_tokens=estimate_tokens(part.text),
        )
        for part in documents_of(dict(message))
    ]
    media = [
        AttachmentInfo(name=getattr(held, "mime_type", None) or "File", sha256="", mime_type="", size=0, kind="media")
        for view in lens.media_views(dict(message))
        for held in (lens.media(view),)
    ]
    return (*documents, *media)


def _text_of(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping):
        return next((block[key] for key in _TEXT_KEYS if isinstance(block.get(key), str)), "")
    return ""


def _arguments_of(view: BlockView) -> dict[str, Any]:
    """Return a call's arguments as an object; text that is none is shown as it is."""
    block = view.block if isinstance(view.block, Mapping) else {}
    inner = block.get("function", block.get("function_call", block))
    raw: Any = next((inner[key] for key in ("arguments", "input", "args") if key in inner), {})
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError:
            return {"arguments": raw}
    return raw if isinstance(raw, dict) else {"arguments": raw}
