"""Where a text may be cut so that what is left still reads well."""

from __future__ import annotations

import unicodedata

_SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")
_JOINERS = "\u200d\ufe0e\ufe0f"


def cut_before(text: str, limit: int, floor: int = 0) -> int:
    """Return the best end for ``text[:end]`` with ``floor <= end <= limit``.

    The last paragraph that fits, else the last line, sentence or word that ends between ``floor`` and ``limit``;
    else ``limit`` itself, moved back so that no letter loses its accent.
    """
    if len(text) <= limit:
        return len(text)
    # A boundary may begin exactly at the limit: what follows it is not kept.
    for boundary in ("\n\n", "\n"):
        found = text.rfind(boundary, floor, limit + len(boundary))
        if found > floor or (found == floor and floor > 0):
            return found
    sentence = max(_sentence_end(text, mark, floor, limit) for mark in _SENTENCE_ENDS)
    if sentence > floor:
        return sentence
    space = text.rfind(" ", floor, limit + 1)
    return space if space > floor else _whole_character(text, limit, floor)


def _sentence_end(text: str, mark: str, floor: int, limit: int) -> int:
    kept = len(mark.rstrip())
    found = text.rfind(mark, floor, limit - kept + len(mark))
    return found + kept if found >= 0 else -1


def _whole_character(text: str, limit: int, floor: int) -> int:
    end = limit
    while end > max(floor, limit - 16) and _continues(text[end - 1], text[end]):
        end -= 1
    return end if end > floor and not _continues(text[end - 1], text[end]) else limit


def _continues(before: str, character: str) -> bool:
    return before == "\u200d" or character in _JOINERS or unicodedata.combining(character) != 0
