"""How a file's name is shown: cleaned of everything that could lie about it, and short enough for one line."""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 120
_UNNAMED = "(no name)"
# The joiners shape emoji and Persian or Indic words; every other format character is invisible or reorders the line.
_KEPT_FORMATS = frozenset("\u200c\u200d")
_MOST_MARKS = 4
_EXTENSION = re.compile(r"\.[^.\s]{1,12}$")


def display_name(name: str) -> str:
    """Return ``name`` for showing: one line of at most 120 characters that says what the name says.

    Control characters and line breaks become spaces; bidirectional overrides and other invisible characters go;
    what is no character (a lone surrogate, a private one) becomes U+FFFD; a long name keeps its beginning and
    its end with the extension. The result is never empty and can always be encoded.
    """
    # Only so much of a hostile name is looked at: cleaning never makes it longer.
    if len(name) > 4 * LONGEST_NAME:
        name = name[: 2 * LONGEST_NAME] + "…" + name[-2 * LONGEST_NAME :]
    return _shorten(" ".join("".join(_clean(name)).split())) or _UNNAMED


def extension(name: str) -> str:
    """Return the name's extension in lower case without the dot, ``""`` where there is none."""
    stem, dot, last = name.rstrip().rpartition(".")
    return last.lower() if dot and stem and len(last) <= 12 else ""


def is_noncharacter(character: str) -> bool:
    """Whether Unicode promises never to assign the character (U+FFFE, U+FFFF and their like)."""
    code = ord(character)
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _clean(name: str) -> list[str]:
    kept: list[str] = []
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if category in {"Cc", "Zl", "Zp", "Zs"}:
            kept.append(" ")
        elif category == "Cf":
            kept.extend(character if character in _KEPT_FORMATS else "")
        elif category in {"Cs", "Co"} or is_noncharacter(character):
            kept.append("\ufffd")
        elif marks <= _MOST_MARKS:
            kept.append(character)
    return kept


def _shorten(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    ending = _EXTENSION.search(name)
    tail = name[-(20 + (len(ending.group()) if ending else 0)) :]
    return name[: LONGEST_NAME - len(tail) - 1] + "…" + tail
