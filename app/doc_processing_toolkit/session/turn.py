"""Running turns on a session: one at a time, stored when they complete, set aside when they do not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from doc_processing_toolkit.core import switches
from doc_processing_toolkit.core.aio import Closing
from doc_processing_toolkit.core.errors import AgentResultError
from doc_processing_toolkit.core.events import Complete, Event, TurnComplete, TurnStart
from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.protocols import Message, Runner, TurnRequest, TurnRun
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import TextPart
from doc_processing_toolkit.history.modes import prepare
from doc_processing_toolkit.session.late import next_follow_up
from doc_processing_toolkit.session.metadata import bank
from doc_processing_toolkit.session.state import SessionState
from doc_processing_toolkit.session.storing import store_turn

CLOSED_EARLY = "the stream was closed before it was complete"


def checked_question(prompt: Any, files: Iterable[Any]) -> tuple[str, tuple[Any, ...]]:
    """Return the prompt and the files. Raises ``TypeError`` or ``ValueError`` for what cannot be asked."""
    if not isinstance(prompt, str):
        raise TypeError(f"a prompt is text, not a {type(prompt).__name__}")
    if isinstance(files, str | bytes | os.PathLike):
        raise TypeError("files takes a list of files, not a single one; write files=[...]")
    given = tuple(files)
    if not prompt.strip() and not given:
        raise ValueError("the prompt is empty; ask something, or attach a file")
    return prompt, given


async def run_turns(
    state: SessionState,
    runner: Runner,
    prompt: str,
    files: tuple[Any, ...],
    output_schema: Any,
    closing: Closing | None,
) -> AsyncGenerator[Event, None]:
    """Run a call of ``run()`` or, with ``closing``, of ``stream()``: the turn, and the follow-ups that it earns.

    The history holds a turn when its ``turn_complete`` or ``complete`` is handed out, not before.
    """
    state.require_open()
    state.require_idle()
    state.is_busy = True
    state.last_turn_results = []
    waiting: list[str] = []
    try:
        while True:
            request = _request(state, runner, prompt, files, output_schema, is_streamed=closing is not None)
            complete: Complete | None = None
            async with contextlib.aclosing(_one_turn(state, runner, request, closing)) as events:
                async for event in events:
                    if isinstance(event, Complete):
                        complete = event
                        break
                    yield event
            if complete is None:
                raise RuntimeError("a turn ended without its last event")
            waiting += state.handle.take_undelivered() if state.handle is not None else []
            follow_up = next_follow_up(state, prompt, waiting, complete.result)
            if follow_up is None:
                break
            yield TurnComplete(complete.result)
            waiting.remove(follow_up)
            prompt, files = follow_up, ()
    except BaseException:
        state.park(waiting)
        raise
    finally:
        state.is_busy = False
    yield complete


def _request(
    state: SessionState,
    runner: Runner,
    prompt: str,
    files: tuple[Any, ...],
    output_schema: Any,
    *,
    is_streamed: bool,
) -> TurnRequest:
    row, config = runner.row, state.config
    lens, binds = lens_of(row.dialect), row.produces_preserved_thinking_blocks

    def prepared_of(messages: Sequence[Message]) -> tuple[list[Message], str]:
        prepared = prepare(messages, config, lens, binds_reasoning=binds)
        return prepared.messages, prepared.context

    history, context = prepared_of(state.messages)
    gap = state.estimate_gap
    return TurnRequest(
        prompt=prompt,
        files=files,
        history=history,
        context=context,
        output_schema=output_schema,
        run=state.metadata["run_count"] + 1,
        is_streamed=is_streamed,
        frozen_tools=state.frozen_tools,
        container_id=state.anthropic_container_id if runner.reuse_anthropic_container else None,
        kept_results=state.kept_results,
        is_continued=True,
        stored=state.messages,
        prepare=prepared_of,
        hides_results=config.mode == "no_tool_results",
        estimate_gap=gap[1] if gap is not None and gap[0] is state.messages else 0,
    )


async def _one_turn(
    state: SessionState, runner: Runner, request: TurnRequest, closing: Closing | None
) -> AsyncGenerator[Event, None]:
    turn = runner.start_turn(request)
    state.handle = turn.handle
    has_started = False
    complete: Complete | None = None
    try:
        async with contextlib.aclosing(turn.events()) as events:
            async for event in events:
                if isinstance(event, Complete):
                    complete = event
                    break
                if isinstance(event, TurnStart):
                    has_started = True
                    state.metadata.pop("interrupted_turn", None)
                yield event
    except BaseException as error:
        if has_started:
            _set_aside(state, runner, request, turn, error, closing)
        raise
    if complete is None:
        return
    result = complete.result
    _note_surface(state, runner, turn)
    state.last_turn_results.append(result)
    if result.error is not None and not result.messages:
        bank(state.metadata, result)
        _record_interruption(state, runner, request, turn, result.error, AgentResultError.__name__, [])
    else:
        _store(state, runner, request, turn, result, closing)
    yield complete


def _note_surface(state: SessionState, runner: Runner, turn: TurnRun) -> None:
    """Freeze the tools that the session began with, record each drift once, and keep the container (E01, H12)."""
    if state.frozen_tools is None:
        state.frozen_tools = turn.tool_surface
    drift = turn.tool_drift
    if drift is not None and drift not in state.tool_surface_drift[-1:]:
        state.tool_surface_drift = [*state.tool_surface_drift, drift]
    if runner.reuse_anthropic_container:
        state.anthropic_container_id = turn.container_id


def _store(
    state: SessionState,
    runner: Runner,
    request: TurnRequest,
    turn: TurnRun,
    result: AgentResult,
    closing: Closing | None,
) -> None:
    """Store a completed turn; one that cannot be stored is set aside, so that its question is not lost."""
    try:
        store_turn(state, runner, request, turn, result)
    except Exception as error:
        _set_aside(state, runner, request, turn, error, closing)
        raise


def _set_aside(
    state: SessionState,
    runner: Runner,
    request: TurnRequest,
    turn: TurnRun,
    error: BaseException,
    closing: Closing | None,
) -> None:
    """Bank what a turn that raised has cost, and keep its question (I01, I03)."""
    is_abandoned = closing is not None and closing.explains(error)
    text = CLOSED_EARLY if is_abandoned else str(error) or type(error).__name__
    account = turn.spent(text)
    bank(state.metadata, account)
    if is_abandoned:
        state.last_turn_results.append(account)
        runner.note_abandoned(account)
    undelivered = turn.handle.take_undelivered()
    state.park(undelivered)
    with contextlib.suppress(AttributeError):
        error.undelivered_injections = list(undelivered)  # type: ignore[attr-defined]
    kind = "StreamAbandoned" if is_abandoned else type(error).__name__
    _record_interruption(state, runner, request, turn, text, kind, undelivered)


def _record_interruption(
    state: SessionState,
    runner: Runner,
    request: TurnRequest,
    turn: TurnRun,
    error: str,
    error_type: str,
    undelivered: list[str],
) -> None:
    if switches.is_off(switches.INTERRUPTED_TURN):
        question = turn.question or lens_of(runner.row.dialect).user_message([TextPart(clean_text(request.prompt))])
        state.messages = [*state.messages, question]
        return
    state.metadata["interrupted_turn"] = {
        "message": clean_text(request.prompt),
        "files_attached": len(request.files),
        "error": clean_text(error),
        "error_type": error_type,
        "failed_at": utc_now(),
        "run": request.run,
        "undelivered_injections": list(undelivered),
    }
    state.metadata["updated_at"] = utc_now()
