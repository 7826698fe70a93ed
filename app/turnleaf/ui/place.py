"""Where a window may stand: inside the room that a screen leaves, its frame included."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMargins, QRect

LIKELY_FRAME = QMargins(4, 32, 4, 4)
"""What a window manager puts around a window, as long as it has not said so."""


def fitted(wanted: QRect, room: QRect, frame: QMargins = LIKELY_FRAME) -> QRect:
    """Return `wanted`, a window without its frame: as it is when `room` contains it, else made smaller or moved."""
    if room.contains(wanted):
        return wanted
    inner = room.marginsRemoved(frame)
    width, height = min(wanted.width(), inner.width()), min(wanted.height(), inner.height())
    x = min(max(wanted.x(), inner.left()), inner.right() - width + 1)
    y = min(max(wanted.y(), inner.top()), inner.bottom() - height + 1)
    return QRect(x, y, width, height)


def room_for(wanted: QRect, rooms: Sequence[QRect]) -> QRect:
    """Return the room that shows most of `wanted`; the first one when none shows any of it."""

    def shown(room: QRect) -> int:
        common = room.intersected(wanted)
        return common.width() * common.height() if common.isValid() else 0

    return max(rooms, key=shown)
