"""Writing an envelope: a detached dict, or JSON text in pieces, or a file that is replaced atomically."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.core.protocols import MediaStore
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.core.version import VERSION
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.envelope.schema import SCHEMA_VERSION, SessionData
from doc_processing_toolkit.media.policy import applied_policy, save_media


def envelope_of(data: SessionData, policy: str, store: MediaStore | None) -> dict[str, Any]:
    """Return the envelope over the session's own messages: to be encoded at once, not to be handed out.

    Raises ``ValueError`` when ``policy`` is ``externalize`` and there is no store, and what the store's ``put`` raises.
    """
    applied = applied_policy(policy, store)
    lens = lens_of(data.dialect)
    saved = save_media(data.messages, lens, applied, store)
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": data.session_id,
        "provider": data.provider,
        "model": data.model,
        "toolkit_version": VERSION,
        "saved_at": utc_now(),
        "sdk": {"name": data.sdk, "version": _sdk_version(data.sdk)},
        "media_policy": applied,
        "media": {**data.media_table, **saved.table},
        "media_report": [*data.media_report, *_unreported(saved.report, data)],
        "messages": saved.messages,
        "metadata": dict(data.metadata),
        "session_history_config": dict(data.history_config),
        "late_injection_policy": data.late_injection_policy,
        "max_follow_up_turns": data.max_follow_up_turns,
        "prefix_fingerprint": dict(data.prefix_fingerprint),
        "reuse_anthropic_container": data.reuse_anthropic_container,
        "anthropic_container_id": data.anthropic_container_id,
        "closed": data.is_closed,
    }


def detached(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-clean copy that shares nothing with the session."""
    copied: dict[str, Any] = clean(envelope)
    return copied


def encode(envelope: Mapping[str, Any], *, indent: int | None = None) -> list[str]:
    """Return the envelope's JSON text in pieces of at most about a mebibyte."""
    try:
        return _checked_pieces(envelope, indent)
    except (TypeError, ValueError, RecursionError):
        # A host put something into the live messages that JSON cannot hold.
        return _checked_pieces(detached(envelope), indent)


def write_file(path: Path, pieces: list[str]) -> None:
    """Write the pieces as UTF-8, atomically. Raises ``OSError``; the old file is then as it was."""
    write_atomically(path, (piece.encode() for piece in pieces))


def _checked_pieces(envelope: Mapping[str, Any], indent: int | None) -> list[str]:
    pieces = list(_pieces(dict(envelope), indent))
    for piece in pieces:
        if not piece.isascii():
            piece.encode()
    return pieces


def _pieces(envelope: dict[str, Any], indent: int | None) -> Iterator[str]:
    if indent is None:
        return json_pieces(envelope)
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent).iterencode(envelope)


def _unreported(report: list[dict[str, Any]], data: SessionData) -> list[dict[str, Any]]:
    """Return the entries that the session has not reported before: saving twice says it once."""
    return [entry for entry in report if entry not in data.media_report]


def _sdk_version(name: str) -> str | None:
    try:
        return version(name) if name else None
    except PackageNotFoundError:
        return None
