"""Titles of conversations."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnleaf.services.titles import MAX_TITLE, clean_title, title_of


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is my name?", "What is my name?"),
        ("\n\n  ## Heading first\nrest", "Heading first"),
        ("> **quoted** `code`", "quoted code"),
        ("line\x00with\x07bells\u2028and more", "line with bells"),
        ("   \n\t\n", ""),
        ("", ""),
        ("\u202egnp.exe", "gnp.exe"),
        ("家族 👨\u200d👩\u200d👧 です", "家族 👨\u200d👩\u200d👧 です"),
        ("- list item", "list item"),
        ("-5 plus 3?", "5 plus 3?"),
    ],
)
def test_a_title_is_the_first_words_of_the_question_cleaned(question: str, title: str) -> None:
    assert title_of(question) == title


def test_a_long_question_is_cut_between_words() -> None:
    title = title_of("Summarise the second chapter of the attached report about bridges, please, and be brief")

    assert title == "Summarise the second chapter of the attached report about…"
    assert len(title) <= MAX_TITLE


def test_a_long_word_is_cut_inside() -> None:
    assert title_of("x" * 500) == "x" * (MAX_TITLE - 1) + "…"


@given(st.text())
def test_a_title_is_one_short_line_without_control_characters(question: str) -> None:
    for title in (title_of(question), clean_title(question)):
        assert len(title) <= MAX_TITLE
        assert title == title.strip()
        assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in title)
