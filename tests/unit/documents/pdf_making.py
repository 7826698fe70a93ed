"""PDF files for the tests: ordinary ones by reportlab, odd and hostile ones object by object."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
WORDS = "the quick brown fox jumps over the lazy dog while the committee reviews every clause"
SCAN = "a picture, no text"


def pdf_of(*pages: str, user_password: str | None = None) -> bytes:
    """Return a PDF with a page for each text; ``""`` makes an empty page and ``SCAN`` one that holds only a picture."""
    file = io.BytesIO()
    encryption = None
    if user_password is not None:
        encryption = StandardEncryption(user_password, ownerPassword="owner", strength=128)
    canvas = Canvas(file, encrypt=encryption, invariant=1)
    for text in pages:
        if text == SCAN:
            canvas.rect(50, 50, 400, 600, fill=1)
        else:
            for number, line in enumerate(text.split("\n")):
                canvas.drawString(60, 780 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def long_pdf(pages: int, lines: int = 50) -> bytes:
    """Return a PDF of ``pages`` full pages of prose, each of which says which one it is."""
    words = WORDS.split()
    return pdf_of(
        *(
            "\n".join(
                [f"This is page number {page}."]
                + [" ".join(words[(page * 7 + line * 3 + k) % len(words)] for k in range(14)) for line in range(lines)]
            )
            for page in range(1, pages + 1)
        )
    )


def build(objects: Sequence[bytes]) -> bytes:
    """Return a PDF of raw objects, numbered from 1; the first is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """Return a stream object."""
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(data), data)


def one_page(
    content: bytes,
    *more: bytes,
    font: bytes = HELVETICA,
    media_box: bytes = b"[0 0 612 792]",
    catalogue: bytes = b"",
    page: bytes = b"",
) -> bytes:
    """Return a PDF of one page whose content stream object is ``content``; ``more`` are objects 6, 7, …"""
    return build(
        [
            b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalogue,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> %s >>"
            % (media_box, page),
            content,
            font,
            *more,
        ]
    )


def shown(text: bytes) -> bytes:
    """Return a content stream that shows ``text`` (a PDF string with its brackets)."""
    return stream(b"BT /F1 12 Tf 72 700 Td %s Tj ET" % text)


def many_pages(count: int, content: bytes) -> bytes:
    """Return a small file with ``count`` pages that all are the same object: it takes long to read."""
    return build(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [" + b"3 0 R " * count + b"] /Count %d >>" % count,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>",
            content,
            HELVETICA,
        ]
    )


def endless_pdf() -> bytes:
    """Return a PDF that takes minutes to read and little memory: a hundred thousand full pages."""
    lines = b"".join(b"(the quick brown fox jumps over the lazy dog again and again) ' " for _ in range(60))
    return many_pages(100_000, stream(b"BT /F1 10 Tf 12 TL 40 780 Td " + lines + b"ET"))


def bomb(mebibytes: int) -> bytes:
    """Return a PDF whose one content stream grows to ``mebibytes`` when it is decompressed."""
    squeezer = zlib.compressobj(9)
    data = b"".join(squeezer.compress(b" " * (1 << 20)) for _ in range(mebibytes)) + squeezer.flush()
    return one_page(stream(data, b"/Filter /FlateDecode"))


def nested_forms(depth: int = 12) -> bytes:
    """Return a PDF whose page draws ten forms, each of which draws ten forms, and so on."""
    font_at = 5 + depth + 1
    resources = b"/Resources << /XObject << /X %d 0 R >> /Font << /F1 %d 0 R >> >>"
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] "
    return build(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %s >>" % (resources % (5, font_at)),
            stream(b"/X Do " * 10),
            *(stream(b"/X Do " * 10, form + resources % (number + 1, font_at)) for number in range(5, 5 + depth)),
            stream(b"BT /F1 12 Tf (x) Tj ET", form + resources % (font_at, font_at)),
            HELVETICA,
        ]
    )
