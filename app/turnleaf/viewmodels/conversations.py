"""The list of conversations, newest first, read off the GUI thread."""

from __future__ import annotations

import asyncio
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal

from turnleaf.bridge.tasks import FailureHandler, TaskOwner
from turnleaf.services.notices import notice_of

if TYPE_CHECKING:
    from turnleaf.services.library import ConversationSummary, Library

SETTLE_MS = 250


class ConversationRole(IntEnum):
    """What the model gives beside the text."""

    SUMMARY = Qt.ItemDataRole.UserRole + 1


class ConversationListModel(QAbstractListModel):
    """Shows summaries to Qt. Holds nothing of its own."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._summaries: list[ConversationSummary] = []

    @property
    def summaries(self) -> list[ConversationSummary]:
        """The conversations as they are shown."""
        return self._summaries

    def show(self, summaries: list[ConversationSummary]) -> None:
        """Show `summaries`."""
        if [s.session_id for s in summaries] == [s.session_id for s in self._summaries]:
            self._summaries = summaries
            if summaries:
                self.dataChanged.emit(self.index(0, 0), self.index(len(summaries) - 1, 0))
            return
        self.beginResetModel()
        self._summaries = summaries
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._summaries)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self._summaries):
            return None
        summary = self._summaries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return summary.title
            case ConversationRole.SUMMARY:
                return summary
            case _:
                return None


class ConversationsViewModel(QObject):
    """Reads the list when asked, at most a few times a second."""

    refreshed = Signal(object)
    """The summaries, newest first (a list)."""
    failed = Signal(object)
    """A ``Notice``: something about the list did not work."""
    trashed = Signal(str)
    """The conversation with this id went to the trash."""

    def __init__(self, on_failure: FailureHandler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model = ConversationListModel(self)
        self._tasks = TaskOwner("conversations", on_failure)
        self._library: Library | None = None
        self._again = False
        self._reading = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def newest(self) -> ConversationSummary | None:
        """The conversation to continue, if there is one that can be opened."""
        return next((summary for summary in self.model.summaries if not summary.problem), None)

    def attach(self, library: Library) -> None:
        """Begin to show the conversations of `library`."""
        self._library = library
        self._on_timeout()

    def refresh(self) -> None:
        """Read the list again soon."""
        if self._library is not None and not self._timer.isActive():
            self._timer.start()

    def trash(self, session_id: str) -> None:
        """Move a conversation to the trash."""
        if self._library is not None:
            self._tasks.start(self._trash(self._library, session_id), "trash")

    async def close(self) -> None:
        """End what runs."""
        self._timer.stop()
        await self._tasks.close(timeout_s=0.5)

    def _on_timeout(self) -> None:
        if self._reading:
            self._again = True
        elif self._library is not None:
            self._reading = True
            self._tasks.start(self._read(self._library), "read")

    async def _read(self, library: Library) -> None:
        try:
            summaries = await asyncio.to_thread(library.summaries)
        finally:
            self._reading = False
        self.model.show(summaries)
        self.refreshed.emit(summaries)
        if self._again:
            self._again = False
            self.refresh()

    async def _trash(self, library: Library, session_id: str) -> None:
        try:
            await library.trash(session_id)
        except Exception as error:  # noqa: BLE001 - said to the user; the conversation stays
            self.failed.emit(notice_of(error))
        else:
            self.trashed.emit(session_id)
        self.refresh()
