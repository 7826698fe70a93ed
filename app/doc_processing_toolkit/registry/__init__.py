"""The models that the toolkit knows, one row each."""

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.registry.rows import document_templates, find, rows

__all__ = ["ModelRow", "document_templates", "find", "rows"]
