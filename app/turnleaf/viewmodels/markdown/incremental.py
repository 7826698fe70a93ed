"""Markdown that arrives in pieces: only the open tail is parsed again, what is closed stays as it is."""

from __future__ import annotations

import re
from typing import Any

from turnleaf.viewmodels.markdown.display import hide_open_markup
from turnleaf.viewmodels.markdown.items import CodeBlock, Item, Paragraph, Table
from turnleaf.viewmodels.markdown.parse import Group, group_items, parse_groups

LIST_CUT = 1_200
"""Characters of an open list beyond which its finished items are closed."""
TABLE_CUT = 16
"""Rows of an open table beyond which they are closed."""
BLOCK_CUT = 3_000
"""Characters of any other open block beyond which it is cut, so that no single parse or layout takes long."""
LATE_LINKS_LIMIT = 40_000
"""Characters of a text beyond which links that are defined after their use stay as they were written."""

# Definitions are read at the end only: half of one would win over the whole.
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]+$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)\n")


class IncrementalMarkdown:
    """Feed text, then `update()`: `items` is the whole text so far, and the items before `closed` never change."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.closed = 0
        self._source: list[str] = []
        self._new: list[str] = []
        self._tail = ""
        self._environment: dict[str, Any] = {}
        self._fence = ""
        self._language = ""
        self._code: list[str] = []
        self._table_head = ""
        self._next_number: int | None = None

    def feed(self, text: str) -> None:
        """Take a piece of the source; cheap, nothing is parsed."""
        self._new.append(text)

    def source(self) -> str:
        """Return everything fed so far."""
        return "".join([*self._source, *self._new])

    def update(self, *, final: bool = False) -> int | None:
        """Parse what was fed; return the index of the first item that may have changed, `None` when nothing is new.

        With `final` the text is complete: what was shown as open is closed, and links that were defined late resolve.
        """
        if not self._new and not final:
            return None
        fed = "".join(self._new).replace("\r\n", "\n")
        self._source.extend(self._new)
        self._new.clear()
        changed = self.closed
        self._tail += fed
        while self._step(final):
            pass
        if final and not self._environment and self._resolve_late_links():
            return 0
        return changed

    def _step(self, final: bool) -> bool:
        """Take one step through the tail; return whether another may follow."""
        del self.items[self.closed :]
        if self._fence:
            return self._step_in_code(final)
        opening = _FENCE.match(self._tail)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]) and not self._table_head:
            words = opening[2].split()
            self._fence, self._language = opening[1], words[0] if words else ""
            self._tail = self._tail[opening.end() :]
            self._next_number = None
            return True
        return self._step_in_text(final)

    def _step_in_code(self, final: bool) -> bool:
        *lines, rest = self._tail.split("\n")
        for index, line in enumerate(lines):
            if self._closes_fence(line):
                self._code.extend(lines[:index])
                self._tail = "\n".join([*lines[index + 1 :], rest])
                self._close_code()
                return bool(self._tail)
        self._code.extend(lines)
        self._tail = rest
        if final:
            if rest and not self._closes_fence(rest):
                self._code.append(rest)
            self._tail = ""
            self._close_code()
            return False
        shown = self._code if not rest or rest.lstrip().startswith(self._fence[0]) else [*self._code, rest]
        self.items.append(CodeBlock(self._language, "\n".join(shown), open=True))
        return False

    def _closes_fence(self, line: str) -> bool:
        text = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        return indent < 4 and len(text) >= len(self._fence) and set(text) == {self._fence[0]}

    def _close_code(self) -> None:
        self.items.append(CodeBlock(self._language, "\n".join(self._code)))
        self.closed = len(self.items)
        self._fence, self._code = "", []

    def _step_in_text(self, final: bool) -> bool:
        source = self._table_head + self._tail
        groups = self._parse(source if final else hide_open_markup(source))
        if not groups:
            return False
        if final:
            for group in groups:
                self._close(self._read(group))
            self._tail = ""
            return False
        complete_lines = source.count("\n")
        settled = max((i for i in range(1, len(groups)) if groups[i].first < complete_lines), default=0)
        if settled:
            for group in groups[:settled]:
                self._close(self._read(group))
            self._tail = _from_line(source, groups[settled].first)
            return True
        if self._cut(groups[0], source):
            return True
        for group in groups:
            self.items.extend(self._read(group))
        return False

    def _parse(self, source: str) -> list[Group]:
        return parse_groups(source, {"references": dict(self._environment.get("references", {}))})

    def _read(self, group: Group) -> list[Item]:
        """Return the items of `group`, which goes on what was cut before it."""
        items = group_items(group, first_number=self._next_number)
        if self._table_head and items and isinstance(items[0], Table):
            table = items[0]
            return [Table((), table.rows, table.alignments, continued=True)] if table.rows else []
        return items

    def _close(self, items: list[Item]) -> None:
        self.items.extend(items)
        self.closed = len(self.items)
        self._table_head, self._next_number = "", None

    def _cut(self, group: Group, source: str) -> bool:
        """Close the finished part of an open block that has grown long; return whether that was done."""
        if group.kind == "table_open":
            return self._cut_table(group, source)
        if group.kind in ("bullet_list_open", "ordered_list_open") and len(source) > LIST_CUT:
            return self._cut_list(group, source)
        if len(source) > BLOCK_CUT and group.kind != "code_block":
            return self._cut_anywhere(source)
        return False

    def _cut_table(self, group: Group, source: str) -> bool:
        lines = source.split("\n")
        body_end = min(group.last, len(lines) - 1)
        if body_end - group.first - 2 <= TABLE_CUT or group.first:
            return False
        head = "\n".join(lines[:2]) + "\n"
        for piece in self._parse("\n".join(lines[:body_end])):
            self._close(self._read(piece))
        self._table_head = head
        self._tail = "\n".join(lines[body_end:])
        return True

    def _cut_list(self, group: Group, source: str) -> bool:
        lines = source.split("\n")
        starts = [
            token.map[0] for token in group.tokens if token.type == "list_item_open" and token.level == 1 and token.map
        ]
        starts = [start for start in starts[1:] if start < len(lines) - 1]
        if not starts:
            return len(source) > BLOCK_CUT and self._cut_anywhere(source)
        number = None
        for piece in self._parse("\n".join(lines[: starts[-1]])):
            items = self._read(piece)
            number = _number_after(items) if piece.kind == "ordered_list_open" else None
            self._close(items)
        self._next_number = number
        self._tail = "\n".join(lines[starts[-1] :])
        return True

    def _cut_anywhere(self, source: str) -> bool:
        at = source.rfind("\n", 0, BLOCK_CUT)
        if at <= 0:
            at = source.rfind(" ", 0, BLOCK_CUT)
        at = at if at > 0 else BLOCK_CUT - 1
        for piece in self._parse(source[: at + 1]):
            self._close(self._read(piece))
        self._tail = source[at + 1 :]
        return True

    def _resolve_late_links(self) -> bool:
        """Read the whole text once more where it defines links, which may stand before their definition."""
        text = self.source().replace("\r\n", "\n")
        definitions = "\n\n".join(match.group() for match in _DEFINITION.finditer(text))
        if not definitions or len(text) > LATE_LINKS_LIMIT:
            return False
        whole = IncrementalMarkdown()
        parse_groups(definitions, whole._environment)
        if whole._environment.get("references"):
            whole.feed(text)
            whole.update()
            whole.update(final=True)
            self.items, self.closed = whole.items, whole.closed
        return True


def parse_markdown(source: str) -> list[Item]:
    """Return the items of a complete text."""
    markdown = IncrementalMarkdown()
    markdown.feed(source)
    markdown.update()
    markdown.update(final=True)
    return markdown.items


def _from_line(source: str, line: int) -> str:
    return "\n".join(source.split("\n")[line:])


def _number_after(items: list[Item]) -> int | None:
    for item in reversed(items):
        if isinstance(item, Paragraph) and item.indent == 1 and item.marker.endswith("."):
            return int(item.marker[:-1]) + 1
    return None
