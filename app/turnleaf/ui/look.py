"""Which theme is in use: the user's choice, or the system's, at the chosen zoom."""

from __future__ import annotations

import os

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from turnleaf.services.settings import MAX_ZOOM, MIN_ZOOM, Settings
from turnleaf.ui.icons import Icons
from turnleaf.ui.style import palette, style_sheet
from turnleaf.ui.theme import Theme, ThemeName

ZOOM_STEPS = (0.5, 0.67, 0.75, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)


class Look(QObject):
    """Follows settings and system, and says when the theme is another one."""

    changed = Signal(object)
    """The new ``Theme``."""

    def __init__(self, app: QApplication, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._settings = settings
        self.theme = self._make()
        self.icons = self._icons()
        self._apply()
        QGuiApplication.styleHints().colorSchemeChanged.connect(lambda _scheme: self._update())
        settings.on_change(lambda _name: self._update())

    def next_zoom(self, step: int) -> float:
        """Return the zoom one step larger (1) or smaller (-1); 0 is normal size."""
        if step == 0:
            return 1.0
        current = self._settings.values.zoom
        larger = [value for value in ZOOM_STEPS if value > current + 0.001]
        smaller = [value for value in ZOOM_STEPS if value < current - 0.001]
        if step > 0:
            return larger[0] if larger else MAX_ZOOM
        return smaller[-1] if smaller else MIN_ZOOM

    def _update(self) -> None:
        theme = self._make()
        if theme != self.theme:
            self.theme = theme
            self.icons = self._icons()
            self._apply()
            self.changed.emit(theme)

    def _make(self) -> Theme:
        values = self._settings.values
        reduced = values.reduced_motion or os.environ.get("QT_ANIMATIONS_DISABLED") == "1"
        return Theme(self._name(), values.zoom, values.compact_text, reduced)

    def _name(self) -> ThemeName:
        chosen = self._settings.values.theme
        if chosen != "system":
            return chosen
        scheme = QGuiApplication.styleHints().colorScheme()
        return "dark" if scheme == Qt.ColorScheme.Dark else "light"

    def _icons(self) -> Icons:
        return Icons(self.theme, self._app.devicePixelRatio())

    def _apply(self) -> None:
        self._app.setPalette(palette(self.theme))
        self._app.setFont(self.theme.text_font(14))
        self._app.setStyleSheet(style_sheet(self.theme))
