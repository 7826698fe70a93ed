"""``mainWindow``: the frame around tabs, list and outline, and which of them shows what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QMoveEvent,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMainWindow, QMenu, QToolButton, QVBoxLayout, QWidget

from turnleaf.services.notices import Notice
from turnleaf.ui.actions import Actions
from turnleaf.ui.chat_page import ChatPage
from turnleaf.ui.conversation_list import ConversationPanel
from turnleaf.ui.dialogs import confirm_link
from turnleaf.ui.drop import DropOverlay
from turnleaf.ui.look import Look
from turnleaf.ui.menus import fill_main_menu
from turnleaf.ui.outline import OutlinePanel
from turnleaf.ui.panes import Panes, Side
from turnleaf.ui.place import fitted, room_for
from turnleaf.ui.status_bar import StatusBar
from turnleaf.ui.tabs import TabStrip
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.chat import ChatViewModel
from turnleaf.viewmodels.conversations import ConversationsViewModel
from turnleaf.viewmodels.workspace import WorkspaceViewModel

SMALLEST = (420, 360)
FIRST_SIZE = (1320, 880)


class MainWindow(QMainWindow):
    """The one window."""

    close_requested = Signal()
    """The user wants to end the app; the window stays until everything is written down."""
    page_added = Signal(object)
    """A tab's ``ChatPage`` is there."""
    geometry_changed = Signal()
    """The window or its columns have another place or size."""
    notice_action = Signal(str)
    """A button of a notice bar (its action id)."""
    zoom_requested = Signal(int)
    first_painted = Signal()
    """The window can be seen for the first time."""

    def __init__(self, workspace: WorkspaceViewModel, conversations: ConversationsViewModel, look: Look) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle(tr("Turnleaf"))
        self.setMinimumSize(*SMALLEST)
        self.resize(*FIRST_SIZE)
        self.setAcceptDrops(True)
        self.look = look
        self._workspace = workspace
        self._conversations = conversations
        self._pages: dict[ChatViewModel, ChatPage] = {}
        self._closing = False
        self._painted = False
        self.actions_by_name = Actions(self)
        self._build()
        self._connect()
        # The first page that is added comes to the front by itself; which one belongs there is known already.
        in_front = workspace.active
        for chat in workspace.tabs:
            self._on_tab_opened(chat)
        if in_front is not None:
            workspace.activate(in_front)
            self._on_tab_activated(in_front)

    @property
    def page(self) -> ChatPage | None:
        """The page in front."""
        page = self.tabs.currentWidget()
        return page if isinstance(page, ChatPage) else None

    def page_of(self, chat: ChatViewModel) -> ChatPage | None:
        """Return the page of a tab."""
        return self._pages.get(chat)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice that belongs to no tab: in the page in front."""
        if self.page is not None:
            self.page.notices.show_notice(notice)

    def focus_page(self) -> None:
        """Give the keyboard to the composer in front."""
        if self.page is not None:
            self.page.focus_composer()

    def toggle_side(self, side: Side) -> None:
        """Show or hide a column; what is typed goes to the composer afterwards as before."""
        self.panes.toggle(side)
        self.focus_page()

    def restore_place(self, geometry: bytes, panes: bytes) -> None:
        """Put the window where it was, as far as the screens of today allow."""
        if geometry:
            self.restoreGeometry(QByteArray(geometry))
        self._fit_to_screens()
        if panes:
            self.panes.restore(panes)

    def place(self) -> tuple[bytes, bytes]:
        """Return where the window is and how its columns stand, to be remembered."""
        return bytes(self.saveGeometry().data()), self.panes.state()

    def allow_close(self) -> None:
        """Let the next close go through: everything is written down."""
        self._closing = True

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closing:
            event.accept()
            return
        event.ignore()
        self.close_requested.emit()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowUnblocked:
            # A dialog has gone; Qt hands the keyboard to whatever opened it, which may be a button or nothing.
            QTimer.singleShot(0, self, self.focus_page)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._remember.start()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._remember.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # The children paint in the same pass, after this; the signal comes when all of it is on screen.
            QTimer.singleShot(0, self.first_painted.emit)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.overlay.begin(event)

    def dropEvent(self, event: QDropEvent) -> None:
        # Let go before the overlay had seen the pointer.
        self.overlay.dropEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.panes.close_floating()
            self.focus_page()
            return
        super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom_requested.emit(1 if event.angleDelta().y() > 0 else -1)
            event.accept()
            return
        super().wheelEvent(event)

    def _build(self) -> None:
        theme, icons = self.look.theme, self.look.icons
        root = QWidget(self)
        self.tabs = TabStrip(theme, icons, root)
        self.conversations = ConversationPanel(self._conversations.model, theme, icons, root)
        self.outline = OutlinePanel(theme, icons, root)
        self.panes = Panes(self.conversations, self.tabs, self.outline, theme, root)
        self.status = StatusBar(theme, root)
        column = QVBoxLayout(root)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.panes, 1)
        column.addWidget(self.status)
        self.setCentralWidget(root)
        self.overlay = DropOverlay(theme, root)
        self._remember = QTimer(self)
        self._remember.setSingleShot(True)
        self._remember.setInterval(400)
        self._build_corners()

    def _build_corners(self) -> None:
        left, right = Qt.Corner.TopLeftCorner, Qt.Corner.TopRightCorner
        actions = self.actions_by_name
        for corner, name, icon, action in (
            (left, "listButton", "panel-left", "toggleList"),
            (right, "newTabButton", "plus", "newTab"),
            (right, "outlineButton", "panel-right", "toggleOutline"),
        ):
            key = actions[action].shortcut().toString()
            button = self.tabs.add_corner_button(corner, name, icon, f"{actions[action].toolTip()} ({key})")
            button.clicked.connect(actions[action].trigger)
        menu_button = self.tabs.add_corner_button(right, "mainMenuButton", "more", tr("Menu"))
        menu = QMenu(self)
        menu.setObjectName("mainMenu")
        fill_main_menu(menu, actions)
        menu_button.setMenu(menu)
        menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def _connect(self) -> None:
        workspace = self._workspace
        workspace.tab_opened.connect(self._on_tab_opened)
        workspace.tab_closed.connect(self._on_tab_closed)
        workspace.tab_activated.connect(self._on_tab_activated)
        workspace.notice_raised.connect(self.show_notice)
        self._conversations.refreshed.connect(self._on_list_refreshed)
        self._conversations.failed.connect(self.show_notice)
        self._conversations.trashed.connect(workspace.close_session)
        self.tabs.currentChanged.connect(self._on_current_changed)
        self.tabs.moved.connect(workspace.move)
        self.tabs.close_requested.connect(lambda page: workspace.close_tab(page.chat))
        self.conversations.opened.connect(self._on_conversation_chosen)
        self.conversations.trash_requested.connect(self._conversations.trash)
        self.conversations.new_requested.connect(self.actions_by_name["newTab"].trigger)
        self.outline.turn_chosen.connect(self._on_turn_chosen)
        self.overlay.files_dropped.connect(self._on_files_dropped)
        self.overlay.conversations_dropped.connect(workspace.open_files)
        self.overlay.text_dropped.connect(self._on_text_dropped)
        self.panes.sides_changed.connect(self._on_sides_changed)
        self._remember.timeout.connect(self.geometry_changed)
        self.look.changed.connect(self._on_look_changed)

    # Tabs.

    def _on_tab_opened(self, chat: ChatViewModel) -> None:
        page = ChatPage(chat, self.look.theme, self.look.icons, self.tabs)
        self._pages[chat] = page
        self.tabs.add_page(page, chat.title)
        chat.title_changed.connect(lambda _title: self._show_title(chat))
        chat.phase_changed.connect(lambda phase: self._show_running(chat, phase))
        chat.save_changed.connect(lambda _state: self._show_status(chat))
        chat.usage_changed.connect(lambda _usage: self._show_status(chat))
        chat.history_changed.connect(self._conversations.refresh)
        chat.rows_reset.connect(lambda _rows: self._mark_in_list())
        page.link_clicked.connect(lambda address: confirm_link(self, address))
        page.outline_changed.connect(lambda entries: self._show_outline(page, entries))
        page.turn_in_view_changed.connect(lambda turn: self._mark_turn(page, turn))
        page.notice_action.connect(self.notice_action)
        page.continue_requested.connect(self._workspace.open_session)
        self._offer_continue(page)
        self.page_added.emit(page)

    def _on_tab_closed(self, chat: ChatViewModel) -> None:
        page = self._pages.pop(chat, None)
        if page is not None:
            self.tabs.removeTab(self.tabs.indexOf(page))
            page.deleteLater()
        self._conversations.refresh()

    def _on_tab_activated(self, chat: ChatViewModel) -> None:
        page = self._pages.get(chat)
        if page is not None:
            self.tabs.setCurrentWidget(page)
            self._show_page(page)
            page.focus_composer()

    def _on_current_changed(self, _index: int) -> None:
        page = self.page
        if page is not None:
            self._workspace.activate(page.chat)
            self._show_page(page)

    def _show_page(self, page: ChatPage) -> None:
        self.outline.show_entries(page.outline())
        self.outline.mark_turn(page.transcript.turn_in_view())
        self._show_title(page.chat)
        self._show_status(page.chat)
        self._mark_in_list()

    def _show_title(self, chat: ChatViewModel) -> None:
        page = self._pages.get(chat)
        if page is None:
            return
        self.tabs.set_title(page, chat.title, behind=chat.is_behind_file)
        if page is self.page:
            mark = "• " if chat.is_behind_file else ""
            self.setWindowTitle(f"{mark}{chat.title} — {tr('Turnleaf')}" if chat.title else tr("Turnleaf"))

    def _show_running(self, chat: ChatViewModel, phase: str) -> None:
        page = self._pages.get(chat)
        if page is not None:
            self.tabs.set_running(page, phase in ("running", "stopping"))

    def _show_status(self, chat: ChatViewModel) -> None:
        if self.page is not None and self.page.chat is chat:
            usage = chat.usage
            self.status.show_save(chat.save_state, usage.turns)
            self.status.show_usage(usage)

    def _show_outline(self, page: ChatPage, entries: object) -> None:
        if page is self.page and isinstance(entries, tuple):
            self.outline.show_entries(entries)
            self.outline.mark_turn(page.transcript.turn_in_view())

    def _mark_turn(self, page: ChatPage, turn: int) -> None:
        if page is self.page:
            self.outline.mark_turn(turn)

    # The list.

    def _on_list_refreshed(self, _summaries: object) -> None:
        self._mark_in_list()
        for page in self._pages.values():
            self._offer_continue(page)

    def _offer_continue(self, page: ChatPage) -> None:
        newest = self._conversations.newest
        other = newest is not None and newest.session_id != page.chat.session_id
        if newest is not None and other:
            page.starts.offer_continue(newest.session_id, newest.title or tr("Untitled"))
        else:
            page.starts.offer_continue("", "")

    def _mark_in_list(self) -> None:
        self.conversations.mark(self.page.chat.session_id if self.page is not None else None)

    def _on_conversation_chosen(self, session_id: str) -> None:
        self.panes.close_floating()
        self._workspace.open_session(session_id)

    def _on_turn_chosen(self, turn: int) -> None:
        self.panes.close_floating()
        if self.page is not None:
            self.page.transcript.show_turn(turn)

    # Drops and looks.

    def _on_files_dropped(self, paths: Sequence[Path]) -> None:
        if self.page is not None:
            self.page.chat.composer.add_files(paths)
            self.page.focus_composer()

    def _on_text_dropped(self, text: str) -> None:
        if self.page is not None and not self.page.chat.composer.add_pasted_text(text):
            self.page.card.edit.insert_text(text)

    def _on_sides_changed(self) -> None:
        self.actions_by_name["toggleList"].setChecked(self.panes.is_shown("left"))
        self.actions_by_name["toggleOutline"].setChecked(self.panes.is_shown("right"))
        self._remember.start()

    def _on_look_changed(self, theme: Theme) -> None:
        icons = self.look.icons
        self.tabs.set_theme(theme, icons)
        self.conversations.set_theme(theme, icons)
        self.outline.set_theme(theme, icons)
        self.status.set_theme(theme)
        self.overlay.set_theme(theme)
        self.panes.set_theme(theme)
        for page in self._pages.values():
            page.set_theme(theme, icons)

    def _fit_to_screens(self) -> None:
        """Stay inside a screen of today; a window that does so already is not touched, else it would wander."""
        if self.isMaximized() or self.isFullScreen():
            return
        rooms = [screen.availableGeometry() for screen in self.screen().virtualSiblings()]
        wanted = self.geometry()
        allowed = fitted(wanted, room_for(wanted, rooms or [self.screen().availableGeometry()]))
        if allowed != wanted:
            self.setGeometry(allowed)
