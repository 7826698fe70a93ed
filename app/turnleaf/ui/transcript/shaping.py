"""Inline text laid out in lines at a steady pitch, with links, code pills and a selection."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
    QTextFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)

from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.markdown.items import Span, Style, Text, plain_text

Selection = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """How a text is set: its face, its colour, the distance of its lines in pixels, and where it is aligned."""

    font: QFont
    colour: str = "text"
    pitch: float = 24.0
    alignment: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft


class ShapedText:
    """A text in lines of at most `width` pixels. Positions are indexes into ``content.text``."""

    def __init__(self, content: Text, look: Look, theme: Theme, width: float) -> None:
        self.content = content
        self._theme = theme
        self._look = look
        self._layout = QTextLayout(content.text, look.font)
        self._layout.setCacheEnabled(True)
        # Qt aligns a right-to-left text to the left unless it is told otherwise.
        turned = look.alignment == Qt.AlignmentFlag.AlignLeft and is_right_to_left(content.text)
        option = QTextOption(Qt.AlignmentFlag.AlignRight if turned else look.alignment)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        self._layout.setTextOption(option)
        self._layout.setFormats([self._format(span) for span in content.spans])
        self.height = 0.0
        self.natural_width = 0.0
        self.resize(width)

    def resize(self, width: float) -> None:
        """Break the lines anew for `width` pixels."""
        metrics = QFontMetricsF(self._look.font)
        top = (self._look.pitch - metrics.ascent() - metrics.descent()) / 2 + metrics.ascent()
        y = 0.0
        self.natural_width = 0.0
        self._layout.beginLayout()
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(1.0, width))
            # Faces that stand in for missing glyphs may be taller than the pitch; the baseline stays on it if it can.
            grown = max(0.0, line.ascent() - top - 1, line.descent() - (self._look.pitch - top) - 1)
            line.setPosition(QPointF(0.0, y + top + grown - line.ascent()))
            self.natural_width = max(self.natural_width, line.naturalTextWidth())
            y += self._look.pitch + 2 * grown
        self._layout.endLayout()
        self.height = y

    def paint(self, painter: QPainter, at: QPointF, clip: QRectF, selected: Selection | None = None) -> None:
        """Draw the text with its top left corner at `at`; `clip` is in the same coordinates as `at`."""
        self._paint_pills(painter, at, clip)
        ranges = []
        if selected and selected[0] < selected[1]:
            marked = QTextLayout.FormatRange()
            marked.start, marked.length = selected[0], selected[1] - selected[0]
            marked.format = QTextCharFormat()
            marked.format.setBackground(self._theme.colour("selection"))
            ranges.append(marked)
        painter.setPen(self._theme.colour(self._look.colour))
        self._layout.draw(painter, at, ranges, clip)

    def position_at(self, point: QPointF) -> int:
        """Return the position nearest to `point`."""
        line = self._line_at(point.y())
        return line.xToCursor(point.x()) if line is not None else 0

    def link_at(self, point: QPointF) -> str:
        """Return the address of the link under `point`, or an empty text."""
        if not any(span.href for span in self.content.spans):
            return ""
        line = self._line_at(point.y())
        if line is None or not line.naturalTextRect().contains(point.x(), line.y() + 1):
            return ""
        position = line.xToCursor(point.x(), QTextLine.CursorPosition.CursorOnCharacter)
        return next((s.href for s in self.content.spans if s.href and s.start <= position < s.end), "")

    def word_at(self, position: int) -> Selection:
        """Return the word around `position`."""
        text = self.content.text
        start = end = min(position, len(text))
        while start > 0 and _is_word(text[start - 1]):
            start -= 1
        while end < len(text) and _is_word(text[end]):
            end += 1
        return start, end

    def length(self) -> int:
        """Return how many positions there are, less one."""
        return len(self.content.text)

    def copied(self, start: int, end: int) -> str:
        """Return the text between two positions as a reader would copy it."""
        return plain_text(self.content.text[start:end])

    def _line_at(self, y: float) -> QTextLine | None:
        count = self._layout.lineCount()
        for index in range(count):
            line = self._layout.lineAt(index)
            if y < line.y() + line.height() or index == count - 1:
                return line
        return None

    def _paint_pills(self, painter: QPainter, at: QPointF, clip: QRectF) -> None:
        for span in self.content.spans:
            if not span.style & Style.CODE:
                continue
            for rect in self._rects(span):
                rect.translate(at)
                if rect.intersects(clip):
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(self._theme.colour("code_inline"))
                    painter.drawRoundedRect(rect, 4, 4)

    def _rects(self, span: Span) -> list[QRectF]:
        rects, position = [], span.start
        size = self._look.font.pixelSize()
        while position < span.end:
            line = self._layout.lineForTextPosition(position)
            if not line.isValid():
                break
            end = min(span.end, line.textStart() + line.textLength())
            left, right = sorted((_cursor_x(line, position), _cursor_x(line, end)))
            rects.append(QRectF(left, line.y() + line.ascent() - size * 0.98, right - left, size * 1.32))
            position = max(end, position + 1)
        return rects

    def _format(self, span: Span) -> QTextLayout.FormatRange:
        written = QTextLayout.FormatRange()
        written.start, written.length = span.start, span.end - span.start
        style = QTextCharFormat()
        if span.style & Style.BOLD:
            style.setFontWeight(QFont.Weight.DemiBold)
        if span.style & Style.ITALIC:
            style.setFontItalic(True)
        if span.style & Style.STRIKE:
            style.setFontStrikeOut(True)
        if span.style & Style.MUTED:
            style.setForeground(QBrush(self._theme.colour("muted")))
        if span.style & Style.CODE:
            style.setFontFamilies(self._theme.code_font().families())
            style.setProperty(QTextFormat.Property.FontPixelSize, round(self._look.font.pixelSize() * 0.87))
        if span.href:
            link = self._theme.colour("link")
            style.setForeground(QBrush(link))
            style.setFontUnderline(True)
            style.setUnderlineColor(_faint(link))
        written.format = style
        return written


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    for character in text[:400]:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False


def _cursor_x(line: QTextLine, position: int) -> float:
    # PySide6 6.11 returns the position with the x; older ones the x alone.
    found: Any = line.cursorToX(position)
    return float(found[0] if isinstance(found, tuple) else found)


def _faint(colour: QColor) -> QColor:
    faint = QColor(colour)
    faint.setAlpha(110)
    return faint


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_'’"
