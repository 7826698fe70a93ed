"""Pure knowledge of message shapes, one lens per dialect."""

from doc_processing_toolkit.dialects.detect import dialect_of, foreign_dialect, has_lens, lens_of
from doc_processing_toolkit.dialects.documents import DocumentPart, documents_of, question_of
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens

__all__ = [
    "BlockView",
    "DocumentPart",
    "Kind",
    "Lens",
    "dialect_of",
    "documents_of",
    "foreign_dialect",
    "has_lens",
    "lens_of",
    "question_of",
]
