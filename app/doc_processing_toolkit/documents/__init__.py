"""Documents as text: what a file is, what it says, and what of it could not be read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doc_processing_toolkit.documents.document import DocumentText, PageNote, Section
    from doc_processing_toolkit.documents.extraction import extract
    from doc_processing_toolkit.documents.formats import HEAD_BYTES, DocumentKind, identify
    from doc_processing_toolkit.documents.limits import ExtractionLimits, ExtractionProgress
    from doc_processing_toolkit.documents.names import display_name
    from doc_processing_toolkit.documents.tokens import estimate_tokens

__all__ = [
    "HEAD_BYTES",
    "DocumentKind",
    "DocumentText",
    "ExtractionLimits",
    "ExtractionProgress",
    "PageNote",
    "Section",
    "display_name",
    "estimate_tokens",
    "extract",
    "identify",
]

_HOMES = {
    "DocumentKind": "formats",
    "DocumentText": "document",
    "ExtractionLimits": "limits",
    "ExtractionProgress": "limits",
    "HEAD_BYTES": "formats",
    "PageNote": "document",
    "Section": "document",
    "display_name": "names",
    "estimate_tokens": "tokens",
    "extract": "extraction",
    "identify": "formats",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the worker process needs few of them and must start quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
