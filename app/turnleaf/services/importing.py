"""A ``.json`` from outside as a conversation's first checkpoint: read, its media taken into the store."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doc_processing_toolkit import Agent, AgentSession, DirectoryMediaStore
from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.errors import (
    EnvelopeError,
    NotSupportedError,
    SessionCompatibilityError,
    UnsupportedPartError,
)
from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.dialects import BlockView, lens_of
from doc_processing_toolkit.dialects.view import InlineMedia
from doc_processing_toolkit.media.placeholders import Held, replace_media
from doc_processing_toolkit.media.policy import MARKER, bytes_of_base64
from turnleaf.services.envelope_file import read_envelope
from turnleaf.services.linked_file import digest_of, media_folder_of

CHECKING_MODEL = "local/gemma-3-270m"
_CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Imported:
    """A file from outside: its envelope with media in the profile's store, and the file's SHA-256."""

    envelope: dict[str, Any]
    sha256: str
    has_own_id: bool

    @property
    def session_id(self) -> str:
        """The id that the file gives; only to be used when ``has_own_id``."""
        return str(self.envelope.get("session_id"))

    def under(self, session_id: str) -> dict[str, Any]:
        """Return the envelope under another id."""
        return {**self.envelope, "session_id": session_id}


def read_outside(path: Path, store: DirectoryMediaStore) -> Imported:
    """Read a file from outside. Blocking. Raises ``EnvelopeError`` for what is no session; the file is untouched."""
    try:
        raw, envelope = read_envelope(path)
        sha256 = digest_of(path)
    except TypeError as exc:
        raise EnvelopeError(f"{path}: {exc}") from exc
    except OSError as exc:
        raise EnvelopeError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    if sha256 is None:
        raise EnvelopeError(f"{path}: there is no such file any more")
    beside = DirectoryMediaStore(media_folder_of(path))
    _check_restorable(raw, path, beside)
    messages, table = _taken_in(envelope.messages, store, beside)
    others: dict[str, Any] = clean({key: value for key, value in raw.items() if key != "messages"})
    taken = {**others, "messages": messages, "media": {**envelope.media, **table}}
    return Imported(taken, sha256, is_plain_uuid(envelope.session_id))


def write_envelope(path: Path, envelope: Mapping[str, Any]) -> None:
    """Write an envelope's JSON durably, piece by piece. Blocking. Raises ``OSError``."""
    write_atomically(path, (piece.encode("utf-8") for piece in json_pieces(dict(envelope))))


def is_plain_uuid(session_id: str | None) -> bool:
    """Whether an id is a UUID in its plain form, which is safe as a file's name everywhere."""
    try:
        return session_id is not None and str(uuid.UUID(session_id)) == session_id
    except ValueError:
        return False


def same_content(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two envelopes hold the same history and the same turns, whoever saved them and when."""
    return one.get("messages") == other.get("messages") and _accounts(one) == _accounts(other)


def _accounts(envelope: Mapping[str, Any]) -> Any:
    metadata = envelope.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    return {key: value for key, value in metadata.items() if key not in ("created_at", "updated_at")}


def _check_restorable(raw: Mapping[str, Any], path: Path, beside: DirectoryMediaStore) -> None:
    """Raise what only a restore finds out, damaged accounting; a history for another provider is none of it."""
    try:
        AgentSession.from_dict(raw, agent=Agent(CHECKING_MODEL), media_store=beside)
    except (SessionCompatibilityError, UnsupportedPartError, NotSupportedError):
        return
    except (EnvelopeError, TypeError) as exc:
        raise EnvelopeError(f"{path}: {str(exc).removeprefix('the envelope: ')}") from exc


def _taken_in(
    messages: list[dict[str, Any]], store: DirectoryMediaStore, beside: DirectoryMediaStore
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Put inline media, and those in the folder beside the file, into the store; what is missing stays a marker."""
    lens = lens_of(_CHAT)
    rows: dict[str, Any] = {}

    def take(index: int, view: BlockView, held: Held) -> BlockView | None:
        data = _bytes_of(held, beside)
        if data is None or not isinstance(held, InlineMedia):
            return None
        sha256 = hashlib.sha256(data).hexdigest()
        ref = store.put(sha256, held.mime_type, data)
        rows[ref] = {"ref": ref, "sha256": sha256, "mime_type": held.mime_type, "size": len(data)}
        return lens.with_media(view, MARKER + ref)

    return replace_media(messages, lens, take), rows


def _bytes_of(held: Held, beside: DirectoryMediaStore) -> bytes | None:
    if not isinstance(held, InlineMedia):
        return None
    if not held.data.startswith(MARKER):
        return bytes_of_base64(held.data)
    try:
        return beside.get(held.data.removeprefix(MARKER))
    except (OSError, ValueError):
        return None
