"""Titles of conversations: from the first question, cleaned and short."""

from __future__ import annotations

import re
import unicodedata

MAX_TITLE = 60
_MARKS = re.compile(r"^[#>*\-\s`]+|[`*]+")
_ENDINGS = " \t.,:;…-–—"


def title_of(question: str) -> str:
    """Return the first words of a question, at most 60 characters, on one line, without control or markup characters.

    Empty when the question has no visible character.
    """
    for line in question[:4000].splitlines():
        title = clean_title(_MARKS.sub("", line))
        if title:
            return title
    return ""


def clean_title(text: str) -> str:
    """Return a user's title on one line, at most 60 characters, cut between words where there are any."""
    visible = "".join(
        " " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char
        for char in text[:4000]
        if unicodedata.category(char) not in ("Cf", "Cs", "Co", "Cn") or char == "\u200d"
    )
    words = " ".join(visible.split()).strip("\u200d ")
    if len(words) <= MAX_TITLE:
        return words
    cut = words[: MAX_TITLE - 1]
    at_space = cut.rfind(" ")
    if at_space >= MAX_TITLE // 2:
        cut = cut[:at_space]
    return cut.rstrip(_ENDINGS) + "…"
