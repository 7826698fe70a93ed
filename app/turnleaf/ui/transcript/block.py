"""What every laid-out block can do, and how much space stands between two of them."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.shaping import Selection
from turnleaf.viewmodels.markdown.items import CodeBlock, Item, Paragraph, Rule, Table

CODE_HEAD_PX = 34
CODE_PADDING_PX = 12
CODE_LINE = 1.55
TABLE_PADDING_PX = (12, 7)
INDENT_PX = 26
QUOTE_PX = 18


class BlockLayout(Protocol):
    """One laid-out item. Coordinates start at its top left corner; positions count its characters."""

    height: float

    def resize(self, width: float) -> None:
        """Lay out for `width` pixels."""

    def paint(self, painter: QPainter, clip: QRectF, selected: Selection | None) -> None:
        """Draw what lies in `clip`."""

    def position_at(self, point: QPointF) -> int:
        """Return the position nearest to `point`."""

    def word_at(self, position: int) -> Selection:
        """Return the word around `position`."""

    def link_at(self, point: QPointF) -> str:
        """Return the address under `point`, or an empty text."""

    def length(self) -> int:
        """Return how many positions there are, less one."""

    def copied(self, start: int, end: int) -> str:
        """Return what is copied from `start` to `end`."""

    def scroll_sideways(self, delta: float) -> bool:
        """Move wide content by `delta` pixels; return whether anything moved."""


def gap_before(item: Item, previous: Item | None, theme: Theme) -> float:
    """Return the pixels between `previous` and `item`."""
    if previous is None:
        return 0.0
    em = theme.body_px
    if isinstance(item, Table) and item.continued:
        return 0.0
    if isinstance(item, Paragraph):
        if item.heading:
            return em * (1.3 if item.heading < 3 else 1.1)
        if item.indent and isinstance(previous, Paragraph) and (previous.indent or previous.marker):
            return em * 0.3 if item.marker else em * 0.45
    if isinstance(previous, Paragraph) and previous.heading:
        return em * 0.5
    return em * 0.75


def estimated_height(item: Item, theme: Theme, width: float) -> float:
    """Return about how high `item` will be, without laying it out."""
    line = theme.body_px * 1.55
    match item:
        case CodeBlock():
            lines = item.text.count("\n") + 1
            return theme.px(CODE_HEAD_PX + 2 * CODE_PADDING_PX) + lines * theme.body_px * 0.84 * CODE_LINE
        case Table():
            return (len(item.rows) + (0 if item.continued else 1)) * theme.px(38)
        case Rule():
            return float(theme.px(16))
        case Paragraph():
            room = max(40.0, width - item.indent * theme.px(INDENT_PX) - item.quote * theme.px(QUOTE_PX))
            per_line = max(8.0, room / (theme.body_px * 0.5))
            return line * max(1, -(-len(item.content.text) // int(per_line)))
