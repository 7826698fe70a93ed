"""The icons, drawn from ``resources/icons`` in a theme's colours."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from turnleaf.services.resources import resource
from turnleaf.ui.theme import Theme


class Icons:
    """Makes icons for one theme and keeps them. Made anew when the theme changes."""

    def __init__(self, theme: Theme, device_pixel_ratio: float = 1.0) -> None:
        self._theme = theme
        self._ratio = device_pixel_ratio
        self._made: dict[tuple[str, str, int], QPixmap] = {}

    def icon(self, name: str, token: str = "muted", *, size: int = 18) -> QIcon:
        """Return icon `name` in the colour `token`, paler where it is disabled."""
        icon = QIcon(self.pixmap(name, token, size=size))
        icon.addPixmap(self.pixmap(name, "line_strong", size=size), QIcon.Mode.Disabled)
        return icon

    def pixmap(self, name: str, token: str = "muted", *, size: int = 18) -> QPixmap:
        """Return icon `name` as a picture of `size` pixels before zoom. Raises ``FileNotFoundError`` for no icon."""
        key = (name, token, size)
        pixmap = self._made.get(key)
        if pixmap is None:
            pixmap = self._made[key] = self._draw(name, token, size)
        return pixmap

    def size(self, size: int = 18) -> QSize:
        """Return the size of an icon at this zoom."""
        return QSize(self._theme.px(size), self._theme.px(size))

    def _draw(self, name: str, token: str, size: int) -> QPixmap:
        source = resource(f"icons/{name}.svg").read_text(encoding="utf-8")
        renderer = QSvgRenderer(source.replace("currentColor", self._theme.hex(token)).encode())
        side = self._theme.px(size)
        pixmap = QPixmap(round(side * self._ratio), round(side * self._ratio))
        pixmap.setDevicePixelRatio(self._ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        renderer.render(painter, QRectF(0, 0, side, side))
        painter.end()
        return pixmap


def app_icon() -> QIcon:
    """Return the app's own icon."""
    renderer = QSvgRenderer(str(resource("turnleaf.svg")))
    icon = QIcon()
    for side in (32, 64, 128):
        pixmap = QPixmap(side, side)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        icon.addPixmap(pixmap)
    return icon
