"""``outline``: one row a turn; click or Enter goes there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import money_text, short_count, tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.outline import OutlineEntry, OutlineModel, OutlineRole


class OutlinePanel(QWidget):
    """The outline of the tab in front."""

    turn_chosen = Signal(int)
    """The reader wants to go to this turn."""

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("outlinePanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = OutlineModel(self)
        self._head = QLabel(tr("Turns"), self)
        self._head.setProperty("look", "head")
        self._empty = QLabel(tr("Each question and its answer make a turn. They will be listed here."), self)
        self._empty.setWordWrap(True)
        self._empty.setProperty("look", "muted")
        self.list = QListView(self)
        self.list.setObjectName("outline")
        self.list.setAccessibleName(tr("Turns of this conversation"))
        self.list.setToolTip("")
        self.list.setModel(self.model)
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.installEventFilter(self)
        self.list.clicked.connect(self._choose)
        self.model.rowsInserted.connect(self._on_count_changed)
        self.model.rowsRemoved.connect(self._on_count_changed)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._head)
        self._column.addWidget(self._empty)
        self._column.addWidget(self.list, 1)
        self.set_theme(theme, icons)
        self._on_count_changed()

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._column.setContentsMargins(theme.px(8), theme.px(12), theme.px(6), theme.px(8))
        for label in (self._head, self._empty):
            label.setContentsMargins(theme.px(8), 0, theme.px(8), theme.px(4))
        self.list.setItemDelegate(OutlineDelegate(theme, icons, self.list))
        self.list.viewport().update()

    def show_entries(self, entries: tuple[OutlineEntry, ...]) -> None:
        """Show the turns of a conversation."""
        self.model.show(entries)

    def mark_turn(self, turn: int) -> None:
        """Mark the turn that is read now."""
        row = self.model.row_of_turn(turn)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row, 0))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            watched is self.list
            and event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        ):
            self._choose(self.list.currentIndex())
            return True
        return super().eventFilter(watched, event)

    def _choose(self, index: QModelIndex) -> None:
        entry = index.data(OutlineRole.ENTRY)
        if isinstance(entry, OutlineEntry):
            self.turn_chosen.emit(entry.turn)

    def _on_count_changed(self) -> None:
        empty = self.model.rowCount() == 0
        self._empty.setVisible(empty)


class OutlineDelegate(QStyledItemDelegate):
    """Paints a turn: number, first words, and below them who answered with how many tokens."""

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._icons = theme, icons

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(10, self._theme.px(52))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        entry = index.data(OutlineRole.ENTRY)
        if not isinstance(entry, OutlineEntry):
            return
        theme = self._theme
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        state = option.state
        painter.save()
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_item_ground(painter, rect, theme, state)
            left = rect.left() + theme.px(8)
            painter.setFont(theme.text_font(12))
            painter.setPen(theme.colour("muted"))
            number = QRectF(left, rect.top() + theme.px(7), theme.px(24), theme.px(18))
            painter.drawText(number, int(Qt.AlignmentFlag.AlignVCenter), str(entry.turn))
            self._paint_dot(painter, entry, left, rect.top() + theme.px(36))
            text_left = left + theme.px(26)
            room = rect.right() - theme.px(8) - text_left
            clip = theme.px(20) if entry.files else 0
            words = QRectF(text_left, rect.top() + theme.px(6), room - clip, theme.px(20))
            draw_elided(painter, words, entry.question or tr("(no text)"), theme.text_font(13), theme, "text")
            if entry.files:
                painter.drawPixmap(round(rect.right() - theme.px(22)), round(rect.top() + theme.px(8)), self._clip())
            below = QRectF(text_left, rect.top() + theme.px(27), room, theme.px(17))
            token = "danger" if entry.state == "interrupted" else "accent" if entry.state == "running" else "muted"
            model, figures = entry_line(entry)
            font = theme.text_font(11.5)
            taken = QFontMetricsF(font).horizontalAdvance(figures)
            shown = QFontMetricsF(font).elidedText(model, Qt.TextElideMode.ElideRight, max(0.0, below.width() - taken))
            draw_elided(painter, below, shown + figures, font, theme, token)
        finally:
            painter.restore()

    def _paint_dot(self, painter: QPainter, entry: OutlineEntry, left: float, middle: float) -> None:
        theme = self._theme
        token = {"running": "accent", "interrupted": "danger"}.get(entry.state, "line_strong")
        side = theme.px(6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(token))
        painter.drawEllipse(QRectF(left + 1, middle - side / 2, side, side))

    def _clip(self) -> QPixmap:
        return self._icons.pixmap("attach", "muted", size=14)


def entry_line(entry: OutlineEntry) -> tuple[str, str]:
    """Return the second line of an entry: ``Local demo model`` and `` · 2.7k tok``; the first gives way for room."""
    if entry.state == "running":
        return tr("Answering…"), ""
    if entry.state == "interrupted":
        return tr("Interrupted"), ""
    parts = [""] if entry.model else []
    if entry.tokens:
        parts.append(tr("{n} tok").format(n=short_count(entry.tokens)))
    if entry.cost > 0:
        parts.append(money_text(entry.cost))
    return entry.model, " · ".join(parts)


def paint_item_ground(painter: QPainter, rect: QRectF, theme: Theme, state: QStyle.StateFlag) -> None:
    """Paint what lies under a list item: chosen, focused or hovered."""
    painter.setPen(Qt.PenStyle.NoPen)
    if state & QStyle.StateFlag.State_Selected:
        painter.setBrush(theme.colour("pressed"))
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.colour("focus"))
    elif state & QStyle.StateFlag.State_MouseOver:
        painter.setBrush(theme.colour("hover"))
    else:
        return
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)


def draw_elided(painter: QPainter, rect: QRectF, text: str, font: QFont, theme: Theme, token: str) -> None:
    """Draw `text` on one line, cut with an ellipsis where the room ends."""
    painter.setFont(font)
    painter.setPen(theme.colour(token))
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(0, int(rect.width())))
    painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), shown)
