"""Media that does not go inline: uploaded to the Files API, waited for, and remembered while it lasts (J10, J12)."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.result import MediaUpload
from doc_processing_toolkit.dialects.google import GoogleLens
from doc_processing_toolkit.dialects.google_parts import spelling_in
from doc_processing_toolkit.dialects.view import BlockView, InlineMedia, replace_blocks
from doc_processing_toolkit.media.placeholders import decoded_size
from doc_processing_toolkit.media.policy import bytes_of_base64
from doc_processing_toolkit.providers.base import HeldFile, RequestFailedError
from doc_processing_toolkit.providers.google.sdk import UnreadableAnswerError, readable

if TYPE_CHECKING:
    from google import genai
    from google.genai import types

# Larger parts are uploaded, and audio and video of any size.
LARGEST_INLINE_BYTES = 20 * 1024 * 1024
# What a request may hold inline altogether, as base64; the server takes 100 MiB with everything else (W-G25).
MOST_INLINE_CHARACTERS = 80 * 1024 * 1024
_ALWAYS_UPLOADED = ("audio/", "video/")
_GONE = frozenset({403, 404})
# A file that ends sooner than this is uploaded again.
_SPARE = timedelta(minutes=10)
_FIRST_POLL_S, _LONGEST_POLL_S = 0.1, 5.0
_LONGEST_WAIT_S = 900.0
_LONGEST_NAME = 512
_LENS = GoogleLens()


@dataclass(frozen=True, slots=True)
class Desk:
    """Where files are handed in: the SDK's client, the options of its requests, and for which model."""

    client: genai.Client
    options: types.HttpOptions
    row: ModelRow


@dataclass(frozen=True, slots=True)
class Placed:
    """Messages, by position, whose large media lies with Google now, and the files that they point to."""

    messages: dict[int, Message]
    uploads: list[MediaUpload]


class Shelf:
    """What one key has uploaded and may still be used, by its digest and type."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], MediaUpload] = {}
        self._told: set[str] = set()

    async def place(self, desk: Desk, messages: Sequence[Message], positions: Sequence[int]) -> Placed:
        """Return those of the messages that hold media which cannot go inline, with references in its place."""
        found = await asyncio.to_thread(_to_upload, messages, positions)
        placed = Placed({}, [])
        for position, views in found.items():
            referring = []
            for view, held in views:
                upload = await self._upload_of(desk, held)
                placed.uploads.append(upload)
                referring.append(_referring(view, upload))
            placed.messages[position] = replace_blocks(messages[position], referring)
        return placed

    def news(self, uploads: Sequence[MediaUpload]) -> tuple[MediaUpload, ...]:
        """Return the uploads that have not been told yet; they count as told from now on."""
        fresh = {upload.name: upload for upload in uploads if upload.name not in self._told}
        self._told.update(fresh)
        return tuple(fresh.values())

    def forget(self) -> bool:
        """Forget every file, for one of them has gone before its time; return whether there was any."""
        had_any = bool(self._held)
        self._held.clear()
        return had_any

    async def _upload_of(self, desk: Desk, held: InlineMedia) -> MediaUpload:
        mime_type = held.mime_type or "application/octet-stream"
        data, digest = await asyncio.to_thread(_decoded, held.data)
        known = self._held.get((digest, mime_type))
        if known is not None and _lasts(known):
            return known
        upload = self._held[digest, mime_type] = await upload_file(desk, data, mime_type, digest=digest)
        return upload


async def upload_file(desk: Desk, data: bytes, mime_type: str, name: str = "", *, digest: str = "") -> MediaUpload:
    """Upload bytes, wait until the file is ACTIVE and return its record.

    Raises what the SDK and the HTTP client raise, and :class:`RequestFailedError` for a file that Google cannot read.
    """
    config = {
        "mime_type": mime_type,
        "display_name": name[:_LONGEST_NAME] or None,
        "http_options": desk.options.model_copy(),
    }
    with readable():
        file = await desk.client.aio.files.upload(file=io.BytesIO(data), config=config)  # type: ignore[arg-type]
    uploaded_at = datetime.now(UTC)
    file = await _active(desk, file)
    if not file.uri or not file.name:
        raise UnreadableAnswerError("an upload has come to a file without an address")
    return MediaUpload(
        uri=file.uri,
        name=file.name,
        mime_type=file.mime_type or mime_type,
        size=len(data),
        sha256=digest or await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest()),
        uploaded_at=uploaded_at,
        expiration_time=file.expiration_time,
    )


async def look_up(desk: Desk, uri: str, errors: Any) -> HeldFile:
    """Ask Google for a file by its URI; 403 and 404 both mean that it cannot be used (W-G24)."""
    try:
        file = await _get(desk, "files/" + uri.rstrip("/").rpartition("/")[2])
    except errors.ClientError as error:
        if error.code in _GONE:
            return HeldFile(is_usable=False)
        raise
    return HeldFile(is_usable=_state(file) == "ACTIVE", expiration_time=file.expiration_time)


async def _active(desk: Desk, file: types.File) -> types.File:
    delay, waited = _FIRST_POLL_S, 0.0
    while _state(file) == "PROCESSING":
        if waited > _LONGEST_WAIT_S:
            raise _unusable(desk.row, f"is still being processed after {waited:.0f} s; attach it again later")
        await asyncio.sleep(delay)
        waited += delay
        delay = min(delay * 1.5, _LONGEST_POLL_S)
        file = await _get(desk, file.name or "")
    if _state(file) == "FAILED":
        raise _unusable(desk.row, "cannot be read by Google; attach it in another form")
    return file


async def _get(desk: Desk, name: str) -> types.File:
    with readable():
        return await desk.client.aio.files.get(name=name, config={"http_options": desk.options})  # type: ignore[arg-type]


def _unusable(row: ModelRow, problem: str) -> RequestFailedError:
    return RequestFailedError(
        f"an attached file {problem}", is_retryable=False, provider=row.provider, code="file_unusable"
    )


def _state(file: types.File) -> str:
    """Return a file's state; a server that does not say has nothing to process."""
    return str(file.state.value) if file.state is not None else "ACTIVE"


def _to_upload(messages: Sequence[Message], positions: Sequence[int]) -> dict[int, list[tuple[BlockView, InlineMedia]]]:
    """Return the inline media that is to be uploaded, by message: audio, video, large parts, and what is too much."""
    inline: list[tuple[int, BlockView, InlineMedia]] = []
    for position in positions:
        for view in _LENS.media_views(messages[position]):
            held = _LENS.media(view)
            if isinstance(held, InlineMedia) and not held.data.startswith("$"):
                inline.append((position, view, held))
    total = sum(len(held.data) for _, _, held in inline)
    found: dict[int, list[tuple[BlockView, InlineMedia]]] = {}
    for position, view, held in sorted(inline, key=lambda each: -len(each[2].data)):
        size = len(held.data)
        is_kind = (held.mime_type or "").startswith(_ALWAYS_UPLOADED)
        if is_kind or decoded_size(held.data) > LARGEST_INLINE_BYTES or total > MOST_INLINE_CHARACTERS:
            found.setdefault(position, []).append((view, held))
            total -= size
    return found


def _decoded(data: str) -> tuple[bytes, str]:
    decoded = bytes_of_base64(data)
    if decoded is None:
        raise ValueError("a media part of the history is not base64")
    return decoded, hashlib.sha256(decoded).hexdigest()


def _lasts(upload: MediaUpload) -> bool:
    return upload.expiration_time is None or upload.expiration_time - datetime.now(UTC) > _SPARE


def _referring(view: BlockView, upload: MediaUpload) -> BlockView:
    """Return a part that points to an upload in the place of its data; what else the part says stays."""
    field = spelling_in(view.block, "inline_data")
    rest = {name: value for name, value in view.block.items() if name != field}
    return view.with_block({**rest, "file_data": {"file_uri": upload.uri, "mime_type": upload.mime_type}})
