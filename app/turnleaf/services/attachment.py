"""A file that comes with a question: what is known of it, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnleaf.services.rows import AttachmentInfo

if TYPE_CHECKING:
    from doc_processing_toolkit.documents import DocumentText


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file ready to be sent. ``document`` is its text, ``None`` when it has none (refused for text-only models)."""

    info: AttachmentInfo
    document: DocumentText | None


def attachment_of(document: DocumentText) -> Attachment:
    """Return a document as an attachment. Counts its tokens, which takes 10 ms for each million characters or so."""
    return Attachment(
        info=AttachmentInfo(
            name=document.name,
            sha256=document.sha256,
            mime_type=document.mime_type,
            size=document.size,
            kind=document.kind,
            pages=document.pages,
            characters=document.characters,
            estimated_tokens=document.estimated_tokens,
            pages_without_text=document.pages_without_text,
            notes=document.notes,
        ),
        document=document,
    )


def is_attached(info: AttachmentInfo, attachments: Sequence[Attachment]) -> bool:
    """Whether the same bytes already come with the question."""
    return any(known.info.sha256 == info.sha256 for known in attachments)
