"""How large an envelope would be, and what media it holds (H08)."""

from __future__ import annotations

from typing import Any

from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import MediaReference
from doc_processing_toolkit.envelope import write
from doc_processing_toolkit.envelope.schema import SessionData
from doc_processing_toolkit.media.placeholders import decoded_size
from doc_processing_toolkit.session.snapshot import SessionSnapshot


class _Measured:
    """A store that keeps nothing: it gives the references that a directory store would."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return f"{sha256}.bin"

    def get(self, ref: str) -> bytes:
        raise LookupError(ref)


def persistence_report(snapshot: SessionSnapshot) -> dict[str, Any]:
    """Return ``size_bytes`` and ``message_count`` of the envelope, and a record per media part of the session.

    Nothing is written, not even into the media store.
    """
    store = None if snapshot.media_store is None else _Measured()
    envelope = write.envelope_of(snapshot.data, snapshot.media_policy, store)
    return {
        "size_bytes": sum(len(piece.encode()) for piece in write.encode(envelope)),
        "message_count": len(envelope["messages"]),
        "media": _media_records(snapshot.data),
    }


def _media_records(data: SessionData) -> list[dict[str, Any]]:
    lens = lens_of(data.dialect)
    records = []
    for index, message in enumerate(data.messages):
        for view in lens.media_views(message):
            held = lens.media(view)
            if held is None:
                continue
            is_reference = isinstance(held, MediaReference)
            records.append(
                {
                    "kind": held.kind if isinstance(held, MediaReference) else "base64",
                    "mime_type": held.mime_type,
                    "size_bytes": None if is_reference else decoded_size(getattr(held, "data", "")),
                    "message_index": index,
                }
            )
    return records
