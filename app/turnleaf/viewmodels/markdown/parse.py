"""Markdown source to items: CommonMark with tables, strikethrough and task lists; raw HTML stays text."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from turnleaf.viewmodels.markdown.inline import inline_text, is_checkbox
from turnleaf.viewmodels.markdown.items import (
    BULLETS,
    CHECKED,
    UNCHECKED,
    CodeBlock,
    Item,
    Paragraph,
    Rule,
    Table,
    Text,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Environment = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """One top-level block: its tokens and the source lines ``[first, last)`` that it came from."""

    tokens: list[Token]
    first: int
    last: int

    @property
    def kind(self) -> str:
        """The type of the block's opening token."""
        return self.tokens[0].type


@cache
def _parser() -> MarkdownIt:
    # Imported with the first text that is shown: the window must not wait for it.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return parser.use(tasklists_plugin)


def parse_groups(source: str, environment: Environment) -> list[Group]:
    """Return the top-level blocks of `source`; link definitions go into `environment`."""
    return list(_groups(_parser().parse(source, environment)))


def _groups(tokens: list[Token]) -> Iterator[Group]:
    start, depth = 0, 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            first, last = tokens[start].map or (0, 0)
            yield Group(tokens[start : index + 1], first, last)
            start = index + 1


def group_items(group: Group, *, first_number: int | None = None) -> list[Item]:
    """Return the items of `group`. `first_number` is what an ordered list goes on from when it was cut before."""
    return _Flattener(first_number).run(group.tokens)


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int
    marker: str = ""


class _Flattener:
    """Walks block tokens and writes items with their depth in lists and quotes."""

    def __init__(self, first_number: int | None) -> None:
        self._first_number = first_number
        self._items: list[Item] = []
        self._lists: list[_List] = []
        self._quote = 0
        self._heading = 0

    def run(self, tokens: Sequence[Token]) -> list[Item]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                end = next(i for i in range(index, len(tokens)) if tokens[i].type == "table_close")
                self._items.append(_table(tokens[index : end + 1]))
                index = end
            else:
                self._step(token)
            index += 1
        return self._items

    def _step(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._inline(token)
            case "heading_open":
                self._heading = int(token.tag[1])
            case "heading_close":
                self._heading = 0
            case "blockquote_open":
                self._flush_marker()
                self._quote += 1
            case "blockquote_close":
                self._quote -= 1
            case "bullet_list_open" | "ordered_list_open":
                self._open_list(token)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._open_item(token)
            case "list_item_close":
                self._flush_marker()
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._items.append(Rule())
            case _:
                pass  # openings and closings of what the cases above have read

    def _inline(self, token: Token) -> None:
        children = list(token.children or ())
        if self._lists and children and is_checkbox(children[0]):
            self._lists[-1].marker = CHECKED if 'checked="checked"' in children[0].content else UNCHECKED
            del children[0]
            if children and children[0].type == "text":
                children[0].content = children[0].content.removeprefix(" ")
        self._paragraph(inline_text(children))

    def _paragraph(self, content: Text) -> None:
        self._items.append(Paragraph(content, self._heading, len(self._lists), self._take_marker(), self._quote))

    def _flush_marker(self) -> None:
        """Write an item's marker on a line of its own where no text follows it."""
        if self._lists and self._lists[-1].marker:
            self._paragraph(Text(""))

    def _open_list(self, token: Token) -> None:
        self._flush_marker()
        ordered = token.type == "ordered_list_open"
        start = token.attrGet("start")
        number = int(start) if start is not None else 1
        if ordered and not self._lists and self._first_number is not None:
            number = self._first_number
        self._lists.append(_List(ordered, number))

    def _open_item(self, token: Token) -> None:
        current = self._lists[-1]
        if current.ordered:
            current.marker = f"{current.number}."
            current.number += 1
        else:
            current.marker = BULLETS[(len(self._lists) - 1) % len(BULLETS)]

    def _take_marker(self) -> str:
        if not self._lists:
            return ""
        marker, self._lists[-1].marker = self._lists[-1].marker, ""
        return marker

    def _code(self, token: Token) -> None:
        self._flush_marker()
        words = token.info.split()
        self._items.append(
            CodeBlock(words[0] if words else "", token.content.removesuffix("\n"), False, len(self._lists), self._quote)
        )


def _table(tokens: Sequence[Token]) -> Table:
    rows: list[list[Text]] = []
    alignments: list[str] = []
    header = 0
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(inline_text(tokens[index + 1].children))
            if token.type == "th_open":
                header = 1
                style = str(token.attrGet("style") or "")
                alignments.append(style.partition(":")[2].strip() or "left")
    body = tuple(tuple(row) for row in rows[header:])
    return Table(tuple(rows[0]) if rows and header else (), body, tuple(alignments))
