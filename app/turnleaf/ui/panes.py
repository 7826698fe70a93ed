"""The three columns of the window: list, middle and outline; the sides step back or float where room is short."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QGraphicsDropShadowEffect, QWidget

from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme

Side = Literal["left", "right"]

OUTLINE_NEEDS_PX = 1_100
LIST_NEEDS_PX = 800
LIMITS: dict[Side, tuple[int, int, int]] = {"left": (200, 240, 360), "right": (180, 220, 320)}


class PaneHandle(QWidget):
    """The edge of a side: drag it, or move it with the arrow keys."""

    STEP_PX = 16

    dragged = Signal(int)
    """By how many pixels to the right."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setAccessibleName(tr("Column width"))
        self.setToolTip(tr("Drag to change the width"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._from: QPoint | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._from = event.globalPosition().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from is not None:
            now = event.globalPosition().toPoint()
            self.dragged.emit(now.x() - self._from.x())
            self._from = now

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._from = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Left:
                self.dragged.emit(-self.STEP_PX)
            case Qt.Key.Key_Right:
                self.dragged.emit(self.STEP_PX)
            case _:
                super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.hasFocus():
            painter = QPainter(self)
            painter.fillRect(self.rect().adjusted(2, 0, -2, 0), self.palette().link())
            painter.end()


class Panes(QWidget):
    """Lays the columns out. A side that has no room of its own can still be shown: it floats over the middle."""

    sides_changed = Signal()
    """A side was shown, hidden, or changed its width."""

    def __init__(self, left: QWidget, middle: QWidget, right: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("centre")
        self._theme = theme
        self._middle = middle
        self._sides: dict[Side, QWidget] = {"left": left, "right": right}
        self._wanted: dict[Side, bool] = {"left": True, "right": True}
        self._floating: dict[Side, bool] = {"left": False, "right": False}
        self._widths: dict[Side, int] = {side: limits[1] for side, limits in LIMITS.items()}
        self._handles: dict[Side, PaneHandle] = {}
        for widget in (middle, left, right):
            widget.setParent(self)
        for side in self._sides:
            handle = PaneHandle(f"{side}Handle", self)
            handle.dragged.connect(lambda by, side=side: self._drag(side, by))
            self._handles[side] = handle
        self._watcher = _PressWatcher(self)

    def set_theme(self, theme: Theme) -> None:
        """Take another scale on."""
        self._theme = theme
        self._arrange()

    def is_shown(self, side: Side) -> bool:
        """Whether a side can be seen, beside the middle or over it."""
        return (self._has_room(side) and self._wanted[side]) or self._floating[side]

    def toggle(self, side: Side) -> None:
        """Show a side, or hide it."""
        if self._has_room(side):
            self._wanted[side] = not self._wanted[side]
        else:
            self._floating[side] = not self._floating[side]
        self._arrange()
        self.sides_changed.emit()

    def close_floating(self) -> bool:
        """Hide what floats over the middle; return whether anything did."""
        floated = any(self._floating.values())
        self._floating = {"left": False, "right": False}
        if floated:
            self._arrange()
            self.sides_changed.emit()
        return floated

    def state(self) -> bytes:
        """Return widths and choices, to be remembered."""
        return " ".join(f"{int(self._wanted[side])} {self._widths[side]}" for side in self._sides).encode()

    def restore(self, state: bytes) -> None:
        """Take remembered widths and choices; anything else is left as it is."""
        try:
            values = [int(part) for part in state.split()]
        except ValueError:
            return
        if len(values) == 4:
            for side, (shown, width) in zip(self._sides, (values[:2], values[2:]), strict=True):
                low, _, high = LIMITS[side]
                self._wanted[side] = bool(shown)
                self._widths[side] = min(high, max(low, width))
            self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for side in self._sides:
            if self._has_room(side):
                self._floating[side] = False
        self._arrange()
        self.sides_changed.emit()

    def pressed_at(self, at: QPoint) -> None:
        """Take note of a press at a global position."""
        for side, floats in self._floating.items():
            if floats and not self._sides[side].rect().contains(self._sides[side].mapFromGlobal(at)):
                self.close_floating()
                return

    def _has_room(self, side: Side) -> bool:
        return self.width() >= (LIST_NEEDS_PX if side == "left" else OUTLINE_NEEDS_PX)

    def _arrange(self) -> None:
        left, right = 0, self.width()
        height = self.height()
        for side, panel in self._sides.items():
            width = min(self._theme.px(self._widths[side]), int(self.width() * 0.8))
            beside = self._has_room(side) and self._wanted[side]
            floats = self._floating[side] and not beside
            panel.setVisible(beside or floats)
            x = 0 if side == "left" else self.width() - width
            panel.setGeometry(x, 0, width, height)
            self._shade(panel, floats)
            if beside and side == "left":
                left = width
            elif beside:
                right = self.width() - width
            handle = self._handles[side]
            handle.setVisible(beside)
            handle.setGeometry((width if side == "left" else x) - 3, 0, 6, height)
        self._middle.setGeometry(left, 0, max(1, right - left), height)
        for side, panel in self._sides.items():
            if self._floating[side]:
                panel.raise_()
            self._handles[side].raise_()

        self._watch_presses(any(self._floating.values()))

    def _watch_presses(self, watch: bool) -> None:
        """Look at every press in the app, but only while something floats: a filter costs each event a little."""
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self._watcher)
            if watch:
                app.installEventFilter(self._watcher)

    def _shade(self, panel: QWidget, floats: bool) -> None:
        if not floats:
            panel.setGraphicsEffect(None)  # type: ignore[arg-type]
        elif panel.graphicsEffect() is None:
            shadow = QGraphicsDropShadowEffect(panel)
            shadow.setBlurRadius(28)
            shadow.setOffset(0, 0)
            shadow.setColor(self._theme.colour("shadow"))
            panel.setGraphicsEffect(shadow)

    def _drag(self, side: Side, by: int) -> None:
        low, _, high = LIMITS[side]
        change = round((by if side == "left" else -by) / self._theme.zoom)
        self._widths[side] = min(high, max(low, self._widths[side] + change))
        self._arrange()
        self.sides_changed.emit()


class _PressWatcher(QObject):
    """Tells the panes of every press in the app."""

    def __init__(self, panes: Panes) -> None:
        super().__init__(panes)
        self._panes = panes

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            self._panes.pressed_at(event.globalPosition().toPoint())
        return False
