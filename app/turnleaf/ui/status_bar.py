"""The line at the bottom: whether everything is on disk, how full the window is, what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from turnleaf.ui.meter import usage_text
from turnleaf.ui.texts import money_text, plain_tool_tip, tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.usage import Usage

if TYPE_CHECKING:
    from turnleaf.services.conversation import SaveState


class StatusBar(QWidget):
    """Shows the tab in front. A save that failed is red and offers what helps."""

    retry_requested = Signal()
    save_elsewhere_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("statusBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._saved = QLabel(self)
        self._saved.setObjectName("statusSaved")
        self._saved.setTextFormat(Qt.TextFormat.PlainText)
        self._retry = self._button("retrySave", tr("Retry"), tr("Try to save again"))
        self._retry.clicked.connect(self.retry_requested)
        self._elsewhere = self._button("saveElsewhere", tr("Save elsewhere…"), tr("Save to a file of your choice"))
        self._elsewhere.clicked.connect(self.save_elsewhere_requested)
        self._usage = QLabel(self)
        self._usage.setObjectName("statusUsage")
        self._usage.setTextFormat(Qt.TextFormat.PlainText)
        self._row = QHBoxLayout(self)
        for widget in (self._saved, self._retry, self._elsewhere):
            self._row.addWidget(widget)
        self._row.addStretch(1)
        self._row.addWidget(self._usage)
        self.set_theme(theme)
        self.show_save(None, 0)

    def set_theme(self, theme: Theme) -> None:
        """Take another look on."""
        self._row.setContentsMargins(theme.px(14), theme.px(3), theme.px(14), theme.px(3))
        self._row.setSpacing(theme.px(8))
        self.setMinimumHeight(theme.px(27))

    def show_save(self, state: SaveState | None, turn: int) -> None:
        """Show when everything was on disk last, or that it is not."""
        problem = state.problem if state is not None else None
        failed = problem is not None
        self._saved.setText(saved_text(state, turn))
        self._saved.setToolTip(plain_tool_tip(str(problem)) if problem is not None else "")
        self._saved.setAccessibleName(self._saved.text())
        self._saved.setProperty("state", "failed" if failed else "ok")
        self._saved.style().unpolish(self._saved)
        self._saved.style().polish(self._saved)
        self._retry.setVisible(failed)
        self._elsewhere.setVisible(failed)

    def show_usage(self, usage: Usage) -> None:
        """Show the window's use and the money."""
        parts = []
        if usage.window:
            parts.append(tr("context {numbers}").format(numbers=usage_text(usage)))
        parts.append(tr("spent {money}").format(money=money_text(usage.spent)))
        self._usage.setText(" · ".join(parts))

    def _button(self, name: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        return button


def saved_text(state: SaveState | None, turn: int) -> str:
    """Return ``Saved 14:02:11 · turn 12``, or that it is not saved."""
    if state is not None and state.problem is not None:
        return tr("Not saved")
    if state is None or state.saved_at is None:
        return tr("Nothing to save yet")
    text = tr("Saved {time}").format(time=f"{state.saved_at:%H:%M:%S}")
    return f"{text} · {tr('turn {n}').format(n=turn)}" if turn else text
