"""PDF to text: page marks, what a page's text looks like, and the notes about what is missing."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from doc_processing_toolkit.documents import ExtractionProgress
from doc_processing_toolkit.documents.page_text import clean_page
from unit.documents.pdf_making import SCAN, long_pdf, one_page, pdf_of, shown, stream
from unit.documents.reading import read, read_here

SAMPLE = Path(__file__).resolve().parents[3] / "resources" / "samples" / "lighthouse.pdf"

NOT_MAPPED = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Foo /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
    b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Foo /FontDescriptor 7 0 R"
    b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    b"<< /Type /FontDescriptor /FontName /Foo /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800"
    b" /Descent -200 /CapHeight 700 /StemV 80 >>",
)
TO_UNICODE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def
1 begincodespacerange <00> <FF> endcodespacerange
3 beginbfchar <41> <D83DDE00> <42> <0042> <43> <4E2D6587> endbfchar endcmap end end"""


def test_pages_stand_under_their_marks_and_sections_point_at_them() -> None:
    document = read(pdf_of("First line\nSecond line", "Another page"), "two.pdf")
    assert document.text == "[page 1]\nFirst line\nSecond line\n\n[page 2]\nAnother page"
    assert [section.label for section in document.sections] == ["page 1", "page 2"]
    assert [document.text[s.start : s.end] for s in document.sections] == [
        "[page 1]\nFirst line\nSecond line",
        "[page 2]\nAnother page",
    ]
    assert (document.pages, document.pages_without_text, document.notes) == (2, (), ())


def test_document_says_what_its_source_was(tmp_path: Path) -> None:
    data = pdf_of("text")
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    for document in (read(path), read(data, "a.pdf")):
        assert (document.name, document.kind, document.mime_type) == ("a.pdf", "pdf", "application/pdf")
        assert (document.sha256, document.size) == (hashlib.sha256(data).hexdigest(), len(data))
        assert (document.encoding, document.encoding_guessed) == (None, False)


def test_type_is_decided_by_the_bytes_not_the_name() -> None:
    assert read(pdf_of("hello"), "notes.txt").kind == "pdf"
    assert read(b"junk before it\n" + pdf_of("hello"), "hello.pdf").kind == "pdf"
    assert read(b"The header of a PDF is %PDF-1.7 and then some.", "notes.md").kind == "text"


def test_pages_without_text_are_listed_and_told_apart() -> None:
    document = read(pdf_of("one", SCAN, "three", "", SCAN), "mixed.pdf")
    assert document.pages_without_text == (2, 4, 5)
    assert document.notes == ("Pages 2 and 5 have no text: probably scans.", "Page 4 is empty.")
    assert "[page 4]\n\n[page 5]" in document.text


def test_progress_counts_pages_and_ends_at_all_of_them() -> None:
    seen: list[ExtractionProgress] = []
    read(long_pdf(30, 5), "long.pdf", on_progress=seen.append)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1] == ExtractionProgress(30, 30, "pages")


def test_page_limit_keeps_the_pages_so_far_with_a_note() -> None:
    document = read(long_pdf(9, 2), "long.pdf", pages=4)
    assert document.pages == 9
    assert [section.label for section in document.sections] == ["page 1", "page 2", "page 3", "page 4"]
    assert document.notes == ("Only pages 1–4 of 9 are included. No more than the first 4 pages are read.",)


def test_character_limit_keeps_the_text_so_far_with_a_note() -> None:
    whole = read(long_pdf(5, 10), "long.pdf")
    limit = whole.sections[2].end + 100
    document = read(long_pdf(5, 10), "long.pdf", characters=limit)
    assert whole.sections[2].end < document.characters <= limit
    assert whole.text.startswith(document.text)
    assert [section.label for section in document.sections] == ["page 1", "page 2", "page 3", "page 4"]
    assert document.sections[-1].end == document.characters
    assert document.notes[0].startswith("Only pages 1–3 and part of page 4 of 5 are included.")


def test_page_that_cannot_be_loaded_is_said_to_be_damaged_and_the_others_are_kept() -> None:
    data = one_page(shown(b"(one)")).replace(b"/Kids [3 0 R] /Count 1", b"/Kids [3 0 R 99 0 R] /Count 2")
    document = read(data, "broken.pdf")
    assert document.text == "[page 1]\none\n\n[page 2]"
    assert document.pages_without_text == (2,)
    assert "Page 2 is damaged and could not be read." in document.notes


def test_pdf_whose_end_is_missing_says_so_when_anything_could_be_read() -> None:
    data = one_page(shown(b"(Hello)"))
    document = read(data[: data.index(b"startxref")], "cut.pdf")
    assert "Hello" in document.text
    assert document.notes == ("The end of the file is missing or damaged, so pages may be missing.",)


def test_pdf_encrypted_with_an_empty_password_opens() -> None:
    assert "open text" in read(pdf_of("open text", user_password=""), "open.pdf").text


def test_what_was_filled_into_a_form_is_part_of_the_text() -> None:
    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 700, "Name:")
    canvas.acroForm.textfield(name="who", value="Alice Wonder", x=120, y=695, width=200, height=20)
    canvas.showPage()
    canvas.save()
    assert "Alice Wonder" in read(file.getvalue(), "form.pdf").text


def test_comments_are_said_to_be_left_out() -> None:
    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 700, "Text")
    canvas.textAnnotation("a sticky note", Rect=[300, 300, 320, 320])
    canvas.showPage()
    canvas.save()
    assert read(file.getvalue(), "a.pdf").notes == ("Page 1 has comments, which are not part of the text.",)


def test_files_inside_a_pdf_are_said_to_be_left_out() -> None:
    names = b"/Names << /EmbeddedFiles << /Names [(a.txt) 6 0 R] >> >>"
    file = b"<< /Type /Filespec /F (a.txt) /EF << /F 7 0 R >> >>"
    data = one_page(shown(b"(Hello)"), file, stream(b"inner", b"/Type /EmbeddedFile"), catalogue=names)
    assert read(data, "a.pdf").notes == ("1 file inside this PDF was not read.",)


def test_font_that_explains_nothing_is_noted() -> None:
    data = one_page(shown(b"<0001000200030041004200430044>"), *NOT_MAPPED[1:], font=NOT_MAPPED[0])
    document = read(data, "a.pdf")
    assert document.notes == ("Page 1 uses a font that does not say which letters it shows: its text may be wrong.",)


def test_characters_beyond_the_basic_plane_and_ligatures_of_two_characters_arrive_whole() -> None:
    font = b"<< /Type /Font /Subtype /TrueType /BaseFont /Foo /FirstChar 65 /LastChar 67"
    font += b" /Widths [600 600 600] /ToUnicode 6 0 R >>"
    text, _ = read_here(one_page(shown(b"(BABC)"), stream(TO_UNICODE), font=font), "a.pdf")
    assert text == "[page 1]\nB😀B中文"


@pytest.mark.parametrize("media_box", [b"[0 0 612 792] /Rotate 90", b"[0 0 0 0]", b"[0 0 1e30 1e30]", b"(junk)"])
def test_strange_page_size_loses_no_text(media_box: bytes) -> None:
    text, _ = read_here(one_page(shown(b"(Hello)"), media_box=media_box), "a.pdf")
    assert text == "[page 1]\nHello"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("hyphen\ufffeated", "hyphen-\nated"),
        ("end\u00ad\r\nless", "end-\nless"),
        ("in\u00advisible\u200b", "invisible"),
        ("a\u00a0b\u2003c\u202fd\te", "a b c d e"),
        ("東京\u3000大阪", "東京\u3000大阪"),
        ("ef\ufb01cient \ufb04", "efficient ffl"),
        ("bell\x07 \x00nul \x9b", "bell nul"),
        ("\uf0b7 item", "• item"),
        ("\ue123\ufffe \uffff", "\ufffd\ufffd \ufffd"),
        ("a\r\n\r\n\r\n\r\nb  \r\nc  ", "a\n\nb\nc"),
        ("می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"),
    ],
)
def test_page_text_is_cleaned(raw: str, clean: str) -> None:
    assert clean_page(raw) == clean


def test_sample_document_is_two_pages_of_plain_facts() -> None:
    document = read(SAMPLE)
    assert (document.pages, document.pages_without_text, document.notes) == (2, (), ())
    assert "built in 1874 by the engineer Maria" in document.text
    assert "a ginger cat named Biscuit" in document.text
    assert document.estimated_tokens < 700
