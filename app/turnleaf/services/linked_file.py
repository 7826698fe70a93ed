"""The user's own ``.json``: writing it complete by itself, and knowing whether somebody else has changed it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.session.snapshot import SessionSnapshot
from turnleaf.services.errors import LinkedFileChangedError

MEDIA_FOLDER_SUFFIX = ".media"
_PIECE = 1 << 20


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file's bytes, ``None`` when there is no file. Blocking."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def media_folder_of(path: Path) -> Path:
    """Return the folder that goes with a file saved *with a media folder*: ``chat.json`` has ``chat.media``."""
    return path.with_name(path.stem + MEDIA_FOLDER_SUFFIX)


def write_linked_file(
    snapshot: SessionSnapshot, path: Path, *, media_folder: bool, known_digest: str | None = None
) -> str:
    """Write a snapshot to the user's file, durably, and return the SHA-256 of what was written. Blocking.

    A link is followed, not replaced. With `known_digest` a file that has another one is not overwritten:
    ``LinkedFileChangedError``. Raises ``OSError``; the file is then as it was.
    """
    target = Path(os.path.realpath(path))
    if known_digest is not None and digest_of(target) not in (None, known_digest):
        raise LinkedFileChangedError(
            f"{target} was changed by another program since it was opened or saved here; "
            "save under another name, or say that it may be overwritten",
            path=target,
        )
    if media_folder:
        store = DirectoryMediaStore(media_folder_of(target))
        snapshot.to_json(path=target, media="externalize", media_store=store)
    else:
        snapshot.to_json(path=target, media="inline")
    digest = digest_of(target)
    if digest is None:
        raise FileNotFoundError(f"{target} was removed while it was being saved")
    return digest
