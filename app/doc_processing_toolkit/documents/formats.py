"""Which formats can be read, how each is recognised by its bytes, and which module reads it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

from doc_processing_toolkit.documents.names import extension
from doc_processing_toolkit.documents.plausibility import looks_like_text
from doc_processing_toolkit.documents.signatures import find_signature

if TYPE_CHECKING:
    from doc_processing_toolkit.documents.protocol import Request
    from doc_processing_toolkit.documents.source import Source
    from doc_processing_toolkit.documents.writer import Reading, Writer

# Enough for every signature that decides, and for a fair look at the text.
HEAD_BYTES = 40 << 10


class DocumentKind(NamedTuple):
    """What a file is by its bytes: ``label`` fits after "it seems to be", e.g. "a PNG image".

    ``name`` is ``"pdf"`` or ``"text"`` for what can be read, ``"damaged_pdf"`` for something else under a PDF's
    name, ``"empty"`` for no bytes at all, and ``"unsupported"`` for the rest.
    """

    name: Literal["pdf", "text", "damaged_pdf", "empty", "unsupported"]
    label: str
    mime_type: str

    @property
    def is_readable(self) -> bool:
        """Whether the format can be read; a particular file may still turn out damaged."""
        return self.name in _READERS


class Reader(Protocol):
    """A module that reads one format, in the worker process."""

    def read(self, source: Source, kind: DocumentKind, writer: Writer, request: Request) -> Reading:
        """Write the text of ``source`` to ``writer`` and return what is to be said about it.

        ``request`` holds the limits. Raises ``DocumentError`` where there is no text to be had.
        """


# A new format is a line here, its recognition in _RECOGNISERS, and a module with ``read``.
_READERS: dict[str, str] = {
    "pdf": "doc_processing_toolkit.documents.pdf",
    "text": "doc_processing_toolkit.documents.text",
}

TEXT_TYPES = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "htm": "text/html",
    "html": "text/html",
    "xhtml": "application/xhtml+xml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "py": "text/x-python",
    "tex": "application/x-tex",
    "ics": "text/calendar",
    "vcf": "text/vcard",
    "rst": "text/x-rst",
}


def identify(head: bytes, name: str = "") -> DocumentKind:
    """Say what a file is from its first bytes (``HEAD_BYTES`` of them, or all if it is shorter).

    The bytes decide, not the name: that only tells the media types of texts apart, and that something which is no
    PDF claims to be one.
    """
    if not head:
        return DocumentKind("empty", "an empty file", "application/x-empty")
    ending = extension(name)
    recognised = (recognise(head, ending) for recognise in _RECOGNISERS)
    kind = next((found for found in recognised if found), None)
    return kind or DocumentKind("unsupported", "binary data of an unknown kind", "application/octet-stream")


def reader_of(kind: DocumentKind) -> Reader:
    """Return the module that reads a readable kind; it is imported here, not before."""
    return cast("Reader", importlib.import_module(_READERS[kind.name]))


def _recognise_pdf(head: bytes, ending: str) -> DocumentKind | None:
    start = head.find(b"%PDF-", 0, 1024)
    if start < 0:
        return None
    # Viewers take a PDF with up to 1,024 bytes before its header; a text that merely mentions the header is no PDF.
    leading = head[:start].removeprefix(b"\xef\xbb\xbf").strip(b"\x00\t\n\r\x0c ")
    if leading and ending != "pdf" and looks_like_text(head):
        return None
    return DocumentKind("pdf", "a PDF document", "application/pdf")


def _recognise_binary(head: bytes, ending: str) -> DocumentKind | None:
    found = find_signature(head, ending)
    if not found or (found.weak and looks_like_text(head)):
        return None
    return DocumentKind("unsupported", found.label, found.mime_type)


def _recognise_text(head: bytes, ending: str) -> DocumentKind | None:
    if not looks_like_text(head):
        return DocumentKind("damaged_pdf", "not a PDF at all", "application/pdf") if ending == "pdf" else None
    is_page = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].lower().startswith((b"<!doctype html", b"<html"))
    label = "a web page" if is_page else "plain text"
    if ending == "pdf":
        return DocumentKind("damaged_pdf", label, "application/pdf")
    return DocumentKind("text", label, TEXT_TYPES.get(ending, "text/html" if is_page else "text/plain"))


_RECOGNISERS: tuple[Callable[[bytes, str], DocumentKind | None], ...] = (
    _recognise_pdf,
    _recognise_binary,
    _recognise_text,
)
