"""What comes with a question through ``files=``: checked first, then turned into the parts that the row takes."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doc_processing_toolkit.core.errors import DocumentError, FileMissingError, UnsupportedPartError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.dialects.documents import document_part
from doc_processing_toolkit.dialects.view import MediaPart, TextPart, UserPart
from doc_processing_toolkit.documents import DocumentText, ExtractionProgress, display_name, extract
from doc_processing_toolkit.media.policy import base64_text
from doc_processing_toolkit.media.sniff import HEAD_BYTES, human_size, is_playable_or_visible, sniff

MAX_MEDIA_BYTES = 100 * 1000 * 1000
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was checked: it is there, can be read and is not empty."""

    name: str
    source: Path | bytes
    size: int
    mime_type: str | None


Attachment = SourceFile | DocumentText
ProgressSink = Callable[[Progress], None]


def check_files(files: Iterable[Any]) -> list[Attachment]:
    """Return what ``files=`` names, checked; blocking.

    Raises ``TypeError`` for an entry of another kind, ``DocumentError`` for a file that is missing, unreadable,
    empty, or no regular file.
    """
    if isinstance(files, str | bytes | os.PathLike | DocumentText):
        raise TypeError("files takes a list of files, not a single one; write files=[...]")
    return [_checked(entry) for entry in files]


def is_document(item: Attachment) -> bool:
    """Whether a file reaches the model as a document, and not as something to see or hear."""
    return isinstance(item, DocumentText) or not is_playable_or_visible(item.mime_type)


async def take_files(
    attachments: Iterable[Attachment], row: ModelRow, *, on_unsupported_part: str, on_progress: ProgressSink
) -> list[UserPart]:
    """Return one part per file, as the row takes it: text of a document, or media.

    Raises ``DocumentError`` for a document that cannot be read as text, ``UnsupportedPartError`` under
    ``on_unsupported_part="raise"`` for what the row does not take; under the other policies text stands in its place.
    """
    return [await _part(item, row, on_unsupported_part, on_progress) for item in attachments]


def _checked(entry: Any) -> Attachment:
    match entry:
        case DocumentText():
            return entry
        case str() | Path():
            return _checked_path(Path(entry))
        case (str() as name, bytes() | bytearray() as data):
            return _checked_bytes(name, bytes(data), None)
        case (str() as name, bytes() | bytearray() as data, str() | None as mime_type):
            return _checked_bytes(name, bytes(data), mime_type)
    raise TypeError(
        f"files takes paths, (name, bytes), (name, bytes, mime_type) or DocumentText, not {type(entry).__name__}"
    )


def _checked_bytes(name: str, data: bytes, mime_type: str | None) -> SourceFile:
    if not data:
        raise DocumentError(f"{name!r} is empty (0 bytes); attach a file that has content", code="empty", name=name)
    return SourceFile(name, data, len(data), sniff(data[:HEAD_BYTES]) or mime_type)


def _checked_path(path: Path) -> SourceFile:
    name = path.name
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise DocumentError(f"{name!r} is {kind}; attach a file", code="not_a_file", name=name)
        if status.st_size == 0:
            raise DocumentError(f"{name!r} is empty (0 bytes); attach a file that has content", code="empty", name=name)
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError as error:
        raise FileMissingError(f"{str(path)!r} does not exist; check the path", code="not_found", name=name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError(f"{name!r} cannot be read: {reason}", code="unreadable", name=name) from error
    return SourceFile(name, path, status.st_size, sniff(head))


async def _part(item: Attachment, row: ModelRow, policy: str, on_progress: ProgressSink) -> UserPart:
    if isinstance(item, DocumentText):
        return document_part(row, display_name(item.name), item.text)
    if is_playable_or_visible(item.mime_type) or (item.mime_type == _PDF and row.takes("document")):
        return await _media_part(item, row, policy)
    if item.mime_type == _PDF and policy == "raise":
        raise _unsupported(item, row)
    document = await extract(item.source, name=item.name, on_progress=_sink(item.name, on_progress))
    return document_part(row, display_name(item.name), document.text)


async def _media_part(item: SourceFile, row: ModelRow, policy: str) -> UserPart:
    mime_type = item.mime_type or "application/octet-stream"
    if not row.takes(MediaPart("", mime_type).kind):
        if policy == "raise":
            raise _unsupported(item, row)
        return TextPart(f"[{mime_type}, {human_size(item.size)}, not accepted by {row.label}]")
    if item.size > MAX_MEDIA_BYTES:
        limit = human_size(MAX_MEDIA_BYTES)
        raise DocumentError(f"{item.name!r} is larger than {limit}; attach less", code="too_large", name=item.name)
    return MediaPart(await asyncio.to_thread(_base64_of, item), mime_type, item.name)


def _unsupported(item: SourceFile, row: ModelRow) -> UnsupportedPartError:
    return UnsupportedPartError(
        f"{row.id} does not take {item.name!r} ({item.mime_type}); it takes {', '.join(row.input_types)}"
    )


def _sink(name: str, on_progress: ProgressSink) -> Callable[[ExtractionProgress], None]:
    def report(progress: ExtractionProgress) -> None:
        on_progress(Progress("reading_document", progress.done, progress.total, progress.unit, name))

    return report


def _base64_of(item: SourceFile) -> str:
    """Return the file as base64, encoded in pieces so that other threads get their turn."""
    if isinstance(item.source, bytes):
        data = item.source
    else:
        try:
            data = item.source.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise DocumentError(f"{item.name!r} cannot be read: {reason}", code="unreadable", name=item.name) from error
    return base64_text(data)
