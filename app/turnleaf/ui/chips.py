"""The chips of the composer: one a file, with how it will reach the model, how far reading is, or why it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QSizePolicy, QToolButton, QWidget

from turnleaf.ui.flow_layout import FlowLayout
from turnleaf.ui.icons import Icons
from turnleaf.ui.texts import (
    attachment_details,
    attachment_summary,
    number_text,
    one_line,
    pages_without_text,
    plain_tool_tip,
    tr,
)
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.composer import Chip


class AttachmentChip(QFrame):
    """``attachmentChip``: a file that will be sent with the question."""

    remove_requested = Signal(int)
    """The chip's number."""

    def __init__(self, chip: Chip, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attachmentChip")
        self._theme = theme
        self._share = 0.0
        self._name = self._make_label("chipName")
        self._line = self._make_label("chipLine")
        picture = QLabel(self)
        picture.setPixmap(icons.pixmap("file", "accent", size=20))
        remove = QToolButton(self)
        remove.setObjectName("removeAttachment")
        remove.setIcon(icons.icon("close", size=13))
        remove.setIconSize(icons.size(13))
        remove.setToolTip(tr("Remove this file"))
        remove.setAccessibleName(tr("Remove {name}").format(name=one_line(chip.name)))
        remove.clicked.connect(lambda: self.remove_requested.emit(chip.number))
        grid = QGridLayout(self)
        grid.setContentsMargins(theme.px(10), theme.px(6), theme.px(5), theme.px(7))
        grid.setHorizontalSpacing(theme.px(9))
        grid.setVerticalSpacing(0)
        grid.addWidget(picture, 0, 0, 2, 1)
        grid.addWidget(self._name, 0, 1)
        grid.addWidget(self._line, 1, 1)
        grid.addWidget(remove, 0, 2, 2, 1, Qt.AlignmentFlag.AlignTop)
        self.set_chip(chip)

    def set_chip(self, chip: Chip) -> None:
        """Show another state of the file."""
        self._chip = chip
        self._share = chip.done / chip.total if chip.state == "reading" and chip.total else 0.0
        line, look = _chip_line(chip)
        self.setProperty("state", chip.state)
        self._line.setProperty("state", look)
        self._set_elided(self._name, one_line(chip.name))
        self._set_elided(self._line, line)
        self.setAccessibleName(f"{one_line(chip.name)}, {line}")
        details = attachment_details(chip.info) if chip.info is not None else chip.name
        notice = f"\n{chip.notice.text}" if chip.notice is not None else ""
        self.setToolTip(plain_tool_tip(details + notice))
        for widget in (self, self._line):
            self.style().unpolish(widget)
            self.style().polish(widget)
        self.update()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(min(hint.width(), self._theme.px(620)), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._chip.state != "reading":
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        track = QRectF(10, self.height() - 5, self.width() - 20, 2.5)
        painter.setBrush(self._theme.colour("line"))
        painter.drawRoundedRect(track, 1.25, 1.25)
        track.setWidth(max(6.0, track.width() * self._share))
        painter.setBrush(self._theme.colour("accent"))
        painter.drawRoundedRect(track, 1.25, 1.25)
        painter.end()

    def _make_label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("look", look)
        label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        label.setMinimumWidth(self._theme.px(60))
        return label

    def _set_elided(self, label: QLabel, text: str) -> None:
        label.ensurePolished()
        label.setText(label.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, self._theme.px(520)))


class ChipStrip(QWidget):
    """All chips of a composer, in lines."""

    remove_requested = Signal(int)
    """A chip's number."""

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons = icons
        self._chips: dict[int, AttachmentChip] = {}
        self._layout = FlowLayout(self, theme.px(8))
        self.hide()

    def show_chips(self, chips: Sequence[Chip]) -> None:
        """Show these files."""
        wanted = {chip.number for chip in chips}
        for number in [number for number in self._chips if number not in wanted]:
            widget = self._chips.pop(number)
            self._layout.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        for chip in chips:
            known = self._chips.get(chip.number)
            if known is not None:
                known.set_chip(chip)
                continue
            made = AttachmentChip(chip, self._theme, self._icons, self)
            made.remove_requested.connect(self.remove_requested)
            self._chips[chip.number] = made
            self._layout.addWidget(made)
            made.show()
        self.setVisible(bool(chips))
        self.updateGeometry()

    def set_theme(self, theme: Theme, icons: Icons, chips: Sequence[Chip]) -> None:
        """Build the chips again in another look."""
        self._theme, self._icons = theme, icons
        self.show_chips([])
        self.show_chips(chips)


def _chip_line(chip: Chip) -> tuple[str, str]:
    match chip.state:
        case "reading" if chip.total:
            unit = {"pages": tr("pages"), "bytes": tr("bytes")}.get(chip.unit, chip.unit)
            done = tr("Reading… {done} / {total} {unit}")
            return done.format(done=number_text(chip.done), total=number_text(chip.total), unit=unit), "reading"
        case "reading":
            return tr("Reading…"), "reading"
        case "refused":
            return (chip.notice.text if chip.notice is not None else tr("cannot be used")), "refused"
        case "ready":
            assert chip.info is not None or chip.attachment is not None
            info = chip.attachment.info if chip.attachment is not None else chip.info
            assert info is not None
            line = attachment_summary(info)
            document = chip.attachment.document if chip.attachment is not None else None
            warnings = []
            if info.pages_without_text:
                warnings.append(pages_without_text(info.pages_without_text))
            if document is not None and document.encoding_guessed:
                warnings.append(tr("encoding guessed: {name}").format(name=document.encoding or "?"))
            return " · ".join([line, *warnings]), "warning" if warnings else "ready"
