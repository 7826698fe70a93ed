"""What an empty tab shows around its composer: a greeting, and the starts that really do something."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from turnleaf.ui.flow_layout import FlowLayout
from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme

LONGEST_TITLE = 40


class Greeting(QWidget):
    """Stands above the composer of an empty tab."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = QLabel(tr("What would you like to read today?"), self)
        self._title.setProperty("look", "title")
        self._title.setWordWrap(True)
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._title)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take another scale on."""
        self._column.setContentsMargins(0, 0, 0, theme.px(22))


class Starts(QWidget):
    """Stands below the composer of an empty tab."""

    attach_requested = Signal()
    open_requested = Signal()
    continue_requested = Signal(str)
    """Go on with the conversation of this id."""
    sample_requested = Signal()

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._session_id = ""
        self._drop = self._button("startDocument", "file", tr("Drop a document"), tr("Or press to choose one"))
        self._drop.clicked.connect(self.attach_requested)
        self._open = self._button("startOpen", "open", tr("Open a .json"), tr("Open a saved conversation"))
        self._open.clicked.connect(self.open_requested)
        self._continue = self._button("startContinue", "chat", "", tr("Go on with the newest conversation"))
        self._continue.clicked.connect(lambda: self.continue_requested.emit(self._session_id))
        self._sample = self._button("startSample", "attach", tr("Try the sample document"), tr("Attach a short sample"))
        self._sample.clicked.connect(self.sample_requested)
        self._layout = FlowLayout(self, 10, centred=True)
        for button in (self._drop, self._open, self._continue, self._sample):
            self._layout.addWidget(button)
        self._continue.hide()
        self.set_theme(theme, icons)

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._layout.setContentsMargins(0, theme.px(14), 0, 0)
        for button in (self._drop, self._open, self._continue, self._sample):
            button.setIcon(icons.icon(str(button.property("icon_name")), "accent", size=17))
            button.setIconSize(icons.size(17))

    def offer_continue(self, session_id: str, title: str) -> None:
        """Offer to go on with a conversation; an empty id takes the offer back."""
        self._session_id = session_id
        short = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"
        self._continue.setText(tr("Continue “{title}”").format(title=short.replace("&", "&&")))
        self._continue.setAccessibleName(tr("Continue {title}").format(title=title))
        self._continue.setVisible(bool(session_id))
        self.updateGeometry()

    def offer_sample(self, offered: bool) -> None:
        """Offer the bundled sample, if it is there."""
        self._sample.setVisible(offered)

    def _button(self, name: str, icon: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setProperty("look", "start")
        button.setProperty("icon_name", icon)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button
