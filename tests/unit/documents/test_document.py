"""What can be done with a document: its beginning, and its way into a cache and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.documents import DocumentText, PageNote, Section

PAGE = "word " * 19 + "word."


def document_of(pages: int, without_text: tuple[int, ...] = ()) -> DocumentText:
    text = ""
    sections = []
    for page in range(1, pages + 1):
        text += "\n\n" if text else ""
        start = len(text)
        text += f"[page {page}]" if page in without_text else f"[page {page}]\n{PAGE}"
        sections.append(Section(f"page {page}", start, len(text)))
    note = PageNote(without_text, "has no text: probably a scan.", "have no text: probably scans.")
    return DocumentText(
        name="a.pdf",
        kind="pdf",
        mime_type="application/pdf",
        sha256="00" * 32,
        size=1234,
        text=text,
        sections=tuple(sections),
        pages=pages,
        pages_without_text=without_text,
        notes=("1 file inside this PDF was not read.", *([note.sentence()] if without_text else [])),
        page_notes=(note,) if without_text else (),
    )


def text_of(text: str) -> DocumentText:
    return DocumentText("a.txt", "text", "text/plain", "00" * 32, len(text), text, encoding="utf-8")


def test_head_that_holds_everything_is_the_document_itself() -> None:
    document = document_of(5)
    assert document.head(document.characters) is document


def test_head_is_cut_after_the_last_page_that_fits() -> None:
    document = document_of(100)
    head = document.head(document.sections[11].end + 60)
    assert head.text == document.text[: document.sections[11].end]
    assert head.sections == document.sections[:12]
    assert "Only pages 1–12 of 100 are included." in head.notes
    assert "1 file inside this PDF was not read." in head.notes
    assert (head.pages, head.size, head.sha256) == (100, document.size, document.sha256)


def test_head_shorter_than_a_page_is_cut_between_words() -> None:
    head = document_of(3).head(50)
    assert head.text == "[page 1]\n" + " ".join(["word"] * 8)
    assert head.notes[0] == "Only part of page 1 of 3 is included."
    assert head.sections == (Section("page 1", 0, head.characters),)


def test_head_inside_a_long_page_says_which_page_is_not_whole() -> None:
    long_page = document_of(2)
    text = long_page.text + " and more" * 200
    document = replace(
        long_page, text=text, sections=(long_page.sections[0], replace(long_page.sections[1], end=len(text)))
    )
    assert document.head(600).notes[0] == "Only page 1 and part of page 2 of 2 are included."


def test_notes_about_pages_that_are_not_in_the_head_go() -> None:
    document = document_of(10, (2, 3, 9))
    assert "Pages 2, 3 and 9 have no text: probably scans." in document.notes
    head = document.head(document.sections[4].end)
    assert head.pages_without_text == (2, 3)
    assert head.notes == (
        "Only pages 1–5 of 10 are included.",
        "1 file inside this PDF was not read.",
        "Pages 2 and 3 have no text: probably scans.",
    )
    assert document.head(document.sections[1].end).notes[-1] == "Page 2 has no text: probably a scan."


def test_head_of_a_head_has_one_note_about_its_part() -> None:
    document = document_of(50)
    twice = document.head(document.sections[30].end).head(document.sections[10].end)
    assert twice == document.head(document.sections[10].end)


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("First paragraph.\n\nSecond paragraph goes on.", 30, "First paragraph."),
        ("Line one is here\nline two is longer", 28, "Line one is here"),
        ("One sentence. Another sentence that is long", 24, "One sentence."),
        ("これは文です。これは長い文ですから切れます", 12, "これは文です。"),
        ("just words without any end", 13, "just words"),
        ("x" * 50, 20, "x" * 20),
        ("e\u0301" * 20, 21, "e\u0301" * 10),
    ],
)
def test_head_of_a_text_ends_where_it_still_reads_well(text: str, limit: int, kept: str) -> None:
    assert text_of(text).head(limit).text == kept


def test_head_of_a_text_says_how_much_it_is() -> None:
    head = text_of("word " * 1000).head(100)
    assert head.notes == (f"Only the first {head.characters} of 5,000 characters are included.",)


@pytest.mark.parametrize("room", [0, -5])
def test_head_without_room_has_no_text_and_says_so(room: int) -> None:
    for document in (document_of(3), text_of("words")):
        head = document.head(room)
        assert (head.text, head.sections, head.pages_without_text) == ("", (), ())
        assert head.notes[0] == "Only its name is included: none of the text fits."


@given(text=st.text(min_size=1, max_size=400), room=st.integers(0, 400))
def test_head_is_always_a_beginning_that_fits(text: str, room: int) -> None:
    head = text_of(text).head(room)
    assert text.startswith(head.text)
    assert head.characters <= room or head.text == text
    assert head.characters >= min(room, len(text)) // 2 - 16


@given(room=st.integers(0, 1500))
def test_head_of_pages_has_sections_that_fit_its_text(room: int) -> None:
    head = document_of(12, (4, 5)).head(room)
    assert head.characters <= room or head.pages == len(head.sections)
    assert all(0 <= s.start < s.end <= head.characters for s in head.sections)
    assert all(page <= len(head.sections) for page in head.pages_without_text)


def test_document_survives_a_cache() -> None:
    document = document_of(4, (2, 3)).head(300)
    stored = json.loads(json.dumps(document.to_dict()))
    assert DocumentText.from_dict(stored) == document
    assert DocumentText.from_dict({**stored, "of a later version": 1}) == document


@pytest.mark.parametrize(
    "damage",
    [
        {"text": None},
        {"text": 7},
        {"size": "large"},
        {"sections": [{"label": "page 1"}]},
        {"sections": [{"label": "page 1", "start": 0, "end": 10**9}]},
        {"sections": 7},
        {"pages": "four"},
        {"notes": [1]},
        {"pages_without_text": ["x"]},
        {"page_notes": [{"pages": [1]}]},
        {"encoding_guessed": "yes"},
    ],
)
def test_damaged_cache_is_a_value_error(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="damaged"):
        DocumentText.from_dict({**document_of(2).to_dict(), **damage})


def test_cache_without_the_text_is_a_value_error() -> None:
    stored = document_of(2).to_dict()
    del stored["text"]
    with pytest.raises(ValueError, match="damaged"):
        DocumentText.from_dict(stored)
