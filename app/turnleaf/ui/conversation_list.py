"""``conversationList``: every conversation of the profile, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QListView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from turnleaf.ui.icons import Icons
from turnleaf.ui.outline import draw_elided, paint_item_ground
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.conversations import ConversationListModel, ConversationRole

if TYPE_CHECKING:
    from turnleaf.services.library import ConversationSummary


class ConversationPanel(QWidget):
    """The list on the left, with *New conversation* above it."""

    opened = Signal(str)
    """The conversation with this id is to be opened."""
    trash_requested = Signal(str)
    new_requested = Signal()

    def __init__(self, model: ConversationListModel, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("conversationPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = model
        self._head = QLabel(tr("Conversations"), self)
        self._head.setProperty("look", "head")
        self._new = QToolButton(self)
        self._new.setObjectName("newConversation")
        self._new.setToolTip(tr("New conversation (Ctrl+T)"))
        self._new.setAccessibleName(tr("New conversation"))
        self._new.clicked.connect(self.new_requested)
        self._empty = QLabel(tr("Conversations are kept here by themselves, turn by turn."), self)
        self._empty.setWordWrap(True)
        self._empty.setProperty("look", "muted")
        self.list = self._make_list()
        row = QHBoxLayout()
        row.addWidget(self._head, 1)
        row.addWidget(self._new)
        self._column = QVBoxLayout(self)
        self._column.addLayout(row)
        self._column.addWidget(self._empty)
        self._column.addWidget(self.list, 1)
        model.modelReset.connect(self._on_count_changed)
        self.set_theme(theme, icons)
        self._on_count_changed()

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._column.setContentsMargins(theme.px(8), theme.px(8), theme.px(6), theme.px(8))
        for label in (self._head, self._empty):
            label.setContentsMargins(theme.px(8), 0, theme.px(8), 0)
        self._new.setIcon(icons.icon("plus", size=17))
        self._new.setIconSize(icons.size(17))
        self.list.setItemDelegate(ConversationDelegate(theme, self.list))
        self.list.viewport().update()

    def mark(self, session_id: str | None) -> None:
        """Mark the conversation of the tab in front."""
        for row, summary in enumerate(self._model.summaries):
            if summary.session_id == session_id:
                self.list.setCurrentIndex(self._model.index(row, 0))
                return
        self.list.clearSelection()
        self.list.setCurrentIndex(QModelIndex())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.list and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            summary = self._summary(self.list.currentIndex())
            if summary is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.opened.emit(summary.session_id)
                return True
            if summary is not None and event.key() == Qt.Key.Key_Delete:
                self.trash_requested.emit(summary.session_id)
                return True
        return super().eventFilter(watched, event)

    def _make_list(self) -> QListView:
        made = QListView(self)
        made.setObjectName("conversationList")
        made.setAccessibleName(tr("Conversations"))
        made.setModel(self._model)
        made.setMouseTracking(True)
        made.setUniformItemSizes(True)
        made.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        made.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        made.customContextMenuRequested.connect(self._on_menu)
        made.clicked.connect(self._on_clicked)
        made.installEventFilter(self)
        return made

    def _on_clicked(self, index: QModelIndex) -> None:
        summary = self._summary(index)
        if summary is not None:
            self.opened.emit(summary.session_id)

    def _on_menu(self, at: QPoint) -> None:
        summary = self._summary(self.list.indexAt(at))
        if summary is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        open_action = menu.addAction(tr("Open"))
        open_action.triggered.connect(lambda: self.opened.emit(summary.session_id))
        delete = menu.addAction(tr("Move to the trash"))
        delete.triggered.connect(lambda: self.trash_requested.emit(summary.session_id))
        menu.popup(self.list.viewport().mapToGlobal(at))

    def _summary(self, index: QModelIndex) -> ConversationSummary | None:
        return index.data(ConversationRole.SUMMARY) if index.isValid() else None

    def _on_count_changed(self) -> None:
        self._empty.setVisible(self._model.rowCount() == 0)


class ConversationDelegate(QStyledItemDelegate):
    """Paints a conversation: its title, and below it when and how much."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(10, self._theme.px(50))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        summary: ConversationSummary | None = index.data(ConversationRole.SUMMARY)
        if summary is None:
            return
        theme = self._theme
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        painter.save()
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_item_ground(painter, rect, theme, option.state)
            left, room = rect.left() + theme.px(8), rect.width() - theme.px(16)
            title = QRectF(left, rect.top() + theme.px(6), room, theme.px(19))
            draw_elided(painter, title, summary.title or tr("Untitled"), theme.text_font(13), theme, "text")
            below = QRectF(left, rect.top() + theme.px(26), room, theme.px(16))
            token = "danger" if summary.problem or summary.interrupted else "muted"
            draw_elided(painter, below, summary_line(summary), theme.text_font(11.5), theme, token)
        finally:
            painter.restore()


def summary_line(summary: ConversationSummary, now: datetime | None = None) -> str:
    """Return the second line of a conversation: ``Today 14:02 · 12 turns``."""
    if summary.problem:
        return tr("Cannot be read")
    turns = tr("1 turn") if summary.turns == 1 else tr("{n} turns").format(n=summary.turns)
    parts = [day_text(summary.updated_at, now), turns]
    if summary.interrupted:
        parts.append(tr("interrupted"))
    return " · ".join(parts)


def day_text(when: datetime, now: datetime | None = None) -> str:
    """Return a moment as people say it: ``14:02``, ``Yesterday``, ``3 Nov``, ``3 Nov 2025``."""
    try:
        local = when.astimezone()
    except (OverflowError, OSError, ValueError):
        return f"{when.day} {when:%b} {when.year}"  # Too far away to be told in the time of here.
    today = (now or datetime.now(local.tzinfo)).astimezone(local.tzinfo)
    days = (today.date() - local.date()).days
    if days <= 0:
        return f"{local:%H:%M}"
    if days == 1:
        return tr("Yesterday")
    return f"{local.day} {local:%b}" if local.year == today.year else f"{local.day} {local:%b %Y}"
