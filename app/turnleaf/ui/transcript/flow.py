"""The blocks of one text, laid out under each other where they are seen and estimated where they are not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.block import BlockLayout, estimated_height, gap_before
from turnleaf.ui.transcript.code_layout import CodeLayout
from turnleaf.ui.transcript.paragraph_layout import ParagraphLayout, RuleLayout
from turnleaf.ui.transcript.table_layout import TableLayout
from turnleaf.viewmodels.markdown.items import CodeBlock, Item, Paragraph, Rule, Table

Place = tuple[int, int]
"""A block's index and a position in it."""


class Flow:
    """Lays out items for one width. ``height`` is exact where blocks were laid out, estimated elsewhere."""

    def __init__(self, theme: Theme, width: float) -> None:
        self._theme = theme
        self._width = max(1.0, width)
        self.items: list[Item] = []
        self._layouts: dict[int, BlockLayout] = {}
        self._heights: list[float] = []
        self._exact: list[bool] = []
        self._tops: list[float] = []
        self.height = 0.0

    def set_items(self, items: Sequence[Item], changed_from: int = 0) -> None:
        """Show `items`; those before `changed_from` are the ones shown already. Equal items keep their layout."""
        old, self.items = self.items, list(items)
        for index in range(changed_from, max(len(old), len(self.items))):
            before = old[index] if index < len(old) else None
            now = self.items[index] if index < len(self.items) else None
            if before is not None and before == now:
                continue
            layout = self._layouts.get(index)
            if isinstance(layout, CodeLayout) and isinstance(now, CodeBlock) and _goes_on(before, now):
                layout.replace(now)
                self._heights[index] = layout.height
            else:
                self._layouts.pop(index, None)
                self._set_estimate(index, now)
        del self._heights[len(self.items) :], self._exact[len(self.items) :]
        self._retop(max(0, changed_from - 1))

    def resize(self, width: float) -> None:
        """Lay out anew for `width` pixels, where it is seen next."""
        if width == self._width:
            return
        self._width = max(1.0, width)
        self._layouts.clear()
        self._heights, self._exact = [], []
        for index, item in enumerate(self.items):
            self._set_estimate(index, item)
        self._retop(0)

    def lay_out(self, top: float, bottom: float) -> bool:
        """Lay out every block between `top` and `bottom`; return whether the height changed."""
        before = self.height
        index = max(0, bisect_right(self._tops, top) - 1)
        while index < len(self.items) and self._tops[index] <= bottom:
            if not self._exact[index]:
                self._lay_out_block(index)
                self._retop(index)
            index += 1
        return abs(before - self.height) > 0.01

    def lay_out_rest(self) -> Iterator[object]:
        """Lay out what is not yet, one block a step; heights are exact afterwards."""
        index = 0
        while index < len(self.items):
            if not self._exact[index]:
                self._lay_out_block(index)
                self._retop(index)
                yield None
            index += 1

    def is_exact(self) -> bool:
        """Return whether every height is known."""
        return all(self._exact)

    def layout_of(self, index: int) -> BlockLayout:
        """Return the layout of a block, made now if need be."""
        layout = self._layouts.get(index)
        if layout is None:
            layout = self._lay_out_block(index)
            self._retop(index)
        return layout

    def top_of(self, index: int) -> float:
        """Return where block `index` begins."""
        return self._tops[index]

    def laid_out(self) -> Iterator[tuple[int, BlockLayout]]:
        """Return the blocks that are laid out."""
        return iter(sorted(self._layouts.items()))

    def paint(self, painter: QPainter, clip: QRectF, selection: tuple[Place, Place] | None = None) -> None:
        """Draw what lies in `clip`."""
        index = max(0, bisect_right(self._tops, clip.top()) - 1)
        while index < len(self.items) and self._tops[index] <= clip.bottom():
            layout = self.layout_of(index)
            top = round(self._tops[index])
            painter.save()
            painter.translate(0.0, top)
            layout.paint(painter, clip.translated(0.0, -top), _part_of(selection, index, layout))
            painter.restore()
            index += 1

    def place_at(self, point: QPointF) -> Place:
        """Return the place nearest to `point`."""
        if not self.items:
            return (0, 0)
        index = max(0, bisect_right(self._tops, point.y()) - 1)
        return index, self.layout_of(index).position_at(self._inside(index, point))

    def link_at(self, point: QPointF) -> str:
        """Return the address under `point`, or an empty text."""
        if not self.items:
            return ""
        index = max(0, bisect_right(self._tops, point.y()) - 1)
        return self.layout_of(index).link_at(self._inside(index, point))

    def word_at(self, place: Place) -> tuple[Place, Place]:
        """Return the word around a place."""
        start, end = self.layout_of(place[0]).word_at(place[1])
        return (place[0], start), (place[0], end)

    def everything(self) -> tuple[Place, Place]:
        """Return the first and the last place."""
        last = len(self.items) - 1
        return (0, 0), (max(0, last), self.layout_of(last).length() if self.items else 0)

    def copied(self, selection: tuple[Place, Place]) -> str:
        """Return what is copied of `selection`."""
        if not self.items:
            return ""
        (first, start), (last, end) = sorted(selection)
        pieces = []
        for index in range(first, last + 1):
            layout = self.layout_of(index)
            text = layout.copied(start if index == first else 0, end if index == last else layout.length())
            tight = index > first and _is_tight(self.items[index], self.items[index - 1])
            pieces.append(("" if index == first else "\n" if tight else "\n\n") + text)
        return "".join(pieces)

    def natural_width(self) -> float:
        """Return the width of the longest line of the paragraphs, laid out now."""
        widths = [0.0]
        for index in range(len(self.items)):
            layout = self.layout_of(index)
            widths.append(layout.natural_width() if isinstance(layout, ParagraphLayout) else self._width)
        return max(widths)

    def scroll_sideways(self, point: QPointF, delta: float) -> bool:
        """Move the wide block under `point`; return whether anything moved."""
        if not self.items:
            return False
        index = max(0, bisect_right(self._tops, point.y()) - 1)
        return self.layout_of(index).scroll_sideways(delta)

    def _inside(self, index: int, point: QPointF) -> QPointF:
        return QPointF(point.x(), point.y() - round(self._tops[index]))

    def _set_estimate(self, index: int, item: Item | None) -> None:
        height = estimated_height(item, self._theme, self._width) if item is not None else 0.0
        if index < len(self._heights):
            self._heights[index], self._exact[index] = height, False
        else:
            self._heights.append(height)
            self._exact.append(False)

    def _lay_out_block(self, index: int) -> BlockLayout:
        layout = self._layouts.get(index)
        if layout is None:
            layout = self._layouts[index] = self._make(index)
        self._heights[index], self._exact[index] = layout.height, True
        return layout

    def _make(self, index: int) -> BlockLayout:
        item = self.items[index]
        match item:
            case Paragraph():
                return ParagraphLayout(item, self._theme, self._width)
            case CodeBlock():
                return CodeLayout(item, self._theme, self._width)
            case Table():
                return self._make_table(index, item)
            case Rule():
                return RuleLayout(self._theme, self._width)

    def _make_table(self, index: int, item: Table) -> TableLayout:
        above = self.layout_of(index - 1) if item.continued and index else None
        table = TableLayout(item, self._theme, self._width, above.columns if isinstance(above, TableLayout) else None)
        following = self.items[index + 1] if index + 1 < len(self.items) else None
        table.joined_below = isinstance(following, Table) and following.continued
        if isinstance(above, TableLayout) and not above.joined_below:
            above.joined_below = True
        return table

    def _retop(self, index: int) -> None:
        """Compute where the blocks from `index` on begin."""
        del self._tops[index:]
        y = self._tops[index - 1] + self._heights[index - 1] if index else 0.0
        for at in range(index, len(self.items)):
            y += gap_before(self.items[at], self.items[at - 1] if at else None, self._theme)
            self._tops.append(y)
            y += self._heights[at]
        self.height = y


def _goes_on(before: Item | None, now: CodeBlock) -> bool:
    return isinstance(before, CodeBlock) and before.open and before.language == now.language


def _is_tight(item: Item, previous: Item) -> bool:
    if isinstance(item, Table):
        return item.continued
    return isinstance(item, Paragraph) and isinstance(previous, Paragraph) and bool(item.marker and previous.indent)


def _part_of(selection: tuple[Place, Place] | None, index: int, layout: BlockLayout) -> tuple[int, int] | None:
    if selection is None:
        return None
    (first, start), (last, end) = sorted(selection)
    if not first <= index <= last:
        return None
    part = (start if index == first else 0, end if index == last else layout.length())
    return part if part[0] < part[1] else None
