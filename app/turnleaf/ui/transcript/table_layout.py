"""A table as a card of cells; one that is wider than the column scrolls sideways."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.block import TABLE_PADDING_PX
from turnleaf.ui.transcript.shaping import Look, Selection, ShapedText
from turnleaf.viewmodels.markdown.items import Table, Text

WIDEST_COLUMN_PX = 340
NARROWEST_COLUMN_PX = 90
RADIUS = 8.0

_ALIGNMENTS = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}


@dataclass
class Columns:
    """The columns of a table, shared by all of its pieces: pixel widths and how far they are scrolled."""

    wanted: list[float]
    widths: list[float] = field(default_factory=list)
    offset: float = 0.0

    def fit(self, room: float, theme: Theme) -> None:
        """Give every column what it wants, or a fair part of `room`, but never less than can be read."""
        narrowest = [min(wanted, theme.px(NARROWEST_COLUMN_PX)) for wanted in self.wanted]
        total = sum(self.wanted)
        if total <= room or total == 0:
            self.widths = list(self.wanted)
            return
        spare = max(0.0, room - sum(narrowest))
        stretch = sum(self.wanted) - sum(narrowest)
        share = spare / stretch if stretch else 0.0
        self.widths = [low + (high - low) * share for low, high in zip(narrowest, self.wanted, strict=True)]


class TableLayout:
    """One piece of a table. A later piece takes its `columns` from the first."""

    def __init__(self, item: Table, theme: Theme, width: float, columns: Columns | None = None) -> None:
        self.item = item
        self._theme = theme
        self._rows: list[tuple[Text, ...]] = [*([] if item.continued else [item.header]), *item.rows]
        self._count = max((len(row) for row in self._rows), default=1)
        if columns is not None and len(columns.wanted) >= self._count:
            self.columns = columns
        else:
            self.columns = Columns(self._wanted())
        self.joined_below = False
        self._cells: list[list[ShapedText]] = []
        self._tops: list[float] = []
        self._starts: list[list[int]] = []
        self._length = 0
        self._width = width
        self.height = 0.0
        self._measure_text()
        self.resize(width)

    def resize(self, width: float) -> None:
        """Lay out for `width` pixels."""
        self._width = width
        self.columns.fit(width, self._theme)
        pad_x, pad_y = (self._theme.px(value) for value in TABLE_PADDING_PX)
        fresh = not self._cells
        y = 0.0
        self._tops = []
        for index, row in enumerate(self._rows):
            if fresh:
                self._cells.append([self._shape(index, column, cell) for column, cell in enumerate(row)])
            cells = self._cells[index]
            for column, cell in enumerate(cells):
                cell.resize(self.columns.widths[column] - 2 * pad_x)
            self._tops.append(y)
            y += max((cell.height for cell in cells), default=self._pitch()) + 2 * pad_y
        self.height = y + (0.0 if self.joined_below else 1.0)
        self.scroll_sideways(0.0)

    def paint(self, painter: QPainter, clip: QRectF, selected: Selection | None) -> None:
        """Draw what lies in `clip`."""
        total = sum(self.columns.widths)
        frame = QRectF(0.0, 0.0, min(total, self._width), self.height).adjusted(0.5, 0.5, -0.5, 0.0)
        path = self._outline(frame)
        painter.save()
        painter.setClipPath(path, Qt.ClipOperation.IntersectClip)
        painter.translate(-self.columns.offset, 0.0)
        self._paint_rows(painter, clip.translated(self.columns.offset, 0.0), selected, total)
        painter.restore()
        painter.setPen(QPen(self._theme.colour("line"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)
        self._paint_track(painter, frame.width(), total)

    def position_at(self, point: QPointF) -> int:
        """Return the position nearest to `point`."""
        row, column, inside = self._cell_at(point)
        if column >= len(self._starts[row]):
            return self._starts[row][-1] if self._starts[row] else 0
        return self._starts[row][column] + self._cells[row][column].position_at(inside)

    def word_at(self, position: int) -> Selection:
        """Return the word around `position`."""
        for starts, cells in zip(self._starts, self._cells, strict=True):
            for start, cell in zip(starts, cells, strict=True):
                if start <= position <= start + cell.length():
                    first, last = cell.word_at(position - start)
                    return start + first, start + last
        return position, position

    def link_at(self, point: QPointF) -> str:
        """Return the address under `point`, or an empty text."""
        if not 0 <= point.y() < self.height:
            return ""
        row, column, inside = self._cell_at(point)
        return self._cells[row][column].link_at(inside) if column < len(self._cells[row]) else ""

    def length(self) -> int:
        """Return how many positions there are, less one."""
        return self._length

    def copied(self, start: int, end: int) -> str:
        """Return the cells from `start` to `end`, tabs between them, so that they paste as cells."""
        lines = []
        for starts, cells in zip(self._starts, self._cells, strict=True):
            parts = [
                cell.copied(max(0, start - at), min(cell.length(), end - at))
                for at, cell in zip(starts, cells, strict=True)
                if start <= at + cell.length() and at < end
            ]
            if parts:
                lines.append("\t".join(parts))
        return "\n".join(lines)

    def scroll_sideways(self, delta: float) -> bool:
        """Move the cells by `delta` pixels; return whether anything moved."""
        room = max(0.0, sum(self.columns.widths) - self._width)
        before, self.columns.offset = self.columns.offset, min(room, max(0.0, self.columns.offset + delta))
        return before != self.columns.offset

    def _wanted(self) -> list[float]:
        pad = 2 * self._theme.px(TABLE_PADDING_PX[0])
        regular, bold = QFontMetricsF(self._font(False)), QFontMetricsF(self._font(True))
        widest = [0.0] * self._count
        for index, row in enumerate(self._rows):
            metrics = bold if index == 0 and not self.item.continued else regular
            for column, cell in enumerate(row):
                # Bold and code runs are wider than the regular face that is measured here.
                extra = 1.08 if cell.spans else 1.0
                widest[column] = max(widest[column], metrics.horizontalAdvance(cell.text) * extra)
        cap = self._theme.px(WIDEST_COLUMN_PX)
        return [min(cap, width + 2) + pad for width in widest]

    def _measure_text(self) -> None:
        at = 0
        for row in self._rows:
            starts = []
            for cell in row:
                starts.append(at)
                at += len(cell.text) + 1
            self._starts.append(starts)
        self._length = max(0, at - 1)

    def _shape(self, row: int, column: int, cell: Text) -> ShapedText:
        header = row == 0 and not self.item.continued
        names = self.item.alignments
        alignment = _ALIGNMENTS.get(names[column] if column < len(names) else "", Qt.AlignmentFlag.AlignLeft)
        return ShapedText(cell, Look(self._font(header), "text", self._pitch(), alignment), self._theme, 100.0)

    def _font(self, header: bool) -> QFont:
        return self._theme.text_font(
            self._theme.body_px / self._theme.zoom * 0.94,
            weight=QFont.Weight.DemiBold if header else QFont.Weight.Normal,
        )

    def _pitch(self) -> float:
        return round(self._theme.body_px * 1.45)

    def _cell_at(self, point: QPointF) -> tuple[int, int, QPointF]:
        pad_x, pad_y = (self._theme.px(value) for value in TABLE_PADDING_PX)
        row = max(0, bisect_right(self._tops, point.y()) - 1)
        x, column, left = point.x() + self.columns.offset, 0, 0.0
        while column < len(self.columns.widths) - 1 and x >= left + self.columns.widths[column]:
            left += self.columns.widths[column]
            column += 1
        return row, column, QPointF(x - left - pad_x, point.y() - self._tops[row] - pad_y)

    def _paint_rows(self, painter: QPainter, clip: QRectF, selected: Selection | None, total: float) -> None:
        pad_x, pad_y = (self._theme.px(value) for value in TABLE_PADDING_PX)
        for index, cells in enumerate(self._cells):
            top = self._tops[index]
            bottom = self._tops[index + 1] if index + 1 < len(self._tops) else self.height
            if bottom < clip.top() or top > clip.bottom():
                continue
            header = index == 0 and not self.item.continued
            if header:
                painter.fillRect(QRectF(0.0, top, total, bottom - top), self._theme.colour("card_head"))
            elif index or self.item.continued:
                painter.setPen(QPen(self._theme.colour("line"), 1))
                painter.drawLine(QPointF(0.0, round(top) + 0.5), QPointF(total, round(top) + 0.5))
            left = 0.0
            for column, cell in enumerate(cells):
                marked = _part(selected, self._starts[index][column], cell.length())
                cell.paint(painter, QPointF(left + pad_x, top + pad_y), clip, marked)
                left += self.columns.widths[column]

    def _outline(self, frame: QRectF) -> QPainterPath:
        path = QPainterPath()
        if not self.item.continued and not self.joined_below:
            path.addRoundedRect(frame.adjusted(0, 0, 0, -0.5), RADIUS, RADIUS)
            return path
        grown = frame.adjusted(
            0, -2 * RADIUS if self.item.continued else 0, 0, 2 * RADIUS if self.joined_below else -0.5
        )
        whole = QPainterPath()
        whole.addRoundedRect(grown, RADIUS, RADIUS)
        piece = QPainterPath()
        piece.addRect(frame)
        return whole.intersected(piece)

    def _paint_track(self, painter: QPainter, room: float, total: float) -> None:
        if total <= room + 1 or self.joined_below:
            return
        track = room - 2 * self._theme.px(12)
        length = max(24.0, track * room / total)
        left = self._theme.px(12) + (track - length) * self.columns.offset / (total - room)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("line_strong"))
        painter.drawRoundedRect(QRectF(left, self.height - 6, length, 4), 2, 2)


def _part(selected: Selection | None, start: int, length: int) -> Selection | None:
    if not selected:
        return None
    first, last = max(0, selected[0] - start), min(length, selected[1] - start)
    return (first, last) if first < last else None
