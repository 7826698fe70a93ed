"""``tabs``: the strip of conversations and their pages."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QMouseEvent, QPainter, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QTabWidget, QToolButton, QWidget

from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import plain_tool_tip, tr
from turnleaf.ui.theme import Theme

LONGEST_TITLE = 80


class TabStrip(QTabWidget):
    """Tabs that can be moved and closed; a dot says that an answer runs."""

    close_requested = Signal(object)
    """The page whose tab is to be closed."""
    moved = Signal(int, int)

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("tabs")
        self._theme, self._icons = theme, icons
        self.setDocumentMode(True)
        self.setMovable(True)
        self.setUsesScrollButtons(True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        bar = _Bar(self)
        self.setTabBar(bar)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        bar.setAccessibleName(tr("Open conversations"))
        bar.setExpanding(False)
        bar.setDrawBase(False)
        bar.tabMoved.connect(self.moved)
        bar.middle_clicked.connect(lambda index: self.close_requested.emit(self.widget(index)))
        self._corners: dict[Qt.Corner, QHBoxLayout] = {}

    def add_corner_button(self, corner: Qt.Corner, name: str, icon: str, tip: str, size: int = 18) -> QToolButton:
        """Put a button beside the tabs."""
        row = self._corners.get(corner)
        if row is None:
            holder = QWidget(self)
            holder.setObjectName("tabCorner")
            holder.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
            row = self._corners[corner] = QHBoxLayout(holder)
            row.setContentsMargins(5, 2, 5, 2)
            row.setSpacing(2)
            self.setCornerWidget(holder, corner)
        button = QToolButton(self)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setProperty("icon_name", icon)
        button.setProperty("icon_size", size)
        row.addWidget(button)
        self._dress_button(button)
        return button

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._theme, self._icons = theme, icons
        for row in self._corners.values():
            for at in range(row.count()):
                item = row.itemAt(at)
                widget = item.widget() if item is not None else None
                if isinstance(widget, QToolButton):
                    self._dress_button(widget)
        for index in range(self.count()):
            page = self.widget(index)
            if page is not None:
                self._add_close_button(page)

    def add_page(self, page: QWidget, title: str) -> None:
        """Add a tab at the end."""
        self.addTab(page, "")
        self._add_close_button(page)
        self.set_title(page, title, behind=False)

    def set_title(self, page: QWidget, title: str, *, behind: bool) -> None:
        """Name a tab; `behind` marks that its file lacks something."""
        index = self.indexOf(page)
        if index < 0:
            return
        shown = (title or tr("New conversation"))[:LONGEST_TITLE]
        mark = "• " if behind else ""
        self.setTabText(index, mark + shown.replace("&", "&&"))
        behind_text = f"\n{tr('• The newest turns are not saved to its file yet (Ctrl+S)')}" if behind else ""
        self.tabBar().setAccessibleTabName(index, f"{shown}, {tr('not saved to its file yet')}" if behind else shown)
        self.setTabToolTip(index, plain_tool_tip(shown + behind_text))

    def set_running(self, page: QWidget, running: bool) -> None:
        """Show whether an answer runs in a tab."""
        index = self.indexOf(page)
        if index >= 0:
            self.setTabIcon(index, self._dot() if running else QIcon())

    def _dot(self) -> QIcon:
        side = 16
        pixmap = QPixmap(QSize(side, side))
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawEllipse(QRectF(QPointF(4.5, 4.5), QSize(7, 7)))
        painter.end()
        return QIcon(pixmap)

    def _add_close_button(self, page: QWidget) -> None:
        button = QToolButton(self.tabBar())
        button.setObjectName("closeTabButton")
        button.setIcon(self._icons.icon("close", size=13))
        button.setIconSize(self._icons.size(13))
        button.setToolTip(tr("Close tab (Ctrl+W)"))
        button.setAccessibleName(tr("Close tab"))
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.clicked.connect(lambda: self.close_requested.emit(page))
        self.tabBar().setTabButton(self.indexOf(page), QTabBar.ButtonPosition.RightSide, button)

    def _dress_button(self, button: QToolButton) -> None:
        size = int(button.property("icon_size"))
        button.setIcon(self._icons.icon(str(button.property("icon_name")), size=size))
        button.setIconSize(self._icons.size(size))


class _Bar(QTabBar):
    """The bar of the tabs; the middle button closes."""

    middle_clicked = Signal(int)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            index = self.tabAt(event.position().toPoint())
            if index >= 0:
                self.middle_clicked.emit(index)
                return
        super().mouseReleaseEvent(event)
