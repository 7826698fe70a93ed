"""One tab as the window sees it. It can be typed into at once; what it does comes with its ``ChatWork``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal

from turnleaf.bridge.tasks import FailureHandler, TaskOwner
from turnleaf.services.attachment import Attachment
from turnleaf.services.errors import StorageError
from turnleaf.services.rows import Row
from turnleaf.services.sidecar import Draft
from turnleaf.viewmodels.composer import ComposerViewModel, Message
from turnleaf.viewmodels.usage import Usage

if TYPE_CHECKING:
    from turnleaf.services.attachments import Fit
    from turnleaf.services.conversation import Conversation, SaveState
    from turnleaf.services.models import ModelEntry
    from turnleaf.services.notices import Notice
    from turnleaf.services.sidecar import InterruptionCause
    from turnleaf.viewmodels.chat_work import ChatWork

OPENING_S = 1.5
"""How long an orderly end waits for a conversation that is opening, to keep what was typed meanwhile."""

Phase = Literal["opening", "idle", "running", "stopping", "failed"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Who answers next; ``pending`` while a turn still runs on another model."""

    model_id: str
    base_url: str | None
    label: str
    pending: bool = False


class ChatViewModel(QObject):
    """A conversation in a tab. What is sent before the services are there waits for them."""

    rows_reset = Signal(object)
    """All rows of the conversation (a tuple)."""
    rows_changed = Signal(object)
    """Changes of the rows, in order (a list of ``RowChange``)."""
    phase_changed = Signal(str)
    """One of ``Phase``."""
    notice_raised = Signal(object)
    """A ``Notice`` to show in this tab, or ``None`` when it is over."""
    title_changed = Signal(str)
    save_changed = Signal(object)
    """A ``SaveState``."""
    usage_changed = Signal(object)
    """A ``Usage``."""
    queue_changed = Signal(object)
    """The messages that wait for the running answer (a tuple of ``Message``)."""
    model_changed = Signal(object)
    """A ``ModelChoice``."""
    turn_ended = Signal(object)
    """A ``TurnOutcome``."""
    fit_refused = Signal(object)
    """A ``Fit``: the question was not sent because it is too long; the part that fits is offered."""
    history_changed = Signal()
    """The conversation's entry in the list is out of date."""

    def __init__(self, on_failure: FailureHandler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tasks = TaskOwner("tab", on_failure)
        self.composer = ComposerViewModel(self.tasks, self)
        self.composer.on_change = self.keep_draft
        self.composer.content_changed.connect(lambda: self.usage_changed.emit(self.usage))
        self._work: ChatWork | None = None
        self._queue: list[Message] = []
        self._sending: Message | None = None
        self._phase: Phase = "opening"
        self._keeper: Conversation | None = None
        self._stored = Draft()
        self._stored_unread: tuple[Path, ...] = ()
        self._is_closed = False

    @property
    def phase(self) -> Phase:
        """How the conversation stands."""
        return self._phase

    @property
    def conversation(self) -> Conversation | None:
        """The conversation, once it is there."""
        return self._work.conversation if self._work is not None else None

    @property
    def is_closed(self) -> bool:
        """Whether the tab has gone: a conversation that is opened for it is let go again."""
        return self._is_closed

    @property
    def session_id(self) -> str | None:
        """The conversation's id, once it is there."""
        return self._work.conversation.session_id if self._work is not None else None

    @property
    def is_blank(self) -> bool:
        """Whether nothing was asked and nothing stands in the composer: such a tab gives way to what is opened."""
        return not self.rows and self.composer.is_empty and not self.composer.chips and not self._queue

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as they stand."""
        return self._work.transcript.rows if self._work is not None else ()

    @property
    def queue(self) -> tuple[Message, ...]:
        """The messages that wait for the running answer."""
        return tuple(self._queue)

    @property
    def model(self) -> ModelChoice | None:
        """Who answers next."""
        return self._work.model if self._work is not None else None

    @property
    def title(self) -> str:
        """The conversation's title; empty when it has none yet."""
        return self._work.conversation.title if self._work is not None else ""

    @property
    def is_behind_file(self) -> bool:
        """Whether the linked file lacks what the conversation holds."""
        return self._work is not None and self._work.conversation.behind_file

    @property
    def save_state(self) -> SaveState | None:
        """When everything was on disk last, or what could not be written; ``None`` before the conversation is there."""
        return self._work.conversation.save_state if self._work is not None else None

    @property
    def usage(self) -> Usage:
        """How full the window is, and what was spent."""
        return self._work.usage() if self._work is not None else Usage()

    # What the window asks.

    def send(self) -> bool:
        """Send what stands in the composer, now or when the running answer ends; return whether it was taken."""
        message = self.composer.message() if self._phase != "failed" else None
        if message is None:
            return False
        # In the queue first: at no moment is it nowhere, or a crash then would lose it.
        self._queue.append(message)
        self.composer.clear()
        self.queue_changed.emit(self.queue)
        if self._work is not None:
            self._work.send_next()
        else:
            self.keep_draft()
        return True

    def stop(self) -> None:
        """Stop the running answer; what has arrived is kept, and what waits goes back into the composer."""
        if self._work is not None and self._phase == "running":
            self.return_queue()
            self._work.stop("stopped")

    def remove_queued(self, index: int) -> None:
        """Put a waiting message back into the composer."""
        if 0 <= index < len(self._queue):
            self.composer.put_back(self._queue.pop(index))
            self.queue_changed.emit(self.queue)

    def use_suggestion(self, fit: Fit) -> None:
        """Attach the part that fits, as it was offered."""
        if fit.suggestion is not None:
            self.composer.replace_attachments(fit.suggestion)

    def send_again(self, turn: int) -> None:
        """Ask the question of an interrupted turn again."""
        if self._work is not None:
            self._work.send_again(turn)

    def edit_interrupted(self, turn: int) -> None:
        """Put the question of an interrupted turn, with its files, back into the composer and drop the turn."""
        if self._work is not None:
            self._work.edit_interrupted(turn)

    def discard_interrupted(self, turn: int) -> None:
        """Drop an interrupted turn for good."""
        if self._work is not None:
            self._work.discard_interrupted(turn)

    def choose_model(self, entry: ModelEntry) -> None:
        """Let `entry` answer next; a running turn ends first."""
        if self._work is not None:
            self._work.choose_model(entry)

    def retry_save(self) -> None:
        """Write again what could not be written."""
        if self._work is not None:
            self._work.retry_save()

    async def save_file(self, path: Path | None = None, *, overwrite: bool = False) -> Path:
        """Write the user's own ``.json``. Raises ``SaveFileError`` and ``LinkedFileChangedError``."""
        if self._work is None:
            raise ValueError("the conversation is not open yet")
        saved = await self._work.save_file(path, overwrite=overwrite)
        self.title_changed.emit(self.title)
        return saved

    # What the work tells.

    def keep_in(self, conversation: Conversation) -> None:
        """Keep what is typed in this conversation from now on, behind its draft, though its history is not read yet."""
        self._keeper, self._stored = conversation, conversation.sidecar.draft
        self._stored_unread = tuple(Path(path) for path in conversation.unread_files)
        self.keep_draft()

    def attach(self, work: ChatWork) -> None:
        """Take a conversation on, its draft already in the composer: show it, and send what was waiting."""
        self._work, self._keeper, self._stored = work, work.conversation, Draft()
        self._stored_unread = ()
        self.set_phase("idle")
        self.rows_reset.emit(self.rows)
        self.model_changed.emit(work.model)
        self.title_changed.emit(self.title)
        self.save_changed.emit(self.save_state)
        self.usage_changed.emit(self.usage)
        self.keep_draft()
        work.send_next()

    def fail_to_open(self, notice: Notice) -> None:
        """Say that the conversation cannot be opened."""
        self.set_phase("failed")
        self.notice_raised.emit(notice)

    def set_phase(self, phase: Phase) -> None:
        """Say how the conversation stands now."""
        if phase != self._phase:
            self._phase = phase
            self.phase_changed.emit(phase)

    def take_queued(self) -> Message | None:
        """Return the message that waits longest."""
        if not self._queue:
            return None
        message = self._sending = self._queue.pop(0)
        self.queue_changed.emit(self.queue)
        return message

    def sent(self) -> None:
        """Take note that the question is in the journal, which emptied the draft."""
        self._sending = None
        self.keep_draft()

    def not_sent(self) -> None:
        """Put the question that could not be sent back into the composer."""
        message, self._sending = self._sending, None
        if message is not None:
            self.composer.put_back(message)

    def keep_draft(self) -> None:
        """Have everything kept that was typed and is in no journal: what waits, and what stands in the composer."""
        if self._keeper is None:
            return
        waiting = [message for message in (self._sending, *self._queue) if message is not None]
        text = self.composer.text
        if waiting or self._stored.text.strip():
            texts = [self._stored.text, *(message.text for message in waiting), text]
            text = "\n\n".join(text for text in texts if text.strip())
        stored = tuple(Attachment(info, None) for info in self._stored.attachments)
        files = [attachment for message in waiting for attachment in message.attachments]
        unread = (*self._stored_unread, *self.composer.unread_files())
        self._keeper.set_draft(text, (*stored, *files, *self.composer.kept_attachments()), unread)

    def return_queue(self) -> None:
        """Put what was waiting back into the composer, where it is kept as the draft."""
        waiting, self._queue = self._queue, []
        for message in reversed(waiting):
            self.composer.put_back(message)
        if waiting:
            self.queue_changed.emit(())

    async def settle(self, cause: InterruptionCause) -> None:
        """Stop what runs and write everything down. Raises ``CheckpointError``.

        Raises ``StorageError`` when there is something that only a conversation which does not open could keep.
        """
        self.return_queue()
        await self._wait_for_keeper()
        if self._work is not None:
            await self._work.settle(cause)
        elif self._keeper is not None:
            await self._keeper.flush()

    async def close(self, cause: InterruptionCause = "closed") -> None:
        """Stop what runs, write everything down, and let the conversation go. Raises ``CheckpointError``."""
        self._is_closed = True
        self.return_queue()
        if self._work is not None:
            await self._work.close(cause)
        elif self._keeper is not None:
            await self._keeper.close()
        await self.tasks.close(timeout_s=1.0)

    async def _wait_for_keeper(self) -> None:
        """Wait until what was typed while the conversation was opening can be kept with it."""
        until = asyncio.get_running_loop().time() + OPENING_S
        while self._keeper is None and self._phase == "opening" and not self.is_blank:
            if asyncio.get_running_loop().time() > until:
                raise StorageError("what was typed is not kept yet: its conversation is still opening", path=Path())
            await asyncio.sleep(0.02)
