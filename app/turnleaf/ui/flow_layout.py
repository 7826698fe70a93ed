"""A layout that puts widgets side by side and goes on in the next line."""

from __future__ import annotations

from PySide6.QtCore import QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Rows of widgets, each as wide as it likes, broken where the room ends."""

    def __init__(self, parent: QWidget, spacing: int = 8, *, centred: bool = False) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._centred = centred
        self.setSpacing(spacing)
        self.setContentsMargins(QMargins(0, 0, 0, 0))

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        margins = self.contentsMargins()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Put the widgets into `rect` and return the height they take."""
        margins = self.contentsMargins()
        room = rect.marginsRemoved(margins)
        y = room.top()
        lines = self._lines(room.width())
        for line in lines:
            height = max(item.sizeHint().height() for item in line)
            if move:
                self._place(line, room, y)
            y += height + self.spacing()
        used = y - self.spacing() - room.top() if lines else 0
        return used + margins.top() + margins.bottom()

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        lines: list[list[QLayoutItem]] = []
        taken = 0
        for item in self._items:
            widget = item.widget()
            if widget is not None and widget.isHidden():
                continue
            needed = min(item.sizeHint().width(), width)
            if lines and taken + self.spacing() + needed <= width:
                lines[-1].append(item)
                taken += self.spacing() + needed
            else:
                lines.append([item])
                taken = needed
        return lines

    def _place(self, line: list[QLayoutItem], room: QRect, y: int) -> None:
        widths = [min(item.sizeHint().width(), room.width()) for item in line]
        x = room.left()
        if self._centred:
            x += (room.width() - sum(widths) - self.spacing() * (len(line) - 1)) // 2
        for item, width in zip(line, widths, strict=True):
            item.setGeometry(QRect(QPoint(x, y), QSize(width, item.sizeHint().height())))
            x += width + self.spacing()
