"""A scrolling column of rows of which only those near the view have a widget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from turnleaf.services.rows import AnswerRow, InterruptedRow, QuestionRow, Row
from turnleaf.ui.theme import COLUMN_PX, Theme
from turnleaf.ui.transcript.row_widget import RowWidget

MARGIN_PX = 24
TOP_PX = 12
BOTTOM_PX = 28
KEPT_PAGES = 2.0
ROUNDS = 5


@dataclass(slots=True)
class _Slot:
    row: Row
    height: float
    widget: RowWidget | None = None
    exact: bool = False


class RowList(QAbstractScrollArea):
    """Lays rows out in one column, keeps the reader's place, and follows the end while the reader is there."""

    scrolled = Signal()
    """The part that is seen is another one."""

    def __init__(self, theme: Theme, make: Callable[[Row, QWidget], RowWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make = make
        self._slots: list[_Slot] = []
        self._tops: list[float] = []
        self._height = 0.0
        self._settling = False
        self._at_end = True
        self._seen_end = 0.0
        self._content = QWidget(self.viewport())
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        # Widgets that went out of sight are dropped when the reader rests, not while they scroll.
        self._tidy = QTimer(self)
        self._tidy.setSingleShot(True)
        self._tidy.setInterval(400)
        self._tidy.timeout.connect(self._drop_far)

    def rows(self) -> list[Row]:
        """Return the rows that are shown."""
        return [slot.row for slot in self._slots]

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show `rows` instead of what was shown, from their end."""
        for slot in self._slots:
            self._drop_widget(slot)
        estimate = self._estimator()
        self._slots = [_Slot(row, estimate(row)) for row in rows]
        self._retop(0)
        self._at_end = True
        self._settle(None)

    def insert(self, index: int, row: Row) -> None:
        """Show `row` before the row at `index`."""
        anchor = self._anchor()
        if anchor is not None and anchor[0] >= index:
            anchor = (anchor[0] + 1, anchor[1])
        self._slots.insert(index, _Slot(row, self._estimator()(row)))
        self._retop(index)
        self._settle(anchor)

    def update_row(self, index: int, row: Row) -> None:
        """Show another state of the row at `index`."""
        anchor = self._anchor()
        slot = self._slots[index]
        same_kind = type(slot.row) is type(row)
        slot.row = row
        if slot.widget is not None and same_kind:
            self._settling = True
            try:
                slot.widget.set_row(row)
            finally:
                self._settling = False
        else:
            self._drop_widget(slot)
            slot.height = self._estimator()(row)
            self._retop(index)
        slot.exact = False
        self._settle(anchor)

    def remove(self, index: int) -> None:
        """Show one row less."""
        anchor = self._anchor()
        slot = self._slots.pop(index)
        self._drop_widget(slot)
        if anchor is not None and anchor[0] > index:
            anchor = (anchor[0] - 1, anchor[1])
        self._retop(index)
        self._settle(anchor)

    def set_theme(self, theme: Theme) -> None:
        """Build the rows again in another look, at the same place."""
        self._theme = theme
        anchor = self._anchor()
        estimate = self._estimator()
        for slot in self._slots:
            self._drop_widget(slot)
            slot.height = estimate(slot.row)
        self._retop(0)
        self._settle(anchor)

    def column(self) -> tuple[int, int]:
        """Return the column's left edge and width in the viewport."""
        room = self.viewport().width()
        width = max(120, min(self._theme.px(COLUMN_PX), room - 2 * self._theme.px(MARGIN_PX)))
        return (room - width) // 2, width

    def unseen_px(self) -> float:
        """Return how much has come below the view since the reader left the end."""
        return 0.0 if self._at_end else max(0.0, self._height - self._seen_end)

    def scroll_to_end(self) -> None:
        """Go to the end and follow it."""
        self._at_end = True
        self._settle(None)

    def scroll_to_row(self, index: int) -> None:
        """Bring the row at `index` to the top of the view."""
        if 0 <= index < len(self._slots):
            self._at_end = False
            self._settle((index, 0.0))
            self._at_end = self._is_at_end()

    def first_row_in_view(self) -> int:
        """Return the row at the upper third of the view, where the eye is; -1 when there is none."""
        if not self._slots:
            return -1
        y = self.verticalScrollBar().value() + self.viewport().height() / 3
        if self._at_end and self._is_at_end():
            y = self._height
        return max(0, min(len(self._slots) - 1, bisect_right(self._tops, y) - 1))

    def widgets(self) -> list[RowWidget]:
        """Return the rows' widgets that exist now."""
        return [slot.widget for slot in self._slots if slot.widget is not None]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        anchor = self._anchor()
        estimate = self._estimator()
        for slot in self._slots:
            slot.exact = False
            if slot.widget is None and event.size().width() != event.oldSize().width():
                slot.height = estimate(slot.row)
        self._retop(0)
        self._settle(anchor)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        match event.key():
            case Qt.Key.Key_Home:
                bar.setValue(0)
            case Qt.Key.Key_End:
                self.scroll_to_end()
            case _:
                super().keyPressEvent(event)

    def _retop(self, index: int) -> None:
        del self._tops[index:]
        y = float(TOP_PX)
        if index:
            y = self._tops[index - 1] + self._slots[index - 1].height
        for slot in self._slots[index:]:
            self._tops.append(y)
            y += slot.height
        self._height = y + BOTTOM_PX

    def _anchor(self) -> tuple[int, float] | None:
        """Return the first visible row and how far the view has moved into it; `None` to stay at the end."""
        if self._at_end or not self._slots:
            return None
        y = float(self.verticalScrollBar().value())
        index = max(0, bisect_right(self._tops, y) - 1)
        return index, y - self._tops[index]

    def _settle(self, anchor: tuple[int, float] | None) -> None:
        """Give the rows in view their widgets and true heights while `anchor` stays where it is."""
        if self._settling:
            return
        self._settling = True
        try:
            for _ in range(ROUNDS):
                self._apply_range(anchor)
                if not self._lay_out_view():
                    break
            self._apply_range(anchor)
            self._place()
        finally:
            self._settling = False
        if self._at_end:
            self._seen_end = self._height
        self.scrolled.emit()

    def _apply_range(self, anchor: tuple[int, float] | None) -> None:
        bar = self.verticalScrollBar()
        page = self.viewport().height()
        bar.setRange(0, max(0, round(self._height - page)))
        bar.setPageStep(page)
        bar.setEnabled(bar.maximum() > 0)
        bar.setSingleStep(self._theme.px(48))
        if anchor is None:
            bar.setValue(bar.maximum())
        elif anchor[0] < len(self._tops):
            bar.setValue(round(self._tops[anchor[0]] + anchor[1]))

    def _lay_out_view(self) -> bool:
        """Lay out the rows in view; return whether a height turned out to be another one."""
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        _, width = self.column()
        changed = False
        index = max(0, bisect_right(self._tops, top) - 1)
        while index < len(self._slots) and self._tops[index] < bottom:
            slot = self._slots[index]
            if slot.widget is None:
                slot.widget = self._create(index)
                slot.exact = False
            before = slot.height
            if not slot.exact:
                slot.height = float(slot.widget.lay_out(width))
            if slot.widget.see(top - self._tops[index], bottom - self._tops[index]):
                slot.height = float(slot.widget.lay_out(width))
            slot.exact = True
            if abs(slot.height - before) > 0.5:
                changed = True
                self._retop(index + 1)
            index += 1
        return changed

    def _place(self) -> None:
        left, width = self.column()
        self._content.setGeometry(left, -self.verticalScrollBar().value(), width, max(1, round(self._height)))
        for index, slot in enumerate(self._slots):
            if slot.widget is not None:
                slot.widget.move(0, round(self._tops[index]))
                slot.widget.show()
        self._tidy.start()

    def _create(self, index: int) -> RowWidget:
        widget = self._make(self._slots[index].row, self._content)
        widget.height_changed.connect(self._on_row_height_changed)
        # Screen readers and the Tab key take rows in the order of the widgets, whenever each was made.
        below = next((slot.widget for slot in self._slots[index + 1 :] if slot.widget is not None), None)
        if below is not None:
            widget.stackUnder(below)
        return widget

    def _on_row_height_changed(self, widget: RowWidget) -> None:
        if self._settling:
            return
        for slot in self._slots:
            if slot.widget is widget:
                slot.exact = False
                self._settle(self._anchor())
                return

    def _on_scrolled(self, _value: int) -> None:
        if self._settling:
            return
        self._at_end = self._is_at_end()
        self._settle(self._anchor())

    def _is_at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def _drop_far(self) -> None:
        page = self.viewport().height()
        top = self.verticalScrollBar().value() - KEPT_PAGES * page
        bottom = top + (2 * KEPT_PAGES + 1) * page
        for index, slot in enumerate(self._slots):
            if slot.widget is None:
                continue
            far = self._tops[index] + slot.height < top or self._tops[index] > bottom
            if far and not slot.widget.selected_text() and not self._holds_focus(slot.widget):
                self._drop_widget(slot)
            else:
                slot.widget.measure_rest()

    def _holds_focus(self, widget: RowWidget) -> bool:
        focused = self.window().focusWidget()
        return focused is not None and (focused is widget or widget.isAncestorOf(focused))

    def _drop_widget(self, slot: _Slot) -> None:
        if slot.widget is not None:
            slot.widget.retire()
            slot.widget.hide()
            slot.widget.deleteLater()
            slot.widget = None
            slot.exact = False

    def _estimator(self) -> Callable[[Row], float]:
        """Return what tells a row's height roughly, for the theme and the width of now."""
        _, width = self.column()
        theme = self._theme
        line = theme.body_px * 1.55
        per_line = max(10.0, width / (theme.body_px * 0.5))
        low, chip, card = float(theme.px(40)), theme.px(58), theme.px(150)

        def estimate(row: Row) -> float:
            match row:
                case AnswerRow():
                    return line * (1 + len(row.text) / per_line + row.text.count("\n") * 0.6)
                case QuestionRow():
                    return low + line * (1 + len(row.text) / per_line) + len(row.attachments) * chip
                case InterruptedRow():
                    return card + line * (2 + (len(row.question) + len(row.partial)) / per_line)
                case _:
                    return low

        return estimate
