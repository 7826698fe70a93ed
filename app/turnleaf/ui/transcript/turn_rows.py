"""The quiet rows of a turn: its divider, its status line while it runs, its meta line when it is done."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolButton, QWidget

from turnleaf.services.rows import DividerRow, MetaRow, Row, StatusRow
from turnleaf.ui.texts import divider_text, meta_text, status_text
from turnleaf.ui.transcript.row_widget import Kit, RowWidget

BREATH_MS = 50
BREATH_S = 1.6


class DividerWidget(RowWidget):
    """The hairline that opens a turn."""

    def __init__(self, row: DividerRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, DividerRow)
        self._row = row
        self.setAccessibleName(divider_text(row))
        self.update()

    def lay_out(self, width: int) -> int:
        theme = self._kit.theme
        height = theme.px(34 if self._row.turn == 1 else 60)
        self.resize(width, height)
        return height

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._kit.theme
        painter = QPainter(self)
        font = theme.text_font(12)
        painter.setFont(font)
        number = str(self._row.turn)
        middle = self.height() - theme.px(18)
        metrics = QFontMetricsF(font)
        rect = QRectF(0, middle - metrics.height() / 2, metrics.horizontalAdvance(number) + 2, metrics.height())
        painter.setPen(theme.colour("muted"))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), number)
        left, right = rect.right() + theme.px(10), float(self.width())
        if self._row.model_change:
            text = "→ " + self._row.model_change
            room = metrics.horizontalAdvance(text) + 2
            painter.drawText(QRectF(right - room, rect.top(), room, rect.height()), text)
            right -= room + theme.px(10)
        painter.setPen(QPen(theme.colour("line"), 1))
        painter.drawLine(round(left), round(middle), round(right), round(middle))
        painter.end()


class StatusWidget(RowWidget):
    """One line that says what is going on, with a dot that breathes."""

    def __init__(self, row: StatusRow, kit: Kit, parent: QWidget, *, with_files: bool = False) -> None:
        super().__init__(kit, parent)
        self._with_files = with_files
        self._phase = 0.0
        self._seconds = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(1000 if kit.theme.reduced_motion else BREATH_MS)
        self._timer.timeout.connect(self._on_tick)
        self._timer.start()
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, StatusRow)
        if getattr(self, "_row", row).phase != row.phase:
            self._seconds = 0.0
        self._row = row
        self.setAccessibleName(status_text(row, None, with_files=self._with_files))
        self.update()

    def lay_out(self, width: int) -> int:
        height = self._kit.theme.px(40)
        self.resize(width, height)
        return height

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._kit.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = theme.px(8)
        dot = QRectF(theme.px(1), (self.height() - side) / 2, side, side)
        colour = theme.colour("accent")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setOpacity(1.0 if theme.reduced_motion else 0.35 + 0.65 * (0.5 + 0.5 * math.cos(self._phase)))
        painter.setBrush(colour)
        painter.drawEllipse(dot)
        painter.setOpacity(1.0)
        painter.setFont(theme.text_font(14))
        painter.setPen(theme.colour("muted"))
        text = QRectF(dot.right() + theme.px(10), 0, self.width() - dot.right() - theme.px(10), self.height())
        words = status_text(self._row, self._seconds, with_files=self._with_files)
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), words)
        painter.end()

    def _on_tick(self) -> None:
        self._seconds += self._timer.interval() / 1000
        self._phase += 2 * math.pi * self._timer.interval() / 1000 / BREATH_S
        if self.isVisible():
            self.update()


class MetaWidget(RowWidget):
    """Who answered, tokens, money, time; and the answer for the clipboard."""

    copy_requested = Signal(int)
    """The reader wants the answer of this turn."""

    def __init__(self, row: MetaRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self._copy = QToolButton(self)
        self._copy.setObjectName("copyAnswer")
        self._copy.setIcon(kit.icons.icon("copy", "muted", size=15))
        self._copy.setIconSize(kit.icons.size(15))
        self._copy.setAccessibleName(self.tr("Copy the answer"))
        self._copy.setToolTip(self.tr("Copy the answer as Markdown"))
        self._copy.clicked.connect(self._on_copy)
        self._done = QTimer(self)
        self._done.setSingleShot(True)
        self._done.setInterval(1500)
        self._done.timeout.connect(lambda: self._copy.setIcon(kit.icons.icon("copy", "muted", size=15)))
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, MetaRow)
        self._row = row
        self.setAccessibleName(meta_text(row))
        self.update()

    def lay_out(self, width: int) -> int:
        theme = self._kit.theme
        self.resize(width, theme.px(38))
        self._copy.adjustSize()
        text = QFontMetricsF(theme.text_font(12.5)).horizontalAdvance(meta_text(self._row))
        self._copy.move(
            min(width - self._copy.width(), round(text) + theme.px(8)), theme.px(17) - self._copy.height() // 2
        )
        return self.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._kit.theme
        painter = QPainter(self)
        painter.setFont(theme.text_font(12.5))
        painter.setPen(theme.colour("muted"))
        rect = QRectF(0, 0, self.width() - self._copy.width() - theme.px(8), theme.px(34))
        text = painter.fontMetrics().elidedText(
            meta_text(self._row), Qt.TextElideMode.ElideRight, max(10, int(rect.width()))
        )
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.end()

    def _on_copy(self) -> None:
        self.copy_requested.emit(self._row.turn)
        self._copy.setIcon(self._kit.icons.icon("check", "accent", size=15))
        self._done.start()
