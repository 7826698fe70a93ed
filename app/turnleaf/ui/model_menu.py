"""The menu of the model switcher: what can answer next, grouped, and how to add one's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QWidget

from turnleaf.ui.texts import plain_tool_tip, short_count, tr
from turnleaf.viewmodels.chat import ModelChoice

if TYPE_CHECKING:
    from turnleaf.services.models import ModelEntry


class ModelMenu(QMenu):
    """Shows the models as they are known; a later answer of the servers changes it while it is open."""

    chosen = Signal(object)
    """A ``ModelEntry``."""
    add_file_requested = Signal()
    add_server_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("modelMenu")
        self.setToolTipsVisible(True)
        self._current: ModelChoice | None = None
        self._shown: tuple[tuple[ModelEntry, ...], ModelChoice | None] = ((), None)

    def show_entries(self, entries: Sequence[ModelEntry], current: ModelChoice | None) -> None:
        """Fill the menu; one that is open is left alone when nothing is new."""
        shown = (tuple(entries), current)
        if shown == self._shown and self.isVisible():
            return
        self._shown = shown
        self._current = current
        self.clear()
        for group, members in groupby(entries, key=lambda entry: entry.group):
            heading = self.addAction(plain(group or tr("Models")))
            heading.setEnabled(False)
            for entry in members:
                self._add(entry)
            self.addSeparator()
        add_file = self.addAction(tr("Add model file…"))
        add_file.setToolTip(tr("A .gguf file on this computer"))
        add_file.triggered.connect(self.add_file_requested)
        add_server = self.addAction(tr("Add server…"))
        add_server.setToolTip(tr("An OpenAI-compatible server, by its address"))
        add_server.triggered.connect(self.add_server_requested)

    def open_above(self, button: QWidget) -> None:
        """Show the menu above `button`, without waiting for it."""
        at = button.mapToGlobal(QPoint(0, 0))
        height = self.sizeHint().height()
        self.popup(QPoint(at.x(), at.y() - height - 6))

    def _add(self, entry: ModelEntry) -> None:
        window = f"   {short_count(entry.context_window)}" if entry.context_window else ""
        action = self.addAction(plain(entry.label) + window)
        action.setToolTip(plain_tool_tip(entry.reason or entry.label))
        action.setEnabled(entry.usable)
        action.setCheckable(True)
        current = self._current
        action.setChecked(current is not None and (current.model_id, current.base_url) == (entry.id, entry.base_url))
        action.triggered.connect(lambda _checked=False, entry=entry: self.chosen.emit(entry))
        if not entry.usable and entry.reason:
            action.setText(f"{plain(entry.label)} — {plain(entry.reason)}")


def plain(text: str) -> str:
    """Return text from outside so that a menu shows every character of it."""
    return text.replace("&", "&&")
