"""The writing side of one conversation: in order, off the loop, at once or soon, and what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.errors import AgentError
from turnleaf.services.conversation_files import ConversationFiles
from turnleaf.services.errors import CheckpointError, StorageError
from turnleaf.services.partial import PartialAnswer
from turnleaf.services.sidecar import Sidecar
from turnleaf.services.sidecar_file import SidecarEncoder
from turnleaf.services.storage import DelayedWrite, OrderedWriter, closed_error

if TYPE_CHECKING:
    from doc_processing_toolkit import AgentSession, DirectoryMediaStore

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_S = 3.0
"""How long after a failed write in the background it is tried again."""
WRITE_ERRORS = (OSError, AgentError, ValueError)
"""What a write of an envelope may raise: the disk's errors, and the toolkit's for what cannot be written."""


@dataclass(frozen=True, slots=True)
class SaveState:
    """What the status bar says: when everything was on disk last, or what could not be written.

    ``saved_at`` is aware (UTC) and ``None`` before the first write; ``problem`` is ``None`` when all is well.
    """

    saved_at: datetime | None = None
    problem: StorageError | None = None


class ConversationStore:
    """Writes one conversation's files. Calls on the event loop's thread; one write at a time, in their order."""

    def __init__(
        self,
        files: ConversationFiles,
        media: DirectoryMediaStore,
        sidecar: Sidecar,
        *,
        saved_at: datetime | None = None,
    ) -> None:
        self.files = files
        self.media = media
        self.sidecar = sidecar
        self.state = SaveState(saved_at=saved_at)
        self.on_state: Callable[[SaveState], None] | None = None
        self.is_closed = False
        self.unsaved: AgentSession | None = None
        self.partial: PartialAnswer | None = None
        self._committing = asyncio.Lock()
        self._encoder = SidecarEncoder()
        self._writer = OrderedWriter(f"conversation-{files.session_id[:8]}")
        self._delayed = DelayedWrite(self.write_quietly, retry_s=RETRY_S)

    def collect_partial(self) -> None:
        """Put what has arrived of the running turn into the journal."""
        journal = self.sidecar.journal
        if journal is not None and self.partial is not None:
            journal.partial, journal.tools = self.partial.text, self.partial.tools

    def mark(self, delay_s: float) -> None:
        """Write the sidecar in the background, at the latest in `delay_s` seconds."""
        if self.is_closed:
            log.warning("a change of a conversation came after it was closed, and is not written")
            self.failed(closed_error())
        else:
            self._delayed.mark(delay_s)

    async def write_sidecar(self) -> None:
        """Write the sidecar as it stands now. Raises ``OSError``; the file is then as it was."""
        if self.is_closed:
            raise closed_error()
        self._delayed.settle()
        self.collect_partial()
        self.sidecar.updated_at = datetime.now(UTC)
        pieces = self._encoder.capture(self.sidecar)
        try:
            await self._writer.run(lambda: write_atomically(self.files.sidecar, pieces()))
        except OSError:
            if not self.is_closed:
                self.mark(RETRY_S)
            raise

    async def commit(self, session: AgentSession) -> None:
        """Write the envelope of a changed session, and the sidecar. Raises ``CheckpointError``.

        After an error the session is ``unsaved`` and ``retry`` writes it.
        """
        self.sidecar.revision += 1
        self.unsaved = session
        await self.retry()

    async def retry(self) -> None:
        """Write the session that could not be written, if there is one. Raises ``CheckpointError``."""
        async with self._committing:
            if self.unsaved is None:
                return
            revision = self.sidecar.revision
            try:
                await self._write_both(self.unsaved)
            except WRITE_ERRORS as exc:
                raise self.failed(exc) from exc
            if self.sidecar.revision == revision:
                self.unsaved = None
                self.note_saved()

    async def _write_both(self, session: AgentSession) -> None:
        """Three durable steps; a process that dies between any two is put right by ``settle_journal``."""
        snapshot, journal = session.snapshot(), self.sidecar.journal
        is_journalled = True
        try:
            await self.write_sidecar()
        except OSError:
            # The envelope matters more: it is written even when the journal cannot be.
            is_journalled = False
        await self._writer.run(lambda: self.files.write_envelope(snapshot, self.media))
        is_complete = journal is not None and journal.finished and self.sidecar.journal is journal
        if is_complete:
            self.sidecar.journal = None
        if is_complete or not is_journalled:
            await self.write_sidecar()

    async def run(self, work: Callable[[], T]) -> T:
        """Run other blocking work on the conversation's files, after the writes before it."""
        return await self._writer.run(work)

    async def finish(self) -> None:
        """Write what is due and wait for what is being written. Raises ``OSError``."""
        await self._delayed.finish()
        if self._delayed.is_due:
            await self.write_sidecar()

    def close(self) -> None:
        """Write nothing any more."""
        self.is_closed = True
        self._delayed.settle()
        self._writer.close()

    def note_saved(self) -> None:
        """Say that everything is on disk, unless a checkpoint is still to be written again."""
        if self.unsaved is None:
            self._set_state(SaveState(saved_at=datetime.now(UTC)))

    def failed(self, error: Exception) -> CheckpointError:
        """Say that something could not be written, and return the error to raise."""
        cause = os_error(error)
        path = Path(cause.filename) if cause and isinstance(cause.filename, str) else self.files.envelope
        problem = CheckpointError(
            f"the conversation could not be saved in {self.files.folder}: {reason_of(error)}; "
            "it is still in memory, free some space or choose another place and save again",
            path=path,
            cause=cause,
        )
        self._set_state(SaveState(saved_at=self.state.saved_at, problem=problem))
        return problem

    async def write_quietly(self) -> bool:
        """Write the sidecar and return whether that is over; a failure is said, and tried again while open."""
        try:
            await self.write_sidecar()
        except OSError as exc:
            self.failed(exc)
            return self.is_closed
        self.note_saved()
        return True

    def _set_state(self, state: SaveState) -> None:
        self.state = state
        if self.on_state is not None:
            self.on_state(state)


def os_error(error: BaseException | None) -> OSError | None:
    """Return the system's error behind another one, if there is one."""
    while error is not None:
        if isinstance(error, OSError):
            return error
        error = error.__cause__
    return None


def reason_of(error: Exception) -> str:
    """Return the reason in words: the system's own where there is one."""
    cause = os_error(error)
    return (cause.strerror if cause is not None else None) or str(error)
