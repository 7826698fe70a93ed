"""Names are shown so that they cannot lie, and files are named by their bytes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.documents import display_name, identify
from doc_processing_toolkit.documents.sentences import count, page_list, size
from doc_processing_toolkit.documents.tokens import estimate_tokens
from unit.documents.pdf_making import pdf_of


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("Größe 東京 📄.md", "Größe 東京 📄.md"),
        ("evil\u202efdp.exe", "evilfdp.exe"),
        ("a\nb\tc\x00d\x1b[31m.txt", "a b c d [31m.txt"),
        ("zero\u200bwidth\ufeff.txt", "zerowidth.txt"),
        ("\u2066isolated\u2069.txt", "isolated.txt"),
        ("lone\udc80surrogate.txt", "lone\ufffdsurrogate.txt"),
        ("line\u2028separator.txt", "line separator.txt"),
        ("family 👩\u200d👩\u200d👧.txt", "family 👩\u200d👩\u200d👧.txt"),
        ("", "(no name)"),
        ("\u202e\u200b", "(no name)"),
        ("e" + "\u0301" * 50 + ".txt", "e" + "\u0301" * 4 + ".txt"),
    ],
)
def test_name_is_shown_clean(name: str, shown: str) -> None:
    assert display_name(name) == shown


def test_long_name_keeps_its_beginning_and_its_extension() -> None:
    shown = display_name("contract " + "x" * 10_000 + " final.pdf")
    assert len(shown) == 120
    assert shown.startswith("contract xx")
    assert shown.endswith(" final.pdf")
    assert "…" in shown


@given(name=st.text(st.characters(), max_size=300))
def test_any_name_becomes_one_short_line_that_can_be_encoded(name: str) -> None:
    shown = display_name(name)
    assert 0 < len(shown) <= 120
    shown.encode("utf-8")
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in shown)
    assert not any(
        unicodedata.bidirectional(c) in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI"} for c in shown
    )
    assert display_name(shown) == shown


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (pdf_of("x")[:500], "a.txt", "pdf"),
        (b"\xef\xbb\xbf%PDF-1.4 ...", "a", "pdf"),
        (b"hello", "a.txt", "text"),
        ("hello".encode("utf-16-le"), "a.txt", "text"),
        (b"", "a.pdf", "empty"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "unsupported"),
        (b"\x89PNG\r\n\x1a\n", "a.pdf", "unsupported"),
        (b"hello", "a.pdf", "damaged_pdf"),
    ],
)
def test_file_is_identified_by_its_bytes(head: bytes, name: str, kind: str) -> None:
    found = identify(head, name)
    assert found.name == kind
    assert found.is_readable == (kind in {"pdf", "text"})


@pytest.mark.parametrize(
    ("pages", "sentence"),
    [
        ((3,), "Page 3"),
        ((3, 7), "Pages 3 and 7"),
        ((3, 4), "Pages 3 and 4"),
        ((1, 2, 3, 4, 9, 12), "Pages 1–4, 9 and 12"),
        (tuple(range(1, 60, 2)), "Pages 1, 3, 5, 7, 9, 11, 13, 15 and 22 more"),
    ],
)
def test_pages_are_listed_as_people_say_them(pages: tuple[int, ...], sentence: str) -> None:
    assert page_list(pages) == sentence


def test_amounts_are_said_as_people_say_them() -> None:
    assert [size(n) for n in (1, 12, 1536, 512 << 20, 3 << 29)] == [
        "1 byte",
        "12 bytes",
        "1.5 KiB",
        "512 MiB",
        "1.5 GiB",
    ]
    assert [count(n, "page") for n in (1, 1200)] == ["1 page", "1,200 pages"]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("The quick brown fox jumps over the lazy dog. " * 100, 900, 1300),
        ("人人生而自由，在尊严和权利上一律平等。" * 100, 1000, 1600),
        ("Все люди рождаются свободными и равными. " * 100, 900, 2000),
        ("3.14159,2.71828,1.41421\n" * 100, 1200, 2400),
    ],
)
def test_tokens_are_estimated_for_mixed_scripts(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


def test_tokens_of_a_long_text_are_those_of_its_parts() -> None:
    text = "Große Zahlen 12,345 und 東京. " * 40_000
    assert abs(estimate_tokens(text) - 40_000 * estimate_tokens("Große Zahlen 12,345 und 東京. ")) < 40_000
