"""A file as a small card: its name, and in one line how it reaches the model."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from turnleaf.services.rows import AttachmentInfo
from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import attachment_details, attachment_summary, one_line, pages_without_text, plain_tool_tip
from turnleaf.ui.theme import Theme


class FileChip(QWidget):
    """Shows one file that came with a question. Names are shown as plain text, whatever they contain."""

    def __init__(self, info: AttachmentInfo, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icons.pixmap("file", "accent", size=20)
        self._name = one_line(info.name)
        self._summary = attachment_summary(info)
        self._warning = pages_without_text(info.pages_without_text) if info.pages_without_text else ""
        self.setAccessibleName(f"{self._name}, {self._summary}")
        self.setToolTip(plain_tool_tip(attachment_details(info)))
        self.set_widest(theme.px(460))

    def set_widest(self, width: int) -> None:
        """Take the room that the text needs, at most `width` pixels."""
        theme = self._theme
        name = QFontMetricsF(self._name_font()).horizontalAdvance(self._name)
        summary = QFontMetricsF(self._summary_font()).horizontalAdvance(self._line())
        wanted = int(max(name, summary)) + theme.px(58)
        self.resize(QSize(min(width, wanted), theme.px(52)))

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("line"), 1))
        painter.setBrush(theme.colour("card"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10)
        painter.drawPixmap(theme.px(12), (self.height() - theme.px(20)) // 2, self._icon)
        left, width = theme.px(42), self.width() - theme.px(54)
        self._draw_line(painter, QRectF(left, theme.px(8), width, theme.px(18)), self._name, "text", self._name_font())
        token = "warning" if self._warning else "muted"
        self._draw_line(
            painter, QRectF(left, theme.px(27), width, theme.px(17)), self._line(), token, self._summary_font()
        )
        painter.end()

    def _line(self) -> str:
        return f"{self._summary} · {self._warning}" if self._warning else self._summary

    def _draw_line(self, painter: QPainter, rect: QRectF, text: str, token: str, font: QFont) -> None:
        painter.setFont(font)
        painter.setPen(self._theme.colour(token))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(rect.width()))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _name_font(self) -> QFont:
        return self._theme.text_font(13, weight=QFont.Weight.Medium)

    def _summary_font(self) -> QFont:
        return self._theme.text_font(12)
