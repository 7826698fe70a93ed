"""Files that come with a question: read as text, stored by digest, and ready before anything is sent."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.core.version import VERSION
from doc_processing_toolkit.documents import DocumentText, ExtractionProgress, display_name, extract
from turnleaf.services.attachment import Attachment, attachment_of
from turnleaf.services.errors import StorageError
from turnleaf.services.rows import AttachmentInfo

if TYPE_CHECKING:
    from doc_processing_toolkit import DirectoryMediaStore

log = logging.getLogger(__name__)

MAX_CACHED_CHARACTERS = 1_000_000
"""Longer texts are read from their file again: decoding them from JSON would hold the interpreter."""
_DIGEST = re.compile(r"[0-9a-f]{64}")

ProgressSink = Callable[[ExtractionProgress], None]


class AttachmentIntake:
    """Takes files in; made once per profile. ``cache`` is a folder for texts that can be read again any time."""

    def __init__(self, store: DirectoryMediaStore, cache: Path) -> None:
        self._store = store
        self._cache = cache / "documents"

    async def take(self, source: Path | tuple[str, bytes], *, on_progress: ProgressSink | None = None) -> Attachment:
        """Read a file, or pasted bytes with a name, as text and store its bytes.

        Raises ``DocumentError``, whose message is a full sentence, for what cannot be attached; nothing is stored then.
        Raises ``StorageError`` when the bytes cannot be stored. Cancelling ends the reading at once.
        """
        if isinstance(source, Path):
            document = await extract(source, on_progress=on_progress)
        else:
            name, data = source
            document = await extract(data, name=name, on_progress=on_progress)
        document = dataclasses.replace(document, name=display_name(document.name))
        await asyncio.to_thread(self._keep, source, document)
        return await asyncio.to_thread(attachment_of, document)

    async def reopen(self, info: AttachmentInfo, *, on_progress: ProgressSink | None = None) -> Attachment:
        """Make an attachment of a draft or an interrupted turn ready again, cut as it was cut.

        Raises ``DocumentError`` when its bytes are gone or cannot be read any more.
        """
        document = await asyncio.to_thread(self._cached, info)
        if document is None:
            blob = await asyncio.to_thread(self._blob, info)
            document = await extract(blob, name=info.name, on_progress=on_progress)
            await asyncio.to_thread(self._cache_text, document)
        document = dataclasses.replace(document, name=info.name)
        return await asyncio.to_thread(_cut_like, document, info)

    def _keep(self, source: Path | tuple[str, bytes], document: DocumentText) -> None:
        data = _read(source, document.name) if isinstance(source, Path) else source[1]
        if hashlib.sha256(data).hexdigest() != document.sha256:
            raise DocumentError(
                f"{document.name} was changed while it was being read; attach it again",
                code="unreadable",
                name=document.name,
            )
        try:
            self._store.put(document.sha256, document.mime_type, data)
        except OSError as exc:
            raise StorageError(
                f"{document.name} was not attached, because it could not be stored in {self._store.path}: "
                f"{exc.strerror or exc}",
                path=Path(document.name),
                cause=exc,
            ) from exc
        self._cache_text(document)

    def _blob(self, info: AttachmentInfo) -> Path:
        if _DIGEST.fullmatch(info.sha256):
            for path in self._store.path.glob(f"{info.sha256}.*"):
                return path
        raise DocumentError(
            f"{info.name} is no longer among the stored files; attach it again", code="not_found", name=info.name
        )

    def _cache_path(self, sha256: str, mime_type: str) -> Path:
        kind = re.sub(r"[^a-z0-9]+", "-", mime_type.lower())[:40]
        return self._cache / f"{sha256}.{kind}.json"

    def _cache_text(self, document: DocumentText) -> None:
        if document.characters > MAX_CACHED_CHARACTERS:
            return
        content = {"toolkit": VERSION, "document": document.to_dict()}
        try:
            write_atomically(
                self._cache_path(document.sha256, document.mime_type),
                (piece.encode("utf-8", "surrogatepass") for piece in json_pieces(content)),
            )
        except (OSError, ValueError) as exc:
            log.info("the text of a document was not cached: %s", type(exc).__name__)

    def _cached(self, info: AttachmentInfo) -> DocumentText | None:
        if not _DIGEST.fullmatch(info.sha256):
            return None
        try:
            content = json.loads(self._cache_path(info.sha256, info.mime_type).read_bytes())
            document = DocumentText.from_dict(content["document"]) if content["toolkit"] == VERSION else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return document if document is not None and document.sha256 == info.sha256 else None


def _cut_like(document: DocumentText, info: AttachmentInfo) -> Attachment:
    if info.characters is not None and info.characters < document.characters:
        document = document.head(info.characters)
    return attachment_of(document)


def _read(path: Path, name: str) -> bytes:
    try:
        # Unbuffered: one read into one object, without the interpreter being held.
        with path.open("rb", buffering=0) as file:
            return file.readall()
    except OSError as exc:
        raise DocumentError(
            f"{name} cannot be read: {exc.strerror or exc}; attach it again", code="unreadable", name=name
        ) from exc
