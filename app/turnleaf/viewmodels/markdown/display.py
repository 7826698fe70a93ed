"""The look of a text that still arrives: half-written markup at its very end is completed or held back."""

from __future__ import annotations

import re

# A line's first characters that may yet become a list, a heading, a rule, a fence or a table.
_UNDECIDED = re.compile(r"(?:^|\n)[ \t]*(?:[-=#*+_>~|$]+|`{1,2}|\d{1,9}[.)]?)[ \t]*$")
_CODE = re.compile(r"`[^`]*`")
_OPEN_LINK = re.compile(r"!?\[[^\]\n]*(\]\([^)\s]*)?$")
LONGEST_OPEN_LINK = 400
LONGEST_LOOK_BACK = 4_000


def hide_open_markup(source: str) -> str:
    """Return `source` as it should be shown now: nobody wants to see `**bo` turn into bold."""
    undecided = _UNDECIDED.search(source, max(0, len(source) - 200))
    shown = source[: undecided.start()] if undecided else source
    start = max(shown.rfind("\n\n") + 2 if "\n\n" in shown else 0, len(shown) - LONGEST_LOOK_BACK)
    return shown[:start] + _complete(shown[start:])


def close_open_markup(source: str) -> str:
    """Return a text that broke off as it should be shown for good: complete, its last emphasis closed."""
    start = max(source.rfind("\n\n") + 2 if "\n\n" in source else 0, len(source) - LONGEST_LOOK_BACK)
    return source[:start] + _complete(source[start:])


def _complete(paragraph: str) -> str:
    if paragraph.count("`") % 2:
        return paragraph if paragraph.endswith("`") else paragraph + "`"
    outside = _CODE.sub("", paragraph)
    link = _OPEN_LINK.search(outside)
    if link and len(link.group()) < LONGEST_OPEN_LINK and paragraph.endswith(link.group()):
        words = re.sub(r"^!?\[", "", link.group().split("](")[0])
        paragraph = paragraph[: len(paragraph) - len(link.group())] + words
        outside = outside[: link.start()]
    if outside.count("**") % 2:
        return paragraph.rstrip("*") if paragraph.endswith("**") else paragraph.removesuffix("*") + "**"
    if paragraph.endswith("*") and not paragraph.endswith("**"):
        return paragraph[:-1]
    if outside.count("~~") % 2:
        return paragraph[:-2] if paragraph.endswith("~~") else paragraph + "~~"
    return paragraph
