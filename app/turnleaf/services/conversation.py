"""One conversation on disk: journalled before a turn, checkpointed after it, so that nothing is ever lost."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.core.events import Event
from doc_processing_toolkit.core.jsonclean import clean
from turnleaf.services.conversation_facts import UNREAD_FILES, ConversationFacts
from turnleaf.services.conversation_files import ConversationFiles
from turnleaf.services.conversation_store import WRITE_ERRORS, ConversationStore, SaveState, os_error, reason_of
from turnleaf.services.envelope_file import read_envelope
from turnleaf.services.errors import (
    CheckpointError,
    JournalError,
    SaveFileError,
)
from turnleaf.services.interruptions import interrupted_line, is_running
from turnleaf.services.linked_file import write_linked_file
from turnleaf.services.partial import PartialAnswer, shown
from turnleaf.services.redaction import redact, without_secrets
from turnleaf.services.sidecar import (
    Completed,
    Draft,
    Interrupted,
    Journal,
    LinkedFile,
    Sidecar,
    TurnEnd,
)
from turnleaf.services.titles import clean_title, title_of

if TYPE_CHECKING:
    from doc_processing_toolkit import Agent, DirectoryMediaStore
    from turnleaf.services.attachment import Attachment

__all__ = ["Conversation", "SaveState"]

_NOTHING_YET: Mapping[str, Any] = {"schema_version": 3, "messages": []}
DRAFT_DELAY_S = 0.2
PARTIAL_DELAY_S = 0.2


class Conversation(ConversationFacts):
    """One conversation. Made by ``Library``; all calls on the event loop's thread; writes run off it, in order.

    ``media`` is the profile's shared store. ``on_save_state`` is called on the loop after each write.
    ``problems`` are sentences about what could not be read when it was opened.
    """

    def __init__(
        self,
        files: ConversationFiles,
        media: DirectoryMediaStore,
        *,
        sidecar: Sidecar | None = None,
        envelope: Mapping[str, Any] | None = None,
        problems: Sequence[str] = (),
        saved_at: datetime | None = None,
    ) -> None:
        self.session_id = files.session_id
        self.media = media
        self.sidecar = sidecar or Sidecar(created_at=datetime.now(UTC))
        self.problems = tuple(problems)
        self._files = files
        self._envelope = envelope
        self._has_history = envelope is not None
        self._store = ConversationStore(files, media, self.sidecar, saved_at=saved_at)
        self._closing: asyncio.Task[None] | None = None
        self._is_leaving = False
        self._gone = asyncio.Event()

    async def restore(self, agent: Agent) -> AgentSession:
        """Return the session from the envelope, or a new one with this conversation's id when there is none.

        Raises what ``AgentSession.from_dict`` raises; the file is untouched.
        """
        data = await self._store.run(self._read_envelope)
        session = await self._store.run(lambda: AgentSession.from_dict(data, agent=agent, media_store=self.media))
        self._envelope = None
        return session

    def rename(self, title: str) -> None:
        """Give the conversation a title of the user's; an empty one goes back to the automatic title."""
        cleaned = clean_title(title)
        self.sidecar.renamed = bool(cleaned)
        self.sidecar.title = cleaned or self._automatic_title()
        self._changed(DRAFT_DELAY_S)

    def link(self, file: LinkedFile) -> None:
        """Remember the user's own file that holds this conversation, the target of *Save*."""
        if file != self.sidecar.linked:
            self.sidecar.linked = file
            self._changed(0)

    def set_recipe(self, agent: Agent) -> None:
        """Remember how to make the agent again (``agent.to_config()``, without secrets)."""
        self.sidecar.recipe = without_secrets(clean(agent.to_config()))
        self._changed(DRAFT_DELAY_S)

    def set_view(self, key: str, value: object) -> None:
        """Remember a JSON-clean piece of view state (scroll position, folded rows); written like a draft."""
        self.sidecar.view[key] = clean(value)
        self._changed(DRAFT_DELAY_S)

    def set_draft(self, text: str, attachments: Sequence[Attachment] = (), unread: Sequence[Path] = ()) -> None:
        """Remember what stands in the composer, and which files are still being read; on disk within 300 ms."""
        draft = Draft(text=text, attachments=tuple(each.info for each in attachments))
        paths = tuple(str(path) for path in unread)
        if draft != self.sidecar.draft or paths != self.unread_files:
            self.sidecar.draft = draft
            if paths:
                self.sidecar.view[UNREAD_FILES] = list(paths)
            else:
                self.sidecar.view.pop(UNREAD_FILES, None)
            self._changed(DRAFT_DELAY_S)

    async def begin_turn(
        self,
        *,
        question: str,
        attachments: Sequence[Attachment],
        run: int,
        model: str,
        model_label: str = "",
        resend: bool = False,
        replaces: int | None = None,
    ) -> int:
        """Journal the question durably and return the turn's number; only then may the request leave.

        `run` is ``session.metadata["run_count"] + 1``. The draft is emptied in the same write. With `resend` the
        interrupted turn gives way to this one, which takes its number; without, it stays in the ledger where it
        stood. `replaces` is the number of an earlier interrupted turn in the ledger that goes. Raises
        ``JournalError`` (nothing is sent then, and all is as before) and ``RuntimeError`` while a turn runs.
        """
        await self._save_earlier_turn()
        if is_running(self.sidecar.journal):
            raise RuntimeError(f"a turn is already running in the conversation {self.session_id}")
        before = dataclasses.replace(self.sidecar, ledger=list(self.sidecar.ledger))
        old = before.journal
        journal = Journal(
            number=old.number if old is not None and resend else self.next_number,
            run=run,
            question=question,
            attachments=tuple(each.info for each in attachments),
            model=model,
            model_label=model_label or model,
            started_at=datetime.now(UTC),
        )
        self._replace_journal(journal, keep_old=not resend, without=replaces)
        try:
            await self._store.write_sidecar()
        except OSError as exc:
            self._take_back(before)
            raise JournalError(
                f"the question was not sent, because it could not be written to {self._files.folder}: "
                f"{reason_of(exc)}; free some space and send it again",
                path=self._files.sidecar,
                cause=exc,
            ) from exc
        except asyncio.CancelledError:
            journal.cause = "stopped"
            self._store.partial = None
            self._changed(PARTIAL_DELAY_S)
            raise
        return journal.number

    def note_event(self, event: Event) -> None:
        """Journal what an event of the running turn brings: text and tools that have run. Cheap, on disk in 250 ms."""
        if self._store.partial is not None and self._store.partial.add(event):
            self._store.mark(PARTIAL_DELAY_S)

    def note_partial(self, text: str) -> None:
        """Journal a piece (a delta, not the whole) of the running turn's answer, as ``note_event`` does."""
        if self._store.partial is not None:
            self._store.partial.add_text(text)
            self._store.mark(PARTIAL_DELAY_S)

    def note_tool(self, name: str, content: str) -> None:
        """Journal a tool that has run in the running turn and its result, as ``note_event`` does."""
        if self._store.partial is not None:
            self._store.partial.add_tool(name, shown(content))
            self._store.mark(PARTIAL_DELAY_S)

    async def checkpoint(self, session: AgentSession, *, ended: TurnEnd) -> None:
        """Write the envelope and the sidecar after a turn, off the loop. Raises ``CheckpointError``.

        After an error memory keeps the turn and the old file is intact; ``retry`` writes again.
        """
        self._store.collect_partial()
        self._store.partial = None
        journal = self.sidecar.journal
        match ended:
            case Completed(turn):
                self.sidecar.ledger.append(turn)
                if is_running(journal):
                    journal.finished = True
            case Interrupted(cause, reason, details):
                if not is_running(journal):
                    raise RuntimeError(f"no turn is running in the conversation {self.session_id}")
                journal.cause, journal.reason, journal.details = cause, redact(reason), redact(details)
        await self.save_history(session)

    async def save_history(self, session: AgentSession) -> None:
        """Write the envelope after a change of the history (a turn, rewind, rebind). Raises ``CheckpointError``."""
        self._has_history = True
        await self._store.commit(session)

    async def retry(self) -> None:
        """Write again what a failed checkpoint could not; nothing when all is written. Raises ``CheckpointError``."""
        await self._store.retry()

    async def keep_generation(self, label: str) -> Path | None:
        """Keep the envelope as it is before a change that cuts or converts it; ``None`` when there is none yet.

        Raises ``CheckpointError``; the change should not be made then.
        """
        await self._store.retry()
        try:
            return await self._store.run(lambda: self._files.keep_generation(label))
        except OSError as exc:
            raise self._store.failed(exc) from exc

    async def discard_interrupted(self, number: int | None = None) -> None:
        """Forget the interrupted turn, or the one with this number that stands in the ledger."""
        journal = self.sidecar.journal
        if journal is not None and journal.cause is not None and number in (None, journal.number):
            self.sidecar.journal = None
        elif number is not None:
            _drop_card(self.sidecar, number)
        self._changed(0)
        await self.flush()

    async def save_file(
        self,
        session: AgentSession,
        path: Path | None = None,
        *,
        media_folder: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Write the user's own ``.json`` and link it. Without `path` the linked file, else ``ValueError``.

        Media are written inline, or with `media_folder` into ``<stem>.media`` beside it. Raises ``SaveFileError``,
        and ``LinkedFileChangedError`` when the linked file was changed by somebody else and `overwrite` is false.
        """
        linked = self.sidecar.linked
        if path is None and linked is None:
            raise ValueError("the conversation has no file yet; choose one with Save as")
        target = Path(linked.path) if path is None and linked is not None else Path(path or "").expanduser().absolute()
        revision, snapshot = self.sidecar.revision, session.snapshot()
        known = linked.sha256 if linked is not None and linked.path == str(target) and not overwrite else None
        try:
            digest = await self._store.run(
                lambda: write_linked_file(snapshot, target, media_folder=media_folder, known_digest=known)
            )
        except WRITE_ERRORS as exc:
            raise SaveFileError(
                f"{target} could not be saved: {reason_of(exc)}", path=target, cause=os_error(exc)
            ) from exc
        self.link(LinkedFile(path=str(target), revision=revision, sha256=digest))
        await self._store.write_quietly()
        return target

    async def flush(self) -> None:
        """Return when all pending writes are on disk. Raises ``CheckpointError`` for one that failed."""
        await self._store.retry()
        try:
            await self._store.finish()
        except OSError as exc:
            raise self._store.failed(exc) from exc

    async def close(self) -> None:
        """Flush and let go; an empty conversation leaves no file behind. Once more is harmless.

        Raises ``CheckpointError`` for what could not be written; it is closed then, too.
        """
        if self.is_closed:
            return
        self.leave()
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(), name="close conversation")
        # A caller that is cancelled does not keep the rest from being written.
        await asyncio.shield(self._closing)

    def leave(self) -> None:
        """Say that ``close`` follows: the library does not hand this object out any more."""
        self._is_leaving = True

    async def gone(self) -> None:
        """Return when this object writes nothing any more."""
        await self._gone.wait()

    def let_go(self) -> None:
        """Write nothing any more: the files are somebody else's, or in the trash."""
        self._store.close()
        self._gone.set()

    async def _close(self) -> None:
        try:
            await self.flush()
            if self.is_empty and not self.is_closed:
                await self._store.run(self._files.remove)
        finally:
            self.let_go()

    def _changed(self, delay_s: float) -> None:
        if not self.is_empty or self._files.sidecar.exists():
            self._store.mark(delay_s)

    def _read_envelope(self) -> dict[str, Any]:
        if self._envelope is None and self._files.envelope.exists():
            self._envelope = read_envelope(self._files.envelope)[0]
        # The file's name is the id: a copy that was made by hand is a conversation of its own.
        return {**(self._envelope or _NOTHING_YET), "session_id": self.session_id}

    def _automatic_title(self) -> str:
        questions = [line.question for line in self.sidecar.ledger]
        if self.sidecar.journal is not None:
            questions.append(self.sidecar.journal.question)
        return next((title for title in map(title_of, questions) if title), "")

    def _replace_journal(self, journal: Journal, *, keep_old: bool, without: int | None) -> None:
        sidecar = self.sidecar
        old = sidecar.journal
        if without is not None:
            _drop_card(sidecar, without)
        if keep_old and old is not None and old.cause is not None:
            sidecar.ledger.append(interrupted_line(old))
        sidecar.journal, sidecar.draft = journal, Draft()
        if not sidecar.renamed and not sidecar.title:
            sidecar.title = title_of(journal.question)
        self._store.partial = PartialAnswer()

    def _take_back(self, before: Sidecar) -> None:
        """Undo what ``begin_turn`` did to the sidecar; what was typed meanwhile stays."""
        sidecar = self.sidecar
        sidecar.journal, sidecar.title = before.journal, before.title
        sidecar.ledger[:] = before.ledger
        if sidecar.draft == Draft():
            sidecar.draft = before.draft
        self._store.partial = None
        self._changed(DRAFT_DELAY_S)

    async def _save_earlier_turn(self) -> None:
        try:
            await self._store.retry()
        except CheckpointError as exc:
            raise JournalError(
                f"the question was not sent, because the turn before it could not be saved yet: {exc}",
                path=exc.path,
                cause=os_error(exc),
            ) from exc


def _drop_card(sidecar: Sidecar, number: int) -> None:
    ledger = sidecar.ledger
    ledger[:] = [line for line in ledger if line.number != number or line.status != "interrupted"]
