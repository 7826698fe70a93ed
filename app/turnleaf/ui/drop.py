"""Dropping on the window: anywhere, with two zones where both make sense."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from turnleaf.ui.chat_page import local_files
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme

CONVERSATION_SUFFIX = ".json"


class DropOverlay(QWidget):
    """Covers the window while something is dragged over it, and says what dropping would do."""

    files_dropped = Signal(object)
    """Files to attach (a list of ``Path``)."""
    conversations_dropped = Signal(object)
    """Conversations to open (a list of ``Path``)."""
    text_dropped = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("dropOverlay")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAcceptDrops(True)
        self._attach = self._zone("dropAttach")
        self._open = self._zone("dropOpen")
        self._row = QHBoxLayout(self)
        self._row.addWidget(self._open)
        self._row.addWidget(self._attach)
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take another scale on."""
        margin = theme.px(28)
        self._row.setContentsMargins(margin, margin, margin, margin)
        self._row.setSpacing(margin)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.begin(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._light(event.position().toPoint())
        event.acceptProposedAction()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.hide()
        paths = local_files(event.mimeData())
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if not paths:
            if event.mimeData().hasText():
                self.text_dropped.emit(event.mimeData().text())
            return
        self.deliver(paths, opens=self._opens_at(event.position().toPoint()))

    def begin(self, event: QDragEnterEvent) -> bool:
        """Show what dropping would do; return whether it would do anything."""
        if not self.prepare(event.mimeData()):
            event.ignore()
            return False
        event.acceptProposedAction()
        self.raise_()
        self.show()
        return True

    def prepare(self, data: QMimeData) -> bool:
        """Set the zones for `data`; return whether dropping it would do anything."""
        paths = local_files(data)
        if not paths and not data.hasText():
            return False
        both = any(is_conversation(path) for path in paths)
        self._attach.setText(_attach_text(paths))
        self._open.setText(tr("Open conversation"))
        self._open.setVisible(both)
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self._row.activate()
        return True

    def deliver(self, paths: Sequence[Path], *, opens: bool) -> None:
        """Hand dropped files on: conversations are opened if that zone was meant, the rest is attached."""
        conversations = [path for path in paths if opens and is_conversation(path)]
        others = [path for path in paths if path not in conversations]
        if conversations:
            self.conversations_dropped.emit(conversations)
        if others:
            self.files_dropped.emit(others)

    def _opens_at(self, at: QPoint) -> bool:
        return not self._open.isHidden() and at.x() < self._attach.x()

    def _light(self, at: QPoint) -> None:
        opens = self._opens_at(at)
        for zone, lit in ((self._open, opens), (self._attach, not opens)):
            if zone.property("lit") != lit:
                zone.setProperty("lit", lit)
                zone.style().unpolish(zone)
                zone.style().polish(zone)

    def _zone(self, name: str) -> QLabel:
        zone = QLabel(self)
        zone.setObjectName(name)
        zone.setTextFormat(Qt.TextFormat.PlainText)
        zone.setProperty("look", "zone")
        zone.setAlignment(Qt.AlignmentFlag.AlignCenter)
        return zone


def is_conversation(path: Path) -> bool:
    """Return whether `path` may be a saved conversation."""
    return path.suffix.lower() == CONVERSATION_SUFFIX


def _attach_text(paths: Sequence[Path]) -> str:
    if not paths:
        return tr("Insert the text")
    return tr("Attach to this chat") if len(paths) == 1 else tr("Attach {n} files to this chat").format(n=len(paths))
