"""``noticeBar``: one plain sentence where it happened, the two most useful buttons, details folded."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from turnleaf.services.notices import Notice
from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme

ACTION_TEXTS = {
    "retry_save": "Retry",
    "save_elsewhere": "Save elsewhere…",
    "overwrite": "Overwrite it",
    "show_log": "Show the log",
    "choose_model": "Choose a model",
    "use_demo_model": "Use the demo model",
    "show_folder": "Show the folder",
    "open_generation": "Open the earlier state",
    "attach_part": "Attach the part that fits",
}
"""What a notice's button says. An action that has no entry here is offered elsewhere (the interrupted card)."""

MOST_EARLIER = 8
LONGEST_TEXT = 260
SHORTEST_CLAUSE = 20
MOST_DETAILS = 1_500


class NoticeBar(QFrame):
    """Shows the newest notice; closing it shows the one before. Hidden when there is none."""

    action_requested = Signal(str)
    """A button was pressed (its action id)."""

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBar")
        self._notice: Notice | None = None
        self._earlier: list[Notice] = []
        self._buttons: list[QPushButton] = []
        self._icon = QLabel(self)
        self._text = self._make_label()
        self._text.setObjectName("noticeText")
        self._details = self._make_label()
        self._details.setObjectName("noticeDetails")
        self._details.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._more = self._make_tool("noticeMore", tr("Details"), tr("Show the error's own words"))
        self._more.clicked.connect(self._on_more)
        self._copy = self._make_tool("noticeCopy", tr("Copy"), tr("Copy the details"))
        self._copy.clicked.connect(self._on_copy)
        self._close = self._make_tool("noticeClose", "", tr("Close this message"))
        self._close.clicked.connect(self._on_close)
        self._row = QHBoxLayout()
        column = QVBoxLayout(self)
        column.addLayout(self._row)
        column.addWidget(self._details)
        for widget in (self._icon, self._text, self._copy, self._more, self._close):
            self._row.addWidget(widget)
        self._row.setStretch(1, 1)
        self.set_theme(theme, icons)
        self.hide()

    @property
    def notice(self) -> Notice | None:
        """What is shown."""
        return self._notice

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._icons = icons
        margin = theme.px(12)
        layout = self.layout()
        assert layout is not None
        layout.setContentsMargins(margin + theme.px(4), theme.px(7), margin, theme.px(7))
        self._close.setIcon(icons.icon("close", size=15))
        self._close.setIconSize(icons.size(15))
        self._dress()

    def show_notice(self, notice: Notice) -> None:
        """Show `notice`; one that says something else comes back when this one is closed."""
        if self._notice is not None and self._notice != notice:
            self._earlier = [*self._earlier[1 - MOST_EARLIER :], self._notice]
        self._show(notice)

    def clear(self) -> None:
        """Show nothing."""
        self._notice = None
        self._earlier.clear()
        self.hide()

    def withdraw(self, ids: Collection[str]) -> None:
        """Take back the notices with these ids: what they say is not so any more."""
        self._earlier = [notice for notice in self._earlier if notice.id not in ids]
        if self._notice is not None and self._notice.id in ids:
            self._on_close()

    def _on_close(self) -> None:
        earlier = self._earlier
        if earlier:
            self._show(earlier.pop())
        else:
            self.clear()

    def _show(self, notice: Notice) -> None:
        self._notice = notice
        for button in self._buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        offered = [action for action in notice.actions if action in ACTION_TEXTS][:2]
        self._buttons = [self._make_button(action) for action in offered]
        for at, button in enumerate(self._buttons):
            self._row.insertWidget(2 + at, button)
        shown = brief(notice.text)
        # What the line has no room for is one press away, whole.
        details = notice.details if shown == notice.text else f"{notice.text}\n{notice.details}".strip()
        self._text.setText(shown)
        self._details.setText(details[:MOST_DETAILS])
        self._details.hide()
        self._copy.hide()
        self._more.setVisible(bool(details))
        self.setAccessibleName(notice.text)
        self._dress()
        self.show()

    def _dress(self) -> None:
        severity = self._notice.severity if self._notice is not None else "info"
        self.setProperty("severity", severity)
        token = {"error": "danger", "warning": "warning", "info": "accent"}[severity]
        self._icon.setPixmap(self._icons.pixmap("chat" if severity == "info" else "warning", token, size=17))
        self.style().unpolish(self)
        self.style().polish(self)

    def _make_label(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.MinimumExpanding)
        return label

    def _make_tool(self, name: str, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        return button

    def _make_button(self, action: str) -> QPushButton:
        button = QPushButton(tr(ACTION_TEXTS[action]), self)
        button.setObjectName(f"notice_{action}")
        button.setAccessibleName(button.text())
        button.setToolTip(button.text())
        button.clicked.connect(lambda: self.action_requested.emit(action))
        return button

    def _on_more(self) -> None:
        shown = not self._details.isVisible()
        self._details.setVisible(shown)
        self._copy.setVisible(shown)

    def _on_copy(self) -> None:
        if self._notice is not None:
            QGuiApplication.clipboard().setText(f"{self._notice.text}\n{self._notice.details}")


def brief(text: str) -> str:
    """Return `text`, or its first clause when it is longer than a bar has room for."""
    if len(text) <= LONGEST_TEXT:
        return text
    ends = [at for mark in ("; ", ". ", "\n") if SHORTEST_CLAUSE <= (at := text.find(mark)) <= LONGEST_TEXT]
    cut = min(ends) if ends else text.rfind(" ", 0, LONGEST_TEXT)
    return text[: cut if cut > 0 else LONGEST_TEXT].rstrip() + "…"
