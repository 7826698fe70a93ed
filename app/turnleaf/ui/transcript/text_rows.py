"""The rows that are read: questions, answers, and what is folded away between them."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QToolButton, QWidget

from turnleaf.services.rows import AnswerRow, QuestionRow, ReasoningRow, Row, ToolRow
from turnleaf.ui.file_chip import FileChip
from turnleaf.ui.texts import duration_text, tr
from turnleaf.ui.transcript.flow_view import FlowView
from turnleaf.ui.transcript.row_widget import Kit, RowWidget
from turnleaf.viewmodels.markdown.incremental import IncrementalMarkdown
from turnleaf.viewmodels.markdown.items import LINE_BREAK, CodeBlock, Item, Paragraph, Text

PIECE = 3_000
"""Characters that are parsed at once on the GUI thread."""
LONGEST_PARAGRAPH = 4_000
QUESTION_SHARE = 0.85


def plain_items(text: str) -> list[Item]:
    """Return text that is shown as it was typed, in paragraphs short enough to be laid out at once."""
    pieces, start = [], 0
    while start < len(text):
        end = min(len(text), start + LONGEST_PARAGRAPH)
        if end < len(text):
            end = max(text.rfind("\n", start, end), text.rfind(" ", start, end), start + 1) + 1
        pieces.append(text[start:end].strip("\n"))
        start = end
    return [Paragraph(Text(piece.replace("\n", LINE_BREAK))) for piece in pieces if piece]


class QuestionWidget(RowWidget):
    """A question as a soft block on the right, its files above it."""

    def __init__(self, row: QuestionRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self._flow = self._add_flow()
        self._chips: list[FileChip] = []
        self._bubble = QRectF()
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, QuestionRow)
        for chip in self._chips:
            chip.deleteLater()
        self._chips = [FileChip(info, self._kit.theme, self._kit.icons, self) for info in row.attachments]
        for chip in self._chips:
            chip.show()
        self._flow.set_items(plain_items(row.text))
        self.setAccessibleName(tr("Question {number}").format(number=row.turn))
        self.setAccessibleDescription(row.text)

    def lay_out(self, width: int) -> int:
        theme = self._kit.theme
        pad_x, pad_y = theme.px(16), theme.px(10)
        widest = int(width * QUESTION_SHARE) - 2 * pad_x
        self._flow.set_width(widest)
        inner = min(widest, int(self._flow.natural_width()) + 2)
        y = theme.px(6)
        for chip in self._chips:
            chip.set_widest(int(width * QUESTION_SHARE))
            chip.move(width - chip.width(), y)
            y += chip.height() + theme.px(6)
        height = int(self._flow.flow_height() + 0.99)
        if self._flow.items:
            self._bubble = QRectF(width - inner - 2 * pad_x, y, inner + 2 * pad_x, height + 2 * pad_y)
            self._flow.setGeometry(width - inner - pad_x, y + pad_y, inner + 2, height + 2)
            y += height + 2 * pad_y
        self._flow.setVisible(bool(self._flow.items))
        self.resize(width, y + theme.px(22))
        return self.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if not self._flow.items:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._kit.theme.colour("bubble"))
        radius = self._kit.theme.px(16)
        painter.drawRoundedRect(self._bubble, radius, radius)
        painter.end()


class MarkdownFlow:
    """Feeds a growing text to a flow: what is new only, long pieces in slices."""

    def __init__(self, flow: FlowView, kit: Kit) -> None:
        self._flow = flow
        self._kit = kit
        self._markdown = IncrementalMarkdown()
        self._text = ""
        self._final = False
        self._pending = ""
        self._feeding = False

    def set_text(self, text: str, *, final: bool) -> None:
        """Show `text`; a text that goes on from the one before costs only its new part."""
        if not text.startswith(self._text):
            self._markdown = IncrementalMarkdown()
            self._text = ""
            self._pending = ""
        self._pending += text[len(self._text) :]
        self._text = text
        self._final = final
        if self._feeding:
            return
        if len(self._pending) <= PIECE:
            self._feed_piece()
        else:
            self._feeding = True
            self._feed_piece()
            self._kit.slices.start(self._feed_all())

    def _feed_all(self) -> Iterator[object]:
        while self._pending and not self._flow.retired:
            self._feed_piece()
            yield None
        self._feeding = False

    def _feed_piece(self) -> None:
        piece, self._pending = self._pending[:PIECE], self._pending[PIECE:]
        self._markdown.feed(piece)
        changed = self._markdown.update()
        self._flow.set_items(self._markdown.items, changed or 0, growing=True)
        if self._final and not self._pending:
            first = self._markdown.update(final=True)
            self._flow.set_items(self._markdown.items, first or 0)


class AnswerWidget(RowWidget):
    """An answer, flat on the page."""

    def __init__(self, row: AnswerRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self._flow = self._add_flow()
        self._markdown = MarkdownFlow(self._flow, kit)
        self._flow.height_changed.connect(lambda _height: self.height_changed.emit(self))
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, AnswerRow)
        self._row = row
        self._markdown.set_text(row.text, final=not row.streaming)
        self.setAccessibleName(tr("Answer {number}").format(number=row.turn))
        if not row.streaming:
            self.setAccessibleDescription(row.text)

    def lay_out(self, width: int) -> int:
        self._flow.set_width(width)
        height = int(self._flow.flow_height() + 0.99)
        self._flow.setGeometry(0, 0, width, height + 2)
        self.resize(width, height + self._kit.theme.px(4))
        return self.height()

    def see(self, top: float, bottom: float) -> bool:
        return self._flow.see(top, bottom)


class FoldedWidget(RowWidget):
    """One line that opens to more: the model's reasoning, or a tool call with its result."""

    def __init__(self, row: ReasoningRow | ToolRow, kit: Kit, parent: QWidget) -> None:
        super().__init__(kit, parent)
        self._flow = self._add_flow()
        self._markdown = MarkdownFlow(self._flow, kit)
        self._flow.height_changed.connect(lambda _height: self.height_changed.emit(self))
        self._open = False
        self._toggle = QToolButton(self)
        self._toggle.setObjectName("foldToggle")
        self._toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._toggle.setIconSize(kit.icons.size(14))
        self._toggle.clicked.connect(self._on_toggled)
        self.set_row(row)

    def set_row(self, row: Row) -> None:
        assert isinstance(row, ReasoningRow | ToolRow)
        self._row = row
        text = _fold_title(row)
        self._toggle.setText(text)
        self._toggle.setAccessibleName(text)
        self._toggle.setToolTip(tr("Fold away") if self._open else tr("Show"))
        self._toggle.setIcon(self._kit.icons.icon("chevron-down" if self._open else "chevron-right", size=14))
        if self._open:
            self._fill()

    def lay_out(self, width: int) -> int:
        theme = self._kit.theme
        self._toggle.adjustSize()
        self._toggle.move(-theme.px(4), theme.px(2))
        height = self._toggle.height() + theme.px(6)
        self._flow.setVisible(self._open)
        if self._open:
            inset = theme.px(18)
            self._flow.set_width(width - inset)
            flow = int(self._flow.flow_height() + 0.99)
            self._flow.setGeometry(inset, height, width - inset, flow + 2)
            height += flow + theme.px(12)
        self.resize(width, height)
        return height

    def see(self, top: float, bottom: float) -> bool:
        return self._open and self._flow.see(top - self._flow.y(), bottom - self._flow.y())

    def _on_toggled(self) -> None:
        self._open = not self._open
        self.set_row(self._row)
        self.height_changed.emit(self)

    def _fill(self) -> None:
        if isinstance(self._row, ReasoningRow):
            self._markdown.set_text(self._row.text, final=self._row.seconds is not None)
            return
        items: list[Item] = [CodeBlock("json", self._row.arguments)]
        if self._row.result is not None:
            items += [CodeBlock("", self._row.result)]
        self._flow.set_items(items)


def _fold_title(row: ReasoningRow | ToolRow) -> str:
    seconds = f" · {duration_text(row.seconds)}" if row.seconds is not None else ""
    if isinstance(row, ReasoningRow):
        return (tr("Thought") if row.seconds is not None else tr("Thinking…")) + seconds
    failed = f" · {tr('failed')}" if row.is_error else ""
    return f"{tr('Used')} {row.name}{seconds}{failed}" if row.result is not None else f"{tr('Using')} {row.name}…"
