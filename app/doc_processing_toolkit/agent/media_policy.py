"""Where the documents say that stores are found: the store protocol and the directory store."""

from __future__ import annotations

from doc_processing_toolkit.core.protocols import MediaStore
from doc_processing_toolkit.media.store import DirectoryMediaStore

__all__ = ["DirectoryMediaStore", "MediaStore"]
