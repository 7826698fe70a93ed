"""One turn from the question to the checkpoint: journalled, streamed, and kept however it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from doc_processing_toolkit.core.errors import AgentResultError
from doc_processing_toolkit.core.events import Complete, Event, TurnComplete
from turnleaf.services.conversation import Conversation
from turnleaf.services.errors import CheckpointError, JournalError
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.sidecar import Completed, Interrupted, InterruptionCause, LedgerTurn
from turnleaf.services.transcript import (
    InterruptedDiscarded,
    QuestionAsked,
    Transcript,
    TurnInterrupted,
    UiEvent,
)
from turnleaf.viewmodels.composer import Message

if TYPE_CHECKING:
    from doc_processing_toolkit import AgentSession
    from doc_processing_toolkit.core.result import AgentResult


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended. ``not_sent`` says that the question could not even be journalled."""

    completed: bool
    notice: Notice | None = None
    not_sent: bool = False
    cause: InterruptionCause | None = None


class Turn:
    """Runs one turn. ``show`` gets what the reader should see; everything is on the event loop's thread."""

    def __init__(
        self,
        conversation: Conversation,
        session: AgentSession,
        transcript: Transcript,
        *,
        model_label: str,
        show: Callable[[Event | UiEvent], None],
        flush: Callable[[], None],
        journalled: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._session = session
        self._transcript = transcript
        self._label = model_label
        self._show = show
        self._flush = flush
        self._journalled = journalled
        self._cause: InterruptionCause | None = None
        self._stream: asyncio.Task[AgentResult | None] | None = None

    def stop(self, cause: InterruptionCause = "stopped") -> None:
        """End the turn; what has arrived is kept. The first cause counts."""
        if self._cause is None:
            self._cause = cause
        if self._stream is not None:
            self._stream.cancel()

    async def run(self, message: Message, *, resend: bool = False, replaces: int | None = None) -> TurnOutcome:
        """Ask `message` and return when the turn is on disk. Never raises for a turn that failed.

        With `resend` it takes the place of the interrupted turn; `replaces` is an earlier interrupted turn that goes.
        """
        conversation = self._conversation
        interrupted = conversation.interrupted
        expected = interrupted.number if resend and interrupted is not None else conversation.next_number
        infos = tuple(attachment.info for attachment in message.attachments)
        if replaces is not None:
            self._show(InterruptedDiscarded(replaces))
        self._show(QuestionAsked(expected, message.text, infos, self._label))
        self._flush()
        run = int(self._session.metadata["run_count"]) + 1
        try:
            number = await conversation.begin_turn(
                question=message.text,
                attachments=message.attachments,
                run=run,
                model=self._session.agent.model,
                model_label=self._label,
                resend=resend,
                replaces=replaces,
            )
        except JournalError as error:
            return TurnOutcome(False, notice_of(error), not_sent=True)
        self._journalled()
        result, failure = await self._ask(message)
        if result is not None and (result.error is None or result.messages):
            return await self._complete(message, number, run, result)
        if failure is None and result is not None:
            failure = AgentResultError(str(result.error))
        return await self._interrupt(failure)

    async def _ask(self, message: Message) -> tuple[AgentResult | None, BaseException | None]:
        """Stream the answer in a task of its own, so that stopping it does not stop what writes it down."""
        if self._cause is not None:
            return None, None
        loop = asyncio.get_running_loop()
        self._stream = loop.create_task(self._consume(message), name="answer")
        await asyncio.wait([self._stream])
        self._flush()
        if self._stream.cancelled():
            return None, None
        failure = self._stream.exception()
        return (None, failure) if failure is not None else (self._stream.result(), None)

    async def _consume(self, message: Message) -> AgentResult | None:
        files = [attachment.document for attachment in message.attachments if attachment.document is not None]
        result: AgentResult | None = None
        async with self._session.stream(message.text, files=files) as stream:
            async for event in stream:
                self._conversation.note_event(event)
                if isinstance(event, Complete | TurnComplete):
                    result = event.result
                if not isinstance(event, Complete):
                    self._show(event)
        return result

    async def _complete(self, message: Message, number: int, run: int, result: AgentResult) -> TurnOutcome:
        # Shown only now: a turn is complete for the reader when nothing can interrupt it any more.
        self._show(Complete(result))
        self._flush()
        line = LedgerTurn(
            number=number,
            run=run,
            question=message.text,
            model=self._session.agent.model,
            model_label=self._label,
            ended_at=datetime.now(UTC),
            attachments=tuple(attachment.info for attachment in message.attachments),
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            cost=result.cost,
            cost_known=result.cost_known,
            seconds=result.duration_s,
            facts=self._transcript.turn_facts(),
        )
        notice = notice_of(AgentResultError(result.error)) if result.error else None
        try:
            await self._conversation.checkpoint(self._session, ended=Completed(line))
        except CheckpointError as error:
            return TurnOutcome(True, notice_of(error))
        return TurnOutcome(True, notice)

    async def _interrupt(self, failure: BaseException | None) -> TurnOutcome:
        notice = notice_of(failure) if failure is not None and self._cause is None else None
        cause: InterruptionCause = self._cause or "failed"
        reason = notice.text if notice is not None else ""
        details = notice.details if notice is not None else ""
        self._show(TurnInterrupted(cause, reason, details))
        self._flush()
        try:
            await self._conversation.checkpoint(self._session, ended=Interrupted(cause, reason, details))
        except CheckpointError as error:
            return TurnOutcome(False, notice_of(error), cause=cause)
        return TurnOutcome(False, None, cause=cause)


def elapsed_clock() -> float:
    """Return the steady clock by which a transcript measures how long reasoning took."""
    return time.monotonic()
