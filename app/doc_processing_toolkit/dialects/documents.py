"""How documents stand in a question: one text part each, and how the bare question is found again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import TextPart
from doc_processing_toolkit.registry import document_templates

# What stands in the place of media: "[image/png, 136 B, removed on save]".
_PLACEHOLDER = re.compile(r"\[[\w.+-]+(/[\w.+-]+)?, [^\[\]\n]*\]")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document as it stands in a message; ``name`` is ``""`` where the template does not name it."""

    name: str
    text: str


def document_part(row: ModelRow, name: str, text: str) -> TextPart:
    """Return the part that carries a document's text to this row."""
    return TextPart(row.document_template.format(name=clean_text(name), text=clean_text(text)))


def question_part(row: ModelRow, question: str, *, has_documents: bool) -> TextPart:
    """Return the part that carries the question; the template is used only when documents come along."""
    return TextPart(row.question_template.format(question=question) if has_documents else question)


def question_of(message: Message) -> str:
    """Return the question that a user message asks, without its documents and without a template around it."""
    texts = _texts(message)
    if texts is None:
        content = message.get("content")
        return content if isinstance(content, str) else ""
    others = [text for text in texts if _document(text) is None and not _PLACEHOLDER.fullmatch(text)]
    if len(others) == len(texts):
        return "\n\n".join(others)
    return "\n\n".join(_bare_question(text) for text in others)


def documents_of(message: Message) -> list[DocumentPart]:
    """Return the documents that came with a user message, in order."""
    found = (_document(text) for text in _texts(message) or ())
    return [part for part in found if part is not None]


def _texts(message: Message) -> list[str] | None:
    """Return the text parts of a message in parts, ``None`` for plain text."""
    content = message.get("content")
    if not isinstance(content, list):
        content = message.get("parts")
    if not isinstance(content, list):
        return None
    return [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _document(text: str) -> DocumentPart | None:
    for pattern in _document_patterns():
        match = pattern.match(text)
        if match:
            return DocumentPart(match.groupdict().get("name") or "", text[match.end() :])
    return None


def _bare_question(text: str) -> str:
    for _, template in document_templates():
        before, _, after = template.partition("{question}")
        if before and text.startswith(before) and text.endswith(after):
            return text[len(before) : len(text) - len(after)]
    return text


@cache
def _document_patterns() -> tuple[re.Pattern[str], ...]:
    """One pattern per document template, for what stands before the text."""
    patterns = []
    for template, _ in document_templates():
        before = re.escape(template.partition("{text}")[0]).replace(r"\{name\}", "(?P<name>[^\n]*?)")
        patterns.append(re.compile(before))
    return tuple(patterns)
