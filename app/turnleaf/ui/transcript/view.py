"""The transcript's door: rows in, the reader's wishes out. Nothing else of this package is used from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from turnleaf.bridge.slices import Slices
from turnleaf.services.rows import (
    AnswerRow,
    DividerRow,
    InterruptedRow,
    MetaRow,
    QuestionRow,
    ReasoningRow,
    Row,
    StatusRow,
    ToolRow,
)
from turnleaf.ui.icons import Icons
from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.flow_view import FlowView
from turnleaf.ui.transcript.interrupted_row import InterruptedWidget
from turnleaf.ui.transcript.row_list import RowList
from turnleaf.ui.transcript.row_widget import Kit, RowWidget
from turnleaf.ui.transcript.text_rows import AnswerWidget, FoldedWidget, QuestionWidget
from turnleaf.ui.transcript.turn_rows import DividerWidget, MetaWidget, StatusWidget

if TYPE_CHECKING:
    from turnleaf.services.row_list import RowChange


class TranscriptView(QWidget):
    """Shows the rows of one conversation; ``reset``, ``apply``, ``show_turn`` and the signals are its seam."""

    link_clicked = Signal(str)
    """The reader pressed a link; nothing was opened."""
    action_requested = Signal(object)
    """A ``RowAction``: a button of an interrupted turn was pressed."""
    turn_in_view_changed = Signal(int)
    """The turn that is read now."""

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slices = Slices(self)
        self._kit = Kit(theme, icons, self._slices)
        self._turn = 0
        self._list = RowList(theme, self._make_row, self)
        self._list.setObjectName("transcript")
        self._list.setAccessibleName(self.tr("Conversation"))
        self._list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._list.scrolled.connect(self._on_scrolled)
        self._list.installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._list)
        self._pill = QPushButton(self.tr("New below"), self._list)
        self._pill.setObjectName("newBelow")
        self._pill.setProperty("look", "pill")
        self._pill.setAccessibleName(self.tr("Go to the newest text"))
        self._pill.setToolTip(self.tr("Go to the newest text"))
        self._pill.setCursor(Qt.CursorShape.PointingHandCursor)
        self._pill.clicked.connect(self._list.scroll_to_end)
        self._pill.hide()
        self._dress_pill()

    def reset(self, rows: Sequence[Row]) -> None:
        """Show these rows, from their end."""
        self._slices.clear()
        self._list.set_rows(rows)

    def apply(self, changes: Sequence[RowChange]) -> None:
        """Apply changes in order."""
        for change in changes:
            match change.kind:
                case "insert":
                    self._list.insert(change.index, change.row)
                case "update":
                    self._list.update_row(change.index, change.row)
                case "remove":
                    self._list.remove(change.index)

    def rows(self) -> list[Row]:
        """Return the rows that are shown."""
        return self._list.rows()

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Show everything in another look, at the same place."""
        self._slices.clear()
        self._kit = Kit(theme, icons, self._slices)
        self._list.set_theme(theme)
        self._dress_pill()

    def show_turn(self, turn: int) -> None:
        """Bring turn `turn` to the top of the view."""
        for index, row in enumerate(self._list.rows()):
            if row.turn == turn:
                self._list.scroll_to_row(index)
                self._set_turn(turn)
                return

    def show_neighbour(self, step: int) -> None:
        """Go to the next turn (`step` 1) or the previous one (-1)."""
        turns = sorted({row.turn for row in self._list.rows()})
        if not turns:
            return
        at = turns.index(self._turn) if self._turn in turns else len(turns) - 1
        if step > 0 and at == len(turns) - 1:
            self._list.scroll_to_end()
        else:
            self.show_turn(turns[max(0, min(len(turns) - 1, at + step))])

    def show_end(self) -> None:
        """Go to the end and follow what comes."""
        self._list.scroll_to_end()

    def turn_in_view(self) -> int:
        """Return the turn that is read now, 0 when there is none."""
        return self._turn

    def selected_text(self) -> str:
        """Return what the reader has selected."""
        return next((text for widget in self._list.widgets() if (text := widget.selected_text())), "")

    def last_answer(self) -> str:
        """Return the newest answer, as it was written."""
        return next((row.text for row in reversed(self._list.rows()) if isinstance(row, AnswerRow)), "")

    def bar_width(self) -> int:
        """Return the room that the scroll bar takes beside the column."""
        return self._list.width() - self._list.viewport().width()

    def is_busy(self) -> bool:
        """Whether text is still being laid out, for tests."""
        return self._slices.busy

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._list and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.matches(QKeySequence.StandardKey.Copy):
                self._copy()
                return True
        elif watched is self._list and event.type() == QEvent.Type.Resize:
            self._place_pill()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_pill()

    def _make_row(self, row: Row, parent: QWidget) -> RowWidget:
        widget = self._widget_for(row, parent)
        widget.link_clicked.connect(self.link_clicked)
        widget.action_requested.connect(self.action_requested)
        widget.selection_started.connect(self._on_selection_started)
        return widget

    def _widget_for(self, row: Row, parent: QWidget) -> RowWidget:
        match row:
            case DividerRow():
                return DividerWidget(row, self._kit, parent)
            case QuestionRow():
                return QuestionWidget(row, self._kit, parent)
            case AnswerRow():
                return AnswerWidget(row, self._kit, parent)
            case ReasoningRow() | ToolRow():
                return FoldedWidget(row, self._kit, parent)
            case StatusRow():
                return StatusWidget(row, self._kit, parent, with_files=self._has_files(row.turn))
            case MetaRow():
                meta = MetaWidget(row, self._kit, parent)
                meta.copy_requested.connect(self._copy_answer)
                return meta
            case InterruptedRow():
                return InterruptedWidget(row, self._kit, parent)

    def _has_files(self, turn: int) -> bool:
        rows = self._list.rows()
        return any(row.turn == turn and bool(row.attachments) for row in rows if isinstance(row, QuestionRow))

    def _copy(self) -> None:
        text = self.selected_text()
        if text:
            QGuiApplication.clipboard().setText(text)
        else:
            self._copy_answer(self._turn)

    def _copy_answer(self, turn: int) -> None:
        parts = [row.text for row in self._list.rows() if isinstance(row, AnswerRow) and row.turn == turn]
        if parts:
            QGuiApplication.clipboard().setText("\n\n".join(parts))

    def _on_selection_started(self, flow: FlowView) -> None:
        for widget in self._list.widgets():
            widget.clear_selection(keep=flow)

    def _on_scrolled(self) -> None:
        index = self._list.first_row_in_view()
        rows = self._list.rows()
        self._set_turn(rows[index].turn if 0 <= index < len(rows) else 0)
        shown = self._list.unseen_px() > 8
        if shown != self._pill.isVisible():
            self._pill.setVisible(shown)
            self._place_pill()

    def _set_turn(self, turn: int) -> None:
        if turn != self._turn:
            self._turn = turn
            self.turn_in_view_changed.emit(turn)

    def _dress_pill(self) -> None:
        self._pill.setIcon(self._kit.icons.icon("arrow-down", "accent", size=15))
        self._pill.setIconSize(self._kit.icons.size(15))
        self._place_pill()

    def _place_pill(self) -> None:
        self._pill.adjustSize()
        room = self._list.viewport()
        self._pill.move((room.width() - self._pill.width()) // 2, room.height() - self._pill.height() - 12)
        self._pill.raise_()
