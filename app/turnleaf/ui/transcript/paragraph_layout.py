"""Paragraphs, headings, list items and rules, laid out."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from turnleaf.ui.theme import LINE_HEIGHT, Theme
from turnleaf.ui.transcript.block import INDENT_PX, QUOTE_PX
from turnleaf.ui.transcript.shaping import Look, Selection, ShapedText, is_right_to_left
from turnleaf.viewmodels.markdown.items import CHECKED, UNCHECKED, Paragraph

_HEADING_EM = {1: 1.375, 2: 1.25, 3: 1.1}


class ParagraphLayout:
    """A paragraph with what stands in front of it: a list marker, a quote's bars."""

    def __init__(self, item: Paragraph, theme: Theme, width: float) -> None:
        self._item = item
        self._theme = theme
        self._right_to_left = is_right_to_left(item.content.text)
        self._look = _look(item, theme)
        self._inset = float(item.indent * theme.px(INDENT_PX) + item.quote * theme.px(QUOTE_PX))
        self._width = width
        self._shaped = ShapedText(item.content, self._look, theme, width - self._inset)
        self.height = self._shaped.height

    def resize(self, width: float) -> None:
        """Lay out for `width` pixels."""
        self._width = width
        self._shaped.resize(width - self._inset)
        self.height = self._shaped.height

    def paint(self, painter: QPainter, clip: QRectF, selected: Selection | None) -> None:
        """Draw what lies in `clip`."""
        self._paint_bars(painter)
        self._paint_marker(painter)
        self._shaped.paint(painter, QPointF(self._text_left(), 0.0), clip, selected)

    def position_at(self, point: QPointF) -> int:
        """Return the position nearest to `point`."""
        return self._shaped.position_at(point - QPointF(self._text_left(), 0.0))

    def word_at(self, position: int) -> Selection:
        """Return the word around `position`."""
        return self._shaped.word_at(position)

    def link_at(self, point: QPointF) -> str:
        """Return the address under `point`, or an empty text."""
        return self._shaped.link_at(point - QPointF(self._text_left(), 0.0))

    def length(self) -> int:
        """Return how many positions there are, less one."""
        return self._shaped.length()

    def copied(self, start: int, end: int) -> str:
        """Return what is copied from `start` to `end`; the marker comes along with the first character."""
        lead = ""
        if start == 0 and self._item.marker:
            lead = "    " * (self._item.indent - 1) + self._item.marker + " "
        return lead + self._shaped.copied(start, end)

    def scroll_sideways(self, _delta: float) -> bool:
        """Paragraphs are never wider than the column."""
        return False

    def natural_width(self) -> float:
        """Return the width of the longest line."""
        return self._shaped.natural_width + self._inset

    def _text_left(self) -> float:
        return 0.0 if self._right_to_left else self._inset

    def _paint_bars(self, painter: QPainter) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("quote"))
        for level in range(self._item.quote):
            x = level * self._theme.px(QUOTE_PX)
            left = self._width - x - 3 if self._right_to_left else float(x)
            painter.drawRect(QRectF(left, 0.0, 3.0, self.height))

    def _paint_marker(self, painter: QPainter) -> None:
        marker = self._item.marker
        if not marker:
            return
        gutter = self._theme.px(INDENT_PX)
        left = self._inset - gutter
        rect = QRectF(left, 0.0, gutter - self._theme.px(8), self._look.pitch)
        if self._right_to_left:
            rect.moveLeft(self._width - self._inset + self._theme.px(8))
        painter.setPen(self._theme.colour("text" if marker[0].isdigit() else "muted"))
        if marker in (CHECKED, UNCHECKED):
            self._paint_box(painter, rect, checked=marker == CHECKED)
        elif marker[0].isdigit():
            painter.setFont(self._look.font)
            # Wide numbers grow to the left, into the margin, and never onto the text.
            advance = QFontMetricsF(self._look.font).horizontalAdvance(marker)
            if not self._right_to_left:
                rect.setLeft(min(rect.left(), rect.right() - advance))
            align = Qt.AlignmentFlag.AlignLeft if self._right_to_left else Qt.AlignmentFlag.AlignRight
            painter.drawText(rect, int(align | Qt.AlignmentFlag.AlignVCenter), marker)
        else:
            self._paint_bullet(painter, rect, marker)

    def _paint_bullet(self, painter: QPainter, rect: QRectF, marker: str) -> None:
        radius = self._theme.body_px * 0.16
        centre = QPointF(rect.right() - radius - 1, rect.center().y() + 0.5)
        colour = self._theme.colour("muted")
        if marker == "◦":
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour, 1.2))
            painter.drawEllipse(centre, radius, radius)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        if marker == "▪":
            painter.drawRect(QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius))
        else:
            painter.drawEllipse(centre, radius, radius)

    def _paint_box(self, painter: QPainter, rect: QRectF, *, checked: bool) -> None:
        side = round(self._theme.body_px * 0.85)
        box = QRectF(rect.right() - side, rect.center().y() - side / 2, side, side)
        box.translate(0.5 - box.left() % 1, 0.5 - box.top() % 1)
        painter.setPen(QPen(self._theme.colour("accent" if checked else "muted"), 1.3))
        painter.setBrush(self._theme.colour("accent") if checked else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3, 3)
        if checked:
            painter.setPen(QPen(self._theme.colour("on_accent"), 1.6))
            left, top, size = box.left(), box.top(), box.width()
            painter.drawPolyline(
                [
                    QPointF(left + size * 0.22, top + size * 0.52),
                    QPointF(left + size * 0.42, top + size * 0.72),
                    QPointF(left + size * 0.78, top + size * 0.28),
                ]
            )


class RuleLayout:
    """A thematic break."""

    def __init__(self, theme: Theme, width: float) -> None:
        self._theme = theme
        self._width = width
        self.height = float(theme.px(17))

    def resize(self, width: float) -> None:
        """Lay out for `width` pixels."""
        self._width = width

    def paint(self, painter: QPainter, _clip: QRectF, _selected: Selection | None) -> None:
        """Draw the line."""
        painter.setPen(QPen(self._theme.colour("line_strong"), 1))
        y = int(self.height / 2) + 0.5
        painter.drawLine(QPointF(0.0, y), QPointF(self._width, y))

    def position_at(self, _point: QPointF) -> int:
        """There is one position."""
        return 0

    def word_at(self, _position: int) -> Selection:
        """There is no word."""
        return (0, 0)

    def link_at(self, _point: QPointF) -> str:
        """There is no link."""
        return ""

    def length(self) -> int:
        """There is one position."""
        return 0

    def copied(self, _start: int, _end: int) -> str:
        """Return the rule as Markdown writes it."""
        return "---"

    def scroll_sideways(self, _delta: float) -> bool:
        """A rule is never wider than the column."""
        return False


def _look(item: Paragraph, theme: Theme) -> Look:
    if item.heading:
        size = theme.body_px * _HEADING_EM.get(item.heading, 1.0)
        font = theme.text_font(size / theme.zoom, weight=QFont.Weight.DemiBold)
        font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 99.0)
        return Look(font, "text", round(size * 1.32))
    return Look(theme.text_font(), "muted" if item.quote else "text", round(theme.body_px * LINE_HEIGHT))
