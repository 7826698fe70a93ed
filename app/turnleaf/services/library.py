"""The conversations of a profile: list, make, open, import, delete."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from doc_processing_toolkit import DirectoryMediaStore
from turnleaf.services.conversation import Conversation
from turnleaf.services.conversation_files import ConversationFiles, is_id
from turnleaf.services.conversation_reader import OpenedFiles, open_files, recover_files
from turnleaf.services.envelope_file import read_envelope
from turnleaf.services.errors import ConversationNotFoundError, StorageError
from turnleaf.services.importing import Imported, read_outside, same_content, write_envelope
from turnleaf.services.profile import Profile
from turnleaf.services.sidecar import LinkedFile
from turnleaf.services.storage import remove_leftovers
from turnleaf.services.summaries import ConversationSummary, SummaryReader, session_ids, stored_link
from turnleaf.services.trash import put_back, throw_away

__all__ = ["ConversationSummary", "Library"]

log = logging.getLogger(__name__)

T = TypeVar("T")


class Library:
    """The conversations under a profile's data directory; one object each, however often it is opened.

    Only one process may use a profile at a time (``ProfileLock``).
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.media = DirectoryMediaStore(profile.media)
        self._open: dict[str, Conversation] = {}
        self._summaries = SummaryReader(profile.sessions, profile.cache / "conversations.json")
        self._opening = asyncio.Lock()
        self._started_at = time.time()
        self._has_tidied = False

    def summaries(self) -> list[ConversationSummary]:
        """Return all conversations, newest first, damaged ones with their problem. Blocking: call in a thread.

        The first call also deletes what killed processes left half-written.
        """
        if not self._has_tidied:
            self._has_tidied = True
            self._tidy()
        live = {key: each.sidecar for key, each in tuple(self._open.items()) if not each.is_closed}
        return self._summaries.read(live)

    def create(self) -> Conversation:
        """Return a new conversation; nothing is on disk until something is worth keeping."""
        conversation = Conversation(self._files(str(uuid.uuid4())), self.media)
        self._open[conversation.session_id] = conversation
        return conversation

    async def open(self, session_id: str) -> Conversation:
        """Return the conversation. Raises ``ConversationNotFoundError`` and ``ConversationDamagedError``.

        A damaged sidecar is kept aside and the conversation opens from its envelope.
        """
        return await self._opened(session_id, open_files)

    async def recover(self, session_id: str) -> Conversation:
        """Open a damaged conversation from its newest good generation; the damaged file is moved aside."""
        return await self._opened(session_id, recover_files)

    async def import_file(self, path: Path) -> Conversation:
        """Open a ``.json`` from outside as a conversation linked to it.

        The same conversation is returned when its id is here with the same content; a new id is given when that id
        exists with other content or is no plain UUID. Raises ``EnvelopeError``, and ``StorageError`` when it cannot
        be taken in; the file is never changed.
        """
        path = path.expanduser().absolute()
        if self._is_own(path):
            return await self.open(path.stem)
        async with self._opening:
            try:
                imported = await asyncio.to_thread(read_outside, path, self.media)
                session_id = await asyncio.to_thread(self._home_of, imported, path)
            except OSError as exc:
                raise StorageError(
                    f"{path.name} could not be opened, because it could not be stored in {self.profile.data}: "
                    f"{exc.strerror or exc}",
                    path=path,
                    cause=exc,
                ) from exc
            conversation = await self._usable(session_id)
            if conversation is None:
                conversation = self._adopt(session_id, await asyncio.to_thread(open_files, self._files(session_id)))
        linked = LinkedFile(str(path), conversation.sidecar.revision, imported.sha256)
        conversation.link(linked)
        await conversation.flush()
        return conversation

    async def trash(self, session_id: str) -> str:
        """Move a conversation to the trash and return the name of its entry there. Raises ``StorageError``."""
        conversation = self._open.pop(session_id, None)
        if conversation is not None and conversation.is_leaving:
            await conversation.gone()
        elif conversation is not None and not conversation.is_closed:
            await conversation.flush()
            conversation.let_go()
        return await self._moved(lambda: throw_away(self._files(session_id), self.profile.trash))

    async def untrash(self, entry: str) -> str:
        """Put a conversation back from the trash and return its id. Raises ``StorageError``."""
        return await self._moved(lambda: put_back(self.profile.trash / entry, self.profile.sessions))

    async def close(self) -> None:
        """Flush and close every open conversation; the first failure is raised after all were tried."""
        conversations = list(self._open.values())
        self._open.clear()
        results = await asyncio.gather(*(each.close() for each in conversations), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _opened(self, session_id: str, read: Callable[[ConversationFiles], OpenedFiles]) -> Conversation:
        async with self._opening:
            known = await self._usable(session_id)
            if known is not None:
                return known
            if not is_id(session_id):
                raise ConversationNotFoundError(f"{session_id!r} is no conversation's id")
            return self._adopt(session_id, await asyncio.to_thread(read, self._files(session_id)))

    async def _usable(self, session_id: str) -> Conversation | None:
        """Return the open object of a conversation; one that is being closed is waited for, and is none."""
        known = self._open.get(session_id)
        if known is not None and known.is_leaving:
            await known.gone()
        return known if known is not None and not known.is_closed else None

    def _adopt(self, session_id: str, opened: OpenedFiles) -> Conversation:
        conversation = Conversation(
            self._files(session_id),
            self.media,
            sidecar=opened.sidecar,
            envelope=opened.envelope,
            problems=opened.problems,
            saved_at=opened.sidecar.updated_at,
        )
        self._open = {key: each for key, each in self._open.items() if not each.is_closed}
        self._open[session_id] = conversation
        return conversation

    def _files(self, session_id: str) -> ConversationFiles:
        return ConversationFiles(self.profile.sessions, session_id)

    def _is_own(self, path: Path) -> bool:
        """Whether a path is the envelope of a conversation in this library."""
        return Path(os.path.realpath(path.parent)) == Path(os.path.realpath(self.profile.sessions)) and (
            path.stem in session_ids(self.profile.sessions)
        )

    def _home_of(self, imported: Imported, path: Path) -> str:
        """Return the id under which a file's content is in the library; it is written there when it is new."""
        if imported.has_own_id:
            files = self._files(imported.session_id)
            if not files.exists:
                return self._take_in(imported, imported.session_id)
            if self._holds(files, imported):
                return imported.session_id
        known = self._linked_before(imported, path)
        return known or self._take_in(imported, str(uuid.uuid4()))

    def _holds(self, files: ConversationFiles, imported: Imported) -> bool:
        try:
            stored, _ = read_envelope(files.envelope)
        except (ValueError, TypeError):
            return False
        return same_content(stored, imported.envelope)

    def _linked_before(self, imported: Imported, path: Path) -> str | None:
        """Return the conversation that was made from this very file, if neither has changed since."""
        for session_id in session_ids(self.profile.sessions):
            files = self._files(session_id)
            linked = stored_link(files)
            is_the_file = linked is not None and linked.path == str(path) and linked.sha256 == imported.sha256
            if is_the_file and self._holds(files, imported):
                return session_id
        return None

    def _take_in(self, imported: Imported, session_id: str) -> str:
        write_envelope(self._files(session_id).envelope, imported.under(session_id))
        return session_id

    async def _moved(self, move: Callable[[], str]) -> str:
        try:
            return await asyncio.to_thread(move)
        except OSError as exc:
            raise StorageError(
                f"the conversation could not be moved: {exc.strerror or exc}", path=self.profile.trash, cause=exc
            ) from exc

    def _tidy(self) -> None:
        folders = (self.profile.sessions, self.profile.media, self.profile.config, self.profile.state)
        histories = self.profile.sessions.glob("*.history")
        removed = sum(remove_leftovers(folder, before=self._started_at) for folder in (*folders, *histories))
        if removed:
            log.info("%d half-written file(s) of an earlier process were deleted", removed)
