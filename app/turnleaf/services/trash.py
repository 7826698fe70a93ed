"""Deleting a conversation, and bringing it back: its files move together, the envelope last out and first back."""

from __future__ import annotations

import errno
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from doc_processing_toolkit.core.durable import sync_folder
from turnleaf.services.conversation_files import ConversationFiles
from turnleaf.services.errors import ConversationNotFoundError


def throw_away(files: ConversationFiles, trash: Path) -> str:
    """Move a conversation's files into a folder of the trash and return its name. Blocking. Raises ``OSError``.

    Raises ``ConversationNotFoundError`` when there is nothing to move.
    """
    if not files.exists:
        raise ConversationNotFoundError(f"there is no conversation {files.session_id} in {files.folder}")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    entry = trash / f"{files.session_id}.{stamp}-{secrets.token_hex(2)}"
    entry.mkdir(mode=0o700, parents=True)
    for path in (files.sidecar, files.history, files.envelope):
        if path.exists():
            os.replace(path, entry / path.name)
    sync_folder(entry)
    sync_folder(files.folder)
    return entry.name


def put_back(entry: Path, folder: Path) -> str:
    """Move a conversation's files back out of the trash and return its id. Blocking. Raises ``OSError``.

    Raises ``ConversationNotFoundError`` for an entry that is not there. A conversation that has the id by now is
    not touched: ``FileExistsError``.
    """
    if not entry.is_dir():
        raise ConversationNotFoundError(f"there is no entry {entry.name} in the trash")
    session_id = entry.name.rpartition(".")[0]
    files, kept = ConversationFiles(folder, session_id), ConversationFiles(entry, session_id)
    if files.exists:
        raise FileExistsError(errno.EEXIST, "a conversation with this id exists", str(files.envelope))
    for path, target in ((kept.envelope, files.envelope), (kept.history, files.history), (kept.sidecar, files.sidecar)):
        if path.exists():
            os.replace(path, target)
    sync_folder(folder)
    entry.rmdir()
    return session_id
