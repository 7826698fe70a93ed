"""``contextMeter``: how much of the model's window the next request takes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QWidget

from turnleaf.ui.texts import number_text, short_count, tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.usage import Usage


class ContextMeter(QLabel):
    """A small ring with the numbers beside it; red when it is too much. ``text()`` is what is shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("contextMeter")
        self._usage = Usage()
        self.set_theme(theme)
        self.set_usage(self._usage)

    def set_theme(self, theme: Theme) -> None:
        """Take another look on."""
        self._theme = theme
        self.updateGeometry()
        self.update()

    def set_usage(self, usage: Usage) -> None:
        """Show `usage`."""
        self._usage = usage
        self.setText(usage_text(usage))
        words = tr("About {n} tokens of the window").format(n=number_text(usage.tokens))
        if usage.window:
            words = tr("About {n} of {window} tokens of the model's window").format(
                n=number_text(usage.tokens), window=number_text(usage.window)
            )
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        self.ensurePolished()
        metrics = QFontMetricsF(self.font())
        text = metrics.horizontalAdvance(self.text())
        return QSize(round(text) + self._theme.px(28), self._theme.px(24))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, usage = self._theme, self._usage
        if not usage.window:
            return
        share = min(1.0, usage.tokens / usage.window)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = theme.px(14)
        ring = QRectF(2, (self.height() - side) / 2, side, side)
        painter.setPen(QPen(theme.colour("line_strong"), 2.2))
        painter.drawEllipse(ring)
        token = "danger" if usage.tokens > usage.window else "warning" if share > 0.8 else "accent"
        painter.setPen(QPen(theme.colour(token), 2.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawArc(ring, 90 * 16, -round(360 * 16 * share))
        painter.setFont(self.font())
        painter.setPen(theme.colour("danger" if token == "danger" else "muted"))
        text = QRectF(ring.right() + theme.px(7), 0, self.width() - ring.right() - theme.px(7), self.height())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), self.text())
        painter.end()


def usage_text(usage: Usage) -> str:
    """Return the numbers of a window: ``41k / 200k``."""
    if not usage.window:
        return ""
    return f"{short_count(usage.tokens)} / {short_count(usage.window)}"
