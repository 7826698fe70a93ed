"""The card of a turn that has no answer: what was asked, what had arrived, why it ended, and what can be done."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from turnleaf.services.rows import InterruptedRow, Row
from turnleaf.ui.file_chip import FileChip
from turnleaf.ui.texts import interrupted_title, not_part_text, tr
from turnleaf.ui.transcript.row_widget import Kit, RowAction, RowActionKind, RowWidget
from turnleaf.ui.transcript.text_rows import MarkdownFlow, plain_items
from turnleaf.viewmodels.markdown.display import close_open_markup


class InterruptedWidget(RowWidget):
    """``interruptedCard``: nothing of the turn is lost, and *Send again* is one press away."""

    def __init__(self, row: InterruptedRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self.setObjectName("interruptedCard")
        self._row = row
        self._question = self._add_flow()
        self._partial = self._add_flow()
        self._markdown = MarkdownFlow(self._partial, kit)
        self._partial.height_changed.connect(lambda _height: self.height_changed.emit(self))
        self._chips: list[FileChip] = []
        self._head = self._make_head()
        self._foot = self._make_foot()
        self._details = self._make_details()
        self._bar = QRectF()
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, InterruptedRow)
        self._row = row
        self._title.setText(interrupted_title(row))
        tools = tr("Already run: {tools}").format(tools=", ".join(tool.name for tool in row.tools)) if row.tools else ""
        self._reason.setText("\n".join(line for line in (row.reason, tools) if line))
        self._reason.setVisible(bool(self._reason.text()))
        self._note.setText(not_part_text(row))
        self._details.setText(row.details)
        self._details_toggle.setVisible(bool(row.details))
        for chip in self._chips:
            chip.deleteLater()
        self._chips = [FileChip(info, self._kit.theme, self._kit.icons, self) for info in row.attachments]
        for chip in self._chips:
            chip.show()
        self._question.set_items(plain_items(row.question))
        self._markdown.set_text(close_open_markup(row.partial), final=True)
        self.setAccessibleName(interrupted_title(row))
        self.setAccessibleDescription(
            "\n".join(part for part in (row.reason, not_part_text(row), row.question, row.partial) if part)
        )

    def lay_out(self, width: int) -> int:
        theme = self._kit.theme
        pad = theme.px(16)
        inner = width - 2 * pad
        y = theme.px(6) + pad
        y = self._place(self._head, pad, y, inner) + theme.px(8)
        for chip in self._chips:
            chip.set_widest(inner)
            chip.move(pad, y)
            y += chip.height() + theme.px(6)
        for flow in (self._question, self._partial):
            flow.setVisible(bool(flow.items))
            if flow.items:
                inset = theme.px(14) if flow is self._partial else 0
                flow.set_width(inner - inset)
                height = int(flow.flow_height() + 0.99)
                flow.setGeometry(pad + inset, y, inner - inset, height + 2)
                y += height + theme.px(12)
        self._bar = QRectF(pad, self._partial.y(), 3, self._partial.height() - 2) if self._partial.items else QRectF()
        if self._details.isVisibleTo(self):
            y = self._place(self._details, pad, y, inner) + theme.px(8)
        y = self._place(self._foot, pad, y, inner)
        self.resize(width, y + pad + theme.px(10))
        return self.height()

    def see(self, top: float, bottom: float) -> bool:
        changed = [flow.see(top - flow.y(), bottom - flow.y()) for flow in (self._question, self._partial)]
        return any(changed)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._kit.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        failed = self._row.cause == "failed"
        edge = QColor(theme.colour("danger" if failed else "line_strong"))
        edge.setAlphaF(0.45 if failed else 1.0)
        painter.setPen(QPen(edge, 1))
        painter.setBrush(theme.colour("danger_soft" if failed else "card"))
        frame = QRectF(0, theme.px(6), self.width(), self.height() - theme.px(16)).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(frame, 12, 12)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("quote"))
        painter.drawRect(self._bar)
        painter.end()

    def _place(self, widget: QWidget, x: int, y: int, width: int) -> int:
        layout = widget.layout()
        wrapped = layout is not None and layout.hasHeightForWidth()
        if isinstance(widget, QLabel):
            height = widget.heightForWidth(width)
        elif wrapped and layout is not None:
            height = layout.heightForWidth(width)
        else:
            height = widget.sizeHint().height()
        widget.setGeometry(x, y, width, height)
        return y + height

    def _make_head(self) -> QWidget:
        theme = self._kit.theme
        head = QWidget(self)
        column = QVBoxLayout(head)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(2))
        self._title = QLabel(head)
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setFont(theme.text_font(14, weight=QFont.Weight.DemiBold))
        self._reason = QLabel(head)
        self._reason.setTextFormat(Qt.TextFormat.PlainText)
        self._reason.setWordWrap(True)
        self._reason.setFont(theme.text_font(14))
        column.addWidget(self._title)
        column.addWidget(self._reason)
        self._note = note = QLabel(head)
        note.setObjectName("interruptedNote")
        note.setTextFormat(Qt.TextFormat.PlainText)
        note.setWordWrap(True)
        note.setProperty("look", "muted")
        note.setFont(theme.text_font(12.5))
        column.addWidget(note)
        return head

    def _make_details(self) -> QLabel:
        details = QLabel(self)
        details.setObjectName("interruptedDetails")
        details.setTextFormat(Qt.TextFormat.PlainText)
        details.setWordWrap(True)
        details.setFont(self._kit.theme.code_font())
        details.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        details.hide()
        return details

    def _make_foot(self) -> QWidget:
        foot = QWidget(self)
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self._kit.theme.px(8))
        row.addWidget(self._button("sendAgain", tr("Send again"), tr("Ask the same question again"), "send_again"))
        row.addWidget(self._button("editInterrupted", tr("Edit"), tr("Put the question back to the composer"), "edit"))
        row.addWidget(self._button("discardInterrupted", tr("Discard"), tr("Remove this turn for good"), "discard"))
        row.addStretch(1)
        self._details_toggle = QToolButton(foot)
        self._details_toggle.setObjectName("detailsToggle")
        self._details_toggle.setText(tr("Details"))
        self._details_toggle.setAccessibleName(tr("Details of what went wrong"))
        self._details_toggle.setToolTip(tr("Show the error's own words"))
        self._details_toggle.clicked.connect(self._on_details_toggled)
        copy = QToolButton(foot)
        copy.setObjectName("copyDetails")
        copy.setText(tr("Copy"))
        copy.setAccessibleName(tr("Copy the details"))
        copy.setToolTip(tr("Copy the details"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(f"{self._row.reason}\n{self._row.details}"))
        copy.hide()
        self._copy_details = copy
        row.addWidget(copy)
        row.addWidget(self._details_toggle)
        return foot

    def _button(self, name: str, text: str, tip: str, kind: RowActionKind) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setAccessibleName(text)
        button.setToolTip(tip)
        button.setProperty("look", "primary" if kind == "send_again" else "plain")
        button.clicked.connect(lambda: self.action_requested.emit(RowAction(kind, self._row.turn)))
        return button

    def _on_details_toggled(self) -> None:
        shown = not self._details.isVisibleTo(self)
        self._details.setVisible(shown)
        self._copy_details.setVisible(shown)
        self.height_changed.emit(self)
