"""A code block as a tinted card: a head with the language, lines laid out only where they are seen."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen, QTextCharFormat, QTextLayout, QTextOption

from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.block import CODE_HEAD_PX, CODE_LINE, CODE_PADDING_PX, INDENT_PX
from turnleaf.ui.transcript.shaping import Selection
from turnleaf.viewmodels.markdown.highlight import CodeSpan, highlight
from turnleaf.viewmodels.markdown.items import CodeBlock

LONGEST_LINE = 500
"""Characters after which a line goes on in the next one, for display only."""
KEPT_LINES = 400


class CodeLayout:
    """One code block. Lines are not broken; wide ones scroll sideways inside the card."""

    def __init__(self, item: CodeBlock, theme: Theme, width: float) -> None:
        self.item = item
        self._theme = theme
        self._font = theme.code_font()
        metrics = QFontMetricsF(self._font)
        self._advance = metrics.horizontalAdvance("0")
        self._pitch = round(self._font.pixelSize() * CODE_LINE)
        self._inset = float(item.indent * theme.px(INDENT_PX))
        self._offset = 0.0
        self._width = width
        self._lines: list[str] = []
        self._starts: list[int] = []
        self._spans: list[tuple[CodeSpan, ...]] = []
        self._layouts: dict[int, QTextLayout] = {}
        self._coloured_length = -1
        self.height = 0.0
        self._take(item.text)

    @property
    def language(self) -> str:
        """What the head says."""
        return self.item.language or "text"

    def head_rect(self) -> QRectF:
        """Return where the head is."""
        return QRectF(self._inset, 0.0, self._width - self._inset, self._theme.px(CODE_HEAD_PX))

    @property
    def coloured(self) -> bool:
        """Whether the code has its colours; an open block is not coloured again for every few characters."""
        grown = len(self.item.text) - self._coloured_length
        return grown == 0 or (self.item.open and self._coloured_length >= 0 and grown < 40 + self._coloured_length // 4)

    def replace(self, item: CodeBlock) -> None:
        """Show a later state of the same block; lines that stay keep their layout and colours."""
        before = self._lines
        self.item = item
        self._take(item.text)
        same = 0
        for old, new in zip(before, self._lines, strict=False):
            if old != new:
                break
            same += 1
        self._layouts = {index: layout for index, layout in self._layouts.items() if index < same}
        del self._spans[same:]

    def colour_in(self) -> Iterator[object]:
        """Colour the code bit by bit; each step is short. Run again after `replace`."""
        text, line = self.item.text, 0
        self._coloured_length = len(text)
        if any(len(part) > LONGEST_LINE for part in text.split("\n")):
            return
        for spans in highlight(self.item.language, text):
            end = line + len(spans)
            if len(self._spans) < end:
                self._spans.extend([()] * (end - len(self._spans)))
            for index, new in enumerate(spans, start=line):
                if self._spans[index] != new:
                    self._spans[index] = new
                    self._layouts.pop(index, None)
            line = end
            yield None

    def resize(self, width: float) -> None:
        """Lay out for `width` pixels."""
        self._width = width
        self.scroll_sideways(0.0)

    def paint(self, painter: QPainter, clip: QRectF, selected: Selection | None) -> None:
        """Draw the card and the lines that lie in `clip`."""
        self._paint_card(painter)
        top = self._text_top()
        first = max(0, int((clip.top() - top) // self._pitch))
        last = min(len(self._lines), int((clip.bottom() - top) // self._pitch) + 1)
        painter.save()
        painter.setClipRect(
            QRectF(self._inset + 1, top - 4, self._width - self._inset - 2, self.height - top + 3),
            Qt.ClipOperation.IntersectClip,
        )
        painter.setPen(self._theme.colour("text"))
        left = self._text_left() - self._offset
        for index in range(first, last):
            self._layout_of(index).draw(
                painter, QPointF(left, top + index * self._pitch), self._marked(index, selected)
            )
        painter.restore()
        self._paint_track(painter)
        self._forget_far(first, last)

    def position_at(self, point: QPointF) -> int:
        """Return the position nearest to `point`."""
        index = int((point.y() - self._text_top()) // self._pitch)
        index = max(0, min(len(self._lines) - 1, index))
        layout = self._layout_of(index)
        column = layout.lineAt(0).xToCursor(point.x() - self._text_left() + self._offset) if layout.lineCount() else 0
        return self._starts[index] + min(column, len(self._lines[index]))

    def word_at(self, position: int) -> Selection:
        """Return the identifier around `position`."""
        text = self.item.text
        start = end = min(position, len(text))
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        return start, end

    def link_at(self, _point: QPointF) -> str:
        """Code has no links."""
        return ""

    def length(self) -> int:
        """Return how many positions there are, less one."""
        return len(self.item.text)

    def copied(self, start: int, end: int) -> str:
        """Return the code between two positions."""
        return self.item.text[start:end]

    def scroll_sideways(self, delta: float) -> bool:
        """Move the lines by `delta` pixels; return whether anything moved."""
        room = max(0.0, self._content_width() - (self._width - self._inset))
        before, self._offset = self._offset, min(room, max(0.0, self._offset + delta))
        return before != self._offset

    def _take(self, text: str) -> None:
        self._lines, self._starts, at = [], [], 0
        for line in text.split("\n"):
            for cut in range(0, len(line) or 1, LONGEST_LINE):
                piece = line[cut : cut + LONGEST_LINE]
                self._lines.append(piece)
                self._starts.append(at + cut)
            at += len(line) + 1
        self._longest = max(len(line.expandtabs(4)) for line in self._lines)
        pad = self._theme.px(CODE_PADDING_PX)
        self.height = self._theme.px(CODE_HEAD_PX) + 2 * pad + len(self._lines) * self._pitch

    def _text_top(self) -> float:
        return float(self._theme.px(CODE_HEAD_PX) + self._theme.px(CODE_PADDING_PX))

    def _text_left(self) -> float:
        return self._inset + self._theme.px(16)

    def _content_width(self) -> float:
        drawn = (layout.lineAt(0).naturalTextWidth() for layout in self._layouts.values() if layout.lineCount())
        return max(self._longest * self._advance, *drawn, 0.0) + 2 * self._theme.px(16)

    def _layout_of(self, index: int) -> QTextLayout:
        layout = self._layouts.get(index)
        if layout is None:
            layout = self._layouts[index] = self._make_line(index)
        return layout

    def _make_line(self, index: int) -> QTextLayout:
        layout = QTextLayout(self._lines[index], self._font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        option.setTabStopDistance(self._advance * 4)
        layout.setTextOption(option)
        if index < len(self._spans):
            layout.setFormats([self._format(span) for span in self._spans[index]])
        layout.beginLayout()
        line = layout.createLine()
        if line.isValid():
            line.setLineWidth(1e6)
            line.setPosition(QPointF(0.0, (self._pitch - line.height()) / 2))
        layout.endLayout()
        return layout

    def _format(self, span: CodeSpan) -> QTextLayout.FormatRange:
        coloured = QTextLayout.FormatRange()
        coloured.start, coloured.length = span.start, span.length
        coloured.format = QTextCharFormat()
        coloured.format.setForeground(self._theme.code_colour(span.token))
        return coloured

    def _marked(self, index: int, selected: Selection | None) -> list[QTextLayout.FormatRange]:
        if not selected:
            return []
        start = max(0, selected[0] - self._starts[index])
        end = min(len(self._lines[index]), selected[1] - self._starts[index])
        if start >= end:
            return []
        marked = QTextLayout.FormatRange()
        marked.start, marked.length = start, end - start
        marked.format = QTextCharFormat()
        marked.format.setBackground(self._theme.colour("selection"))
        return [marked]

    def _paint_card(self, painter: QPainter) -> None:
        card = QRectF(self._inset, 0.0, self._width - self._inset, self.height).adjusted(0.5, 0.5, -0.5, -0.5)
        path = QPainterPath()
        path.addRoundedRect(card, 10, 10)
        painter.fillPath(path, self._theme.colour("card"))
        head = self.head_rect()
        painter.save()
        painter.setClipPath(path, Qt.ClipOperation.IntersectClip)
        painter.fillRect(head, self._theme.colour("card_head"))
        painter.restore()
        painter.setPen(QPen(self._theme.colour("line"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        painter.drawLine(QPointF(card.left(), head.bottom() + 0.5), QPointF(card.right(), head.bottom() + 0.5))
        painter.setFont(self._theme.text_font(12.5))
        painter.setPen(self._theme.colour("muted"))
        text = head.adjusted(self._theme.px(16), 0, -self._theme.px(90), 0)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(text, int(align), self.language[:40])

    def _paint_track(self, painter: QPainter) -> None:
        room = self._width - self._inset
        content = self._content_width()
        if content <= room:
            return
        track = room - 2 * self._theme.px(12)
        length = max(24.0, track * room / content)
        left = self._inset + self._theme.px(12) + (track - length) * self._offset / (content - room)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("line_strong"))
        painter.drawRoundedRect(QRectF(left, self.height - 7, length, 4), 2, 2)

    def _forget_far(self, first: int, last: int) -> None:
        if len(self._layouts) > KEPT_LINES:
            near = range(first - 60, last + 60)
            self._layouts = {index: layout for index, layout in self._layouts.items() if index in near}
