"""What a Markdown text is made of, as frozen values: equal items need no new layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

LINE_BREAK = "\u2028"
THIN_SPACE = "\u2009"
BULLETS = ("•", "◦", "▪")
CHECKED, UNCHECKED = "☑", "☐"


class Style(IntFlag):
    """How a run of text is written; flags combine."""

    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    STRIKE = 4
    CODE = 8
    MUTED = 16


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` of a text are in ``style``; ``href`` is a checked address, or empty."""

    start: int
    end: int
    style: Style = Style.PLAIN
    href: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A run of inline text with its spans. Line breaks are U+2028, inline code is padded with thin spaces."""

    text: str
    spans: tuple[Span, ...] = ()

    def plain(self) -> str:
        """Return the text as a reader would copy it."""
        return plain_text(self.text)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, heading (``heading`` 1 to 6) or list item (``marker``), so many lists and quotes deep."""

    content: Text
    heading: int = 0
    indent: int = 0
    marker: str = ""
    quote: int = 0


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code; ``open`` while its closing fence has not arrived."""

    language: str
    text: str
    open: bool = False
    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a table. A long one comes in pieces: the later ones are ``continued`` and have no header."""

    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    alignments: tuple[str, ...]
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break."""


Item = Paragraph | CodeBlock | Table | Rule


def plain_text(text: str) -> str:
    """Return `text` without what is only there for its looks."""
    return text.replace(LINE_BREAK, "\n").replace(THIN_SPACE, "")


def item_text(item: Item) -> str:
    """Return what a reader would copy of `item`."""
    match item:
        case Paragraph():
            lead = "    " * max(0, item.indent - 1) + (item.marker + " " if item.marker else "")
            return lead + item.content.plain()
        case CodeBlock():
            return item.text
        case Table():
            lines = [] if item.continued else [item.header]
            return "\n".join("\t".join(cell.plain() for cell in row) for row in [*lines, *item.rows])
        case Rule():
            return "---"
