"""PDF to text, page by page, with PDFium."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import sentences
from doc_processing_toolkit.documents.formats import DocumentKind
from doc_processing_toolkit.documents.page_text import clean_page, unexplained_share
from doc_processing_toolkit.documents.protocol import Request
from doc_processing_toolkit.documents.source import Source
from doc_processing_toolkit.documents.writer import Reading, Remark, Writer

_SAMPLED_CHARACTERS = 64
_UNEXPLAINED = 0.3
_UNREADABLE = 0.05
_SHOWN_ANNOTATIONS = (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP)
_MOST_ANNOTATIONS = 5_000
_TAIL_BYTES = 2048

# Remarks in the order in which they are made: what follows "Page 3" and "Pages 3 and 7".
_SCAN = ("has no text: probably a scan.", "have no text: probably scans.")
_BLANK = ("is empty.", "are empty.")
_BROKEN = ("is damaged and could not be read.", "are damaged and could not be read.")
_GARBLED = (
    "uses a font that does not say which letters it shows: its text may be wrong.",
    "use a font that does not say which letters it shows: their text may be wrong.",
)
_COMMENTED = (
    "has comments, which are not part of the text.",
    "have comments, which are not part of the text.",
)
_REMARKS = (_SCAN, _BLANK, _BROKEN, _GARBLED, _COMMENTED)
_WITHOUT_TEXT = (_SCAN, _BLANK, _BROKEN)


_Words = tuple[str, str]


class _Page(NamedTuple):
    text: str
    remarks: tuple[_Words, ...]


class _Found(NamedTuple):
    """How many pages were begun, how many are whole, and which remarks each of them got."""

    pages: int
    whole_pages: int
    remarks: dict[_Words, list[int]]


def read(source: Source, kind: DocumentKind, writer: Writer, request: Request) -> Reading:
    """Write the pages under ``[page 3]`` marks.

    Raises ``DocumentError``: ``too_large``, ``encrypted``, ``damaged``, ``no_text``.
    """
    del kind
    data = _read_all(source, request)
    with _opened(data, request.name) as document:
        total = len(document)
        if not total:
            raise _damaged(request.name, "it has no pages")
        found = _read_pages(document, min(total, request.pages), writer)
        without_text = tuple(sorted(page for remark in _WITHOUT_TEXT for page in found.remarks[remark]))
        if len(without_text) == found.pages:
            raise _no_text(request.name, found)
        return Reading(
            pages=total,
            pages_without_text=without_text,
            notes=(*_part_notes(found, total, request), *_document_notes(document, data)),
            remarks=tuple(Remark(tuple(found.remarks[words]), *words) for words in _REMARKS if found.remarks[words]),
        )


def _read_all(source: Source, request: Request) -> bytearray:
    most = request.source_bytes
    data = source.read(most, lambda done, total: None) if source.expected <= most else bytearray()
    octets = max(source.size, source.expected)
    if octets > most:
        raise DocumentError(
            f"“{request.name}” is too large: {sentences.size(octets)}, and no more than {sentences.size(most)} can be "
            "read. Split the PDF into smaller parts.",
            code="too_large",
            name=request.name,
        )
    return data


@contextmanager
def _opened(data: bytearray, name: str) -> Iterator[Any]:
    buffer = (ctypes.c_char * len(data)).from_buffer(data)
    try:
        document = pypdfium2.PdfDocument(buffer)
    except pypdfium2.PdfiumError as exc:
        raise _refusal(name, exc.err_code) from exc
    with document:
        yield document


def _read_pages(document: Any, count: int, writer: Writer) -> _Found:
    remarks: dict[_Words, list[int]] = defaultdict(list)
    for number in range(1, count + 1):
        page = _read_page(document, number - 1)
        begun = writer.position
        fits = writer.write_section(f"page {number}", page.text)
        if fits or writer.position > begun:
            for words in page.remarks:
                remarks[words].append(number)
        if not fits:
            return _Found(number - (writer.position == begun), number - 1, remarks)
        writer.report(number, count, "pages")
    return _Found(count, count, remarks)


def _read_page(document: Any, index: int) -> _Page:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return _Page("", (_BROKEN,))
    try:
        page, has_comments = _show_annotations(document, page, index)
        text, is_garbled = _text_of(page)
        has_objects = pdfium.FPDFPage_CountObjects(page) > 0
    except pypdfium2.PdfiumError:
        return _Page("", (_BROKEN,))
    finally:
        page.close()
    said = ((_GARBLED, is_garbled), (_COMMENTED, has_comments), (_SCAN, not text and has_objects))
    blank = (_BLANK, not text and not has_objects)
    return _Page(text, tuple(words for words, applies in (*said, blank) if applies))


def _show_annotations(document: Any, page: Any, index: int) -> tuple[Any, bool]:
    """Return the page with what stands in its form fields and stamps made part of it, and whether it has comments."""
    kinds = set()
    for position in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, position)
        kinds.add(pdfium.FPDFAnnot_GetSubtype(annotation))
        pdfium.FPDFPage_CloseAnnot(annotation)
    if not kinds.isdisjoint(_SHOWN_ANNOTATIONS):
        flattened = pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS
        if flattened:
            # Only a page that is loaded again shows it.
            page.close()
            page = document[index]
    return page, pdfium.FPDF_ANNOT_TEXT in kinds


def _text_of(page: Any) -> tuple[str, bool]:
    """Return the clean text of a page, and whether too much of it is of fonts that explain nothing."""
    text_page = page.get_textpage()
    try:
        text = clean_page(text_page.get_text_range())
        return text, bool(text) and (unexplained_share(text) > _UNREADABLE or _has_unexplained_fonts(text_page))
    finally:
        text_page.close()


def _has_unexplained_fonts(text_page: Any) -> bool:
    characters = text_page.count_chars()
    sampled = range(0, characters, max(1, characters // _SAMPLED_CHARACTERS))
    failed = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in sampled)
    return bool(failed > _UNEXPLAINED * len(sampled))


def _part_notes(found: _Found, total: int, request: Request) -> tuple[str, ...]:
    if found.whole_pages == total:
        return ()
    begun = found.pages > found.whole_pages
    limit = (
        f"the first {request.pages:,} pages"
        if found.whole_pages == request.pages
        else f"{request.characters:,} characters of a document"
    )
    return (f"{sentences.part_of_pages(found.whole_pages, total, begun=begun)} No more than {limit} are read.",)


def _document_notes(document: Any, data: bytearray) -> Iterator[str]:
    if pdfium.FPDF_GetFormType(document) in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        yield "This is an XFA form: what it shows in Adobe Reader is not part of the text."
    attached = pdfium.FPDFDoc_GetAttachmentCount(document)
    if attached > 0:
        yield f"{sentences.count(attached, 'file')} inside this PDF {'was' if attached == 1 else 'were'} not read."
    if b"%%EOF" not in data[-_TAIL_BYTES:]:
        yield "The end of the file is missing or damaged, so pages may be missing."


def _refusal(name: str, code: int | None) -> DocumentError:
    if code == pdfium.FPDF_ERR_PASSWORD:
        return DocumentError(
            f"“{name}” is protected with a password. Save a copy without the password, then attach that.",
            code="encrypted",
            name=name,
        )
    if code == pdfium.FPDF_ERR_SECURITY:
        return DocumentError(
            f"“{name}” is encrypted in a way that cannot be opened here. Save or print it as a new PDF first.",
            code="encrypted",
            name=name,
        )
    return _damaged(name, "it is no complete PDF")


def _damaged(name: str, what: str) -> DocumentError:
    return DocumentError(
        f"“{name}” is damaged: {what}. Get the file again, or save it anew with the program that made it.",
        code="damaged",
        name=name,
    )


def _no_text(name: str, found: _Found) -> DocumentError:
    if len(found.remarks[_BROKEN]) == found.pages:
        return _damaged(name, "none of its pages can be read")
    pages = "its only page is" if found.pages == 1 else f"its {found.pages:,} pages are"
    if not found.remarks[_SCAN]:
        return DocumentError(f"“{name}” has no text: {pages} empty.", code="no_text", name=name)
    guess = "probably a scan, a picture of a page" if found.pages == 1 else "probably scans, pictures of pages"
    return DocumentError(
        f"“{name}” has no text: {pages} {guess}. Run text recognition (OCR) on it first, then attach the result.",
        code="no_text",
        name=name,
    )
