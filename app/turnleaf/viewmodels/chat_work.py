"""What a tab does with its conversation and its session: turns, interrupted turns, models, files."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from doc_processing_toolkit.core.events import Event
from turnleaf.bridge.coalesce import Coalescer
from turnleaf.services.attachments import Fit, fits, history_tokens
from turnleaf.services.conversation import Conversation, SaveState
from turnleaf.services.errors import CheckpointError, ServiceError
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.rows import InterruptedRow
from turnleaf.services.sidecar import InterruptionCause
from turnleaf.services.transcript import InterruptedDiscarded, Transcript, UiEvent, transcript_of_history
from turnleaf.viewmodels.backend import Backend
from turnleaf.viewmodels.chat import ChatViewModel, ModelChoice
from turnleaf.viewmodels.composer import Message
from turnleaf.viewmodels.turn import Turn, TurnOutcome, elapsed_clock
from turnleaf.viewmodels.usage import Usage, usage_of

if TYPE_CHECKING:
    from doc_processing_toolkit import Agent, AgentSession
    from doc_processing_toolkit.registry import ModelRow
    from turnleaf.services.models import ModelEntry

log = logging.getLogger(__name__)


class ChatWork:
    """The work behind one ``ChatViewModel`` (its face, whose signals it emits). Made by ``open_chat``."""

    def __init__(
        self,
        face: ChatViewModel,
        backend: Backend,
        conversation: Conversation,
        agent: Agent,
        session: AgentSession,
        transcript: Transcript,
        model: ModelChoice,
    ) -> None:
        self.conversation = conversation
        self.transcript = transcript
        self.model = model
        self._face = face
        self._backend = backend
        self._agent = agent
        self._session = session
        self._row = _row_of(backend, model)
        self._next_model: ModelEntry | None = None
        self._events: list[Event | UiEvent] = []
        self._coalescer = Coalescer(self._flush_events, face)
        self._turn: Turn | None = None
        self._turn_task: asyncio.Task[None] | None = None
        self._closed = False
        self._discarding: set[int] = set()
        conversation.on_save_state = self._on_save_state

    def usage(self) -> Usage:
        """Return how full the window is, and what was spent."""
        composer = self._face.composer
        return usage_of(self.conversation.sidecar.ledger, composer.text, composer.attachments, self._row)

    # Turns.

    def send_next(self) -> None:
        """Send the message that waits longest, if nothing runs."""
        if self._closed or self._face.phase != "idle":
            return
        message = self._face.take_queued()
        if message is not None:
            self._start_turn(message)

    def stop(self, cause: InterruptionCause) -> None:
        """Stop the running answer."""
        if self._turn is not None:
            self._face.set_phase("stopping")
            self._turn.stop(cause)

    def send_again(self, number: int) -> None:
        """Ask the question of an interrupted turn again."""
        row = self._interrupted_row(number)
        if row is not None and self._face.phase == "idle":
            self._face.tasks.start(self._resend(row), "send again")

    def edit_interrupted(self, number: int) -> None:
        """Put the question of an interrupted turn back into the composer and drop the turn."""
        row = self._interrupted_row(number)
        if row is not None and self._face.phase == "idle":
            typed = self._face.composer.text
            self._face.composer.restore(
                row.question if not typed.strip() else f"{row.question}\n\n{typed}", row.attachments
            )
            self.discard_interrupted(number)

    def discard_interrupted(self, number: int) -> None:
        """Drop an interrupted turn for good."""
        if self._interrupted_row(number) is not None:
            self._discarding.add(number)
            self._face.tasks.start(self._discard(number), "discard")

    def _start_turn(self, message: Message, *, resend: bool = False, replaces: int | None = None) -> None:
        self._face.notice_raised.emit(None)
        self._face.set_phase("running")
        self.conversation.set_recipe(self._agent)
        self._turn = Turn(
            self.conversation,
            self._session,
            self.transcript,
            model_label=self.model.label,
            show=self._show,
            flush=self._flush_events,
            journalled=self._face.sent,
        )
        work = self._run_turn(self._turn, message, resend=resend, replaces=replaces)
        self._turn_task = self._face.tasks.start(work, "turn")

    async def _run_turn(self, turn: Turn, message: Message, *, resend: bool, replaces: int | None) -> None:
        outcome = TurnOutcome(False, not_sent=True)
        try:
            fit = await self._fit(message)
            if fit.ok:
                outcome = await turn.run(message, resend=resend, replaces=replaces)
        finally:
            self._turn = None
            self._face.set_phase("idle")
            if outcome.not_sent:
                self._face.not_sent()
        if outcome.not_sent and fit.ok:
            await self._rebuild()
        if not fit.ok:
            self._face.fit_refused.emit(fit)
        await self._after_turn(outcome)

    async def _after_turn(self, outcome: TurnOutcome) -> None:
        face = self._face
        if outcome.notice is not None:
            face.notice_raised.emit(outcome.notice)
        face.title_changed.emit(face.title)
        face.usage_changed.emit(face.usage)
        face.history_changed.emit()
        face.turn_ended.emit(outcome)
        if self._next_model is not None and not self._closed:
            entry, self._next_model = self._next_model, None
            await self._switch(entry)
        if outcome.completed or outcome.cause == "stopped":
            self.send_next()
        else:
            face.return_queue()

    async def _fit(self, message: Message) -> Fit:
        """Say whether `message` leaves room for an answer; counting a long history is no work for the GUI thread."""
        row, messages = self._row, list(self._session.messages)
        if row is None:
            return Fit(True, 0, 0)
        known = row
        return await asyncio.to_thread(lambda: fits(message.attachments, message.text, history_tokens(messages), known))

    async def _resend(self, row: InterruptedRow) -> None:
        try:
            attachments = [await self._backend.intake.reopen(info) for info in row.attachments]
        except Exception as error:  # noqa: BLE001 - whatever keeps a file from being read is said in the tab
            self._face.notice_raised.emit(notice_of(error))
            return
        if self._face.phase != "idle" or self._interrupted_row(row.turn) is None:
            return
        newest = self.conversation.interrupted
        is_newest = newest is not None and newest.number == row.turn
        replaces = None if is_newest else row.turn
        self._start_turn(Message(row.question, tuple(attachments)), resend=is_newest, replaces=replaces)

    async def _discard(self, number: int) -> None:
        try:
            await self.conversation.discard_interrupted(number)
        except CheckpointError as error:
            self._face.notice_raised.emit(notice_of(error))
        self._show(InterruptedDiscarded(number))
        self._flush_events()
        self._discarding.discard(number)
        self._face.history_changed.emit()

    async def _rebuild(self) -> None:
        """Show what is stored: the question that could not be journalled goes, what it had replaced comes back."""
        self._events.clear()
        self.transcript = await asyncio.to_thread(_transcript_of, self.conversation, self._session)
        self._face.rows_reset.emit(self.transcript.rows)

    def _interrupted_row(self, number: int) -> InterruptedRow | None:
        """Return an interrupted turn; one that is being discarded is none any more."""
        if number in self._discarding:
            return None
        return next((r for r in self.transcript.rows if isinstance(r, InterruptedRow) and r.turn == number), None)

    # The model.

    def choose_model(self, entry: ModelEntry) -> None:
        """Let `entry` answer next; a running turn ends first."""
        if self._face.phase in ("running", "stopping"):
            self._next_model = entry
            self.model = ModelChoice(entry.id, entry.base_url, entry.label, pending=True)
            self._face.model_changed.emit(self.model)
        elif self._face.phase == "idle":
            self._face.tasks.start(self._switch(entry), "switch model")

    async def _switch(self, entry: ModelEntry) -> None:
        try:
            agent = self._backend.catalogue.make_agent(
                entry.id, entry.base_url, recipe=self.conversation.sidecar.recipe or None
            )
            if self._session.messages:
                await self.conversation.keep_generation("before-switch")
            self._session.rebind(agent)
        except Exception as error:  # noqa: BLE001 - a refused switch leaves everything as it was and says why
            log.info("the switch to another model was refused: %s", type(error).__name__)
            self._set_model(_choice_of(self._backend, self._agent))
            self._face.notice_raised.emit(notice_of(error))
            return
        self._agent = agent
        self._set_model(ModelChoice(entry.id, entry.base_url, entry.label))
        self.conversation.set_recipe(agent)
        if self._session.messages:
            try:
                await self.conversation.save_history(self._session)
            except CheckpointError as error:
                self._face.notice_raised.emit(notice_of(error))

    def _set_model(self, model: ModelChoice) -> None:
        self.model = model
        self._row = _row_of(self._backend, model)
        self._face.model_changed.emit(model)
        self._face.usage_changed.emit(self._face.usage)

    # Files and the end.

    def retry_save(self) -> None:
        """Write again what could not be written."""
        self._face.tasks.start(self._retry_save(), "retry save")

    async def _retry_save(self) -> None:
        try:
            await self.conversation.retry()
        except CheckpointError as error:
            self._face.notice_raised.emit(notice_of(error))

    async def save_file(self, path: Path | None, *, overwrite: bool) -> Path:
        """Write the user's own ``.json``. Raises ``SaveFileError`` and ``LinkedFileChangedError``."""
        return await self.conversation.save_file(self._session, path, overwrite=overwrite)

    async def settle(self, cause: InterruptionCause) -> None:
        """Stop what runs and write everything down. Raises ``CheckpointError``."""
        self.stop(cause)
        if self._turn_task is not None and not self._turn_task.done():
            await asyncio.wait([self._turn_task])
        # In the trash nothing is written any more.
        if not self.conversation.is_closed:
            await self.conversation.flush()

    async def close(self, cause: InterruptionCause) -> None:
        """Stop what runs, write everything down, and let the conversation go. Raises ``CheckpointError``."""
        self._closed = True
        self.conversation.leave()
        try:
            await self.settle(cause)
        finally:
            self.conversation.on_save_state = None
            self._session.close()
            await self.conversation.close()

    # Inside.

    def _show(self, event: Event | UiEvent) -> None:
        self._events.append(event)
        self._coalescer.request()

    def _flush_events(self) -> None:
        if self._events:
            events, self._events = self._events, []
            changes = self.transcript.apply_all(events, at=elapsed_clock())
            if changes:
                self._face.rows_changed.emit(changes)

    def _on_save_state(self, state: SaveState) -> None:
        self._face.save_changed.emit(state)
        self._face.title_changed.emit(self._face.title)


async def open_chat(
    face: ChatViewModel, backend: Backend, conversation: Conversation, agent: Agent, model: ModelChoice
) -> None:
    """Give `face` its conversation: history, draft, interrupted turn. Raises what ``Conversation.restore`` raises.

    A face that was closed meanwhile gets nothing; the conversation is let go, with what was typed.
    """
    draft, unread = conversation.sidecar.draft, conversation.unread_files
    face.keep_in(conversation)
    opened = None if face.is_closed else await _read_history(face, conversation, agent)
    if opened is None or face.is_closed:
        if opened is not None:
            opened[0].close()
        await conversation.close()
        return
    session, transcript = opened
    work = ChatWork(face, backend, conversation, agent, session, transcript, model)
    composer = face.composer
    typed = composer.text
    composer.attach_intake(backend.intake)
    if draft.text or draft.attachments:
        composer.restore(draft.text if not typed.strip() else f"{draft.text}\n\n{typed}", draft.attachments)
    composer.add_files([Path(path) for path in unread])
    face.attach(work)
    for problem in conversation.problems:
        face.notice_raised.emit(Notice(id="conversation_problem", text=problem, severity="warning"))


async def _read_history(
    face: ChatViewModel, conversation: Conversation, agent: Agent
) -> tuple[AgentSession, Transcript] | None:
    try:
        session = await conversation.restore(agent)
        return session, await asyncio.to_thread(_transcript_of, conversation, session)
    except Exception:
        # Who has closed the tab has closed its conversation too, and asks for nothing more.
        if not face.is_closed:
            raise
        return None


def _transcript_of(conversation: Conversation, session: AgentSession) -> Transcript:
    return transcript_of_history(
        session.messages,
        conversation.sidecar.ledger,
        session.run_boundaries,
        session.agent.row.dialect,
        conversation.interrupted,
    )


def _row_of(backend: Backend, model: ModelChoice) -> ModelRow | None:
    try:
        return backend.catalogue.row(model.model_id, model.base_url)
    except ServiceError:
        return None


def _choice_of(backend: Backend, agent: Agent) -> ModelChoice:
    base_url = agent.to_config().get("base_url")
    return ModelChoice(agent.model, base_url, backend.catalogue.label(agent.model, base_url))
