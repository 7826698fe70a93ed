"""The composer: one card with the files, the text, and below them attach, model, meter and send."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetricsF, QInputMethodEvent, QKeyEvent, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QTextEdit, QToolButton, QVBoxLayout, QWidget

from turnleaf.ui.chips import ChipStrip
from turnleaf.ui.icons import Icons
from turnleaf.ui.meter import ContextMeter
from turnleaf.ui.texts import tr
from turnleaf.ui.theme import Theme
from turnleaf.viewmodels.composer import Message

MOST_LINES = 10
MOST_SHARE = 0.4


class ComposerEdit(QTextEdit):
    """``composer``: the text. It grows from one line to ten, then it scrolls."""

    send_requested = Signal()
    stop_requested = Signal()
    """Esc in an empty composer while an answer runs."""
    mime_pasted = Signal(object)
    """Something that is not simply text was pasted (``QMimeData``)."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.setAccessibleName(tr("Message"))
        self.setToolTip("")
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setPlaceholderText(tr("Ask about a document, or anything else"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAcceptDrops(False)
        self.document().setDocumentMargin(2)
        self.enter_sends = True
        self.stoppable = False
        self._composing = False
        self._room = 10_000
        self.set_theme(theme)
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())

    def set_theme(self, theme: Theme) -> None:
        """Take another look on."""
        self._theme = theme
        self.setFont(theme.text_font())
        self._fit()

    def set_room(self, height: int) -> None:
        """Take at most a good third of `height` pixels."""
        self._room = int(height * MOST_SHARE)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if is_enter and not self._composing:
            if held == Qt.KeyboardModifier.ControlModifier or (
                held == Qt.KeyboardModifier.NoModifier and self.enter_sends
            ):
                self.send_requested.emit()
                return
            if held in (Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier):
                self.insertPlainText("\n")
                self.ensureCursorVisible()
                return
        stops = self.stoppable and not self._composing and not self.toPlainText()
        if stops and event.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
            return
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        # While an input method shows what is being composed, Enter belongs to it.
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._composing = False
        super().focusOutEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() or source.hasUrls() or source.hasImage()

    def insertFromMimeData(self, source: QMimeData) -> None:
        self.mime_pasted.emit(source)

    def insert_text(self, text: str) -> None:
        """Insert plain text at the cursor."""
        self.insertPlainText(text)
        self.ensureCursorVisible()

    def replace_text(self, text: str) -> None:
        """Show `text`, with the cursor behind it."""
        if text != self.toPlainText():
            self.setPlainText(text)
            cursor = self.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            self.setTextCursor(cursor)

    def _fit(self) -> None:
        metrics = QFontMetricsF(self.font())
        line = metrics.lineSpacing()
        margin = 2 * self.document().documentMargin()
        most = max(line, min(MOST_LINES * line, self._room)) + margin
        wanted = max(line + margin, self.document().size().height())
        self.setFixedHeight(round(min(most, wanted)) + 1)


class ComposerCard(QFrame):
    """Everything of the composer. It decides nothing: what is pressed is said."""

    send_requested = Signal()
    stop_requested = Signal()
    attach_requested = Signal()
    model_requested = Signal()
    chip_removed = Signal(int)
    queued_removed = Signal(int)

    def __init__(self, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("composerCard")
        self._theme, self._icons = theme, icons
        self._running = False
        self.edit = ComposerEdit(theme, self)
        self.edit.send_requested.connect(self.send_requested)
        self.edit.stop_requested.connect(self.stop_requested)
        self.edit.installEventFilter(self)
        self.chips = ChipStrip(theme, icons, self)
        self.chips.remove_requested.connect(self.chip_removed)
        self.attach = self._tool("attachButton", tr("Attach files"), self.attach_requested)
        self.model = self._tool("modelSwitcher", tr("Choose the model that answers next"), self.model_requested)
        self.model.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.model.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.meter = ContextMeter(theme, self)
        self.send = self._tool("sendButton", tr("Send"), self.send_requested)
        self.stop = self._tool("stopButton", tr("Stop the answer"), self.stop_requested)
        self._queued = QVBoxLayout()
        self._build()
        self.set_theme(theme, icons)
        self.set_running(False)

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._theme, self._icons = theme, icons
        layout = self.layout()
        assert layout is not None
        layout.setContentsMargins(theme.px(14), theme.px(12), theme.px(10), theme.px(9))
        layout.setSpacing(theme.px(8))
        self.edit.set_theme(theme)
        self.meter.set_theme(theme)
        self.attach.setIcon(icons.icon("attach", size=19))
        self.attach.setIconSize(icons.size(19))
        self.model.setIcon(icons.icon("chevron-down", size=13))
        self.model.setIconSize(icons.size(13))
        self.send.setIcon(icons.icon("send", "on_accent", size=19))
        self.stop.setIcon(icons.icon("stop", "page", size=19))
        side = theme.px(32)
        for button in (self.send, self.stop):
            button.setIconSize(icons.size(19))
            button.setFixedSize(QSize(side, side))

    def set_running(self, running: bool) -> None:
        """Offer *Stop* while an answer runs, and *Send*, which queues, beside it when something is typed."""
        self._running = running
        self.edit.stoppable = running
        self._choose_button()

    def set_sendable(self, sendable: bool, reason: str = "") -> None:
        """Say whether what stands here can be sent."""
        self.send.setEnabled(sendable)
        tip = reason or (tr("Send when the answer ends") if self._running else tr("Send"))
        self.send.setToolTip(tip)
        self._choose_button()

    def show_queue(self, messages: Sequence[Message]) -> None:
        """Show the messages that wait for the running answer."""
        while (item := self._queued.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for index, message in enumerate(messages):
            self._queued.addWidget(self._queued_row(index, message))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit and event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.setProperty("focused", event.type() == QEvent.Type.FocusIn)
            self.style().unpolish(self)
            self.style().polish(self)
        return super().eventFilter(watched, event)

    def _build(self) -> None:
        row = QHBoxLayout()
        # The icon stands under the text, not its button's edge.
        row.setContentsMargins(-6, 0, 0, 0)
        row.setSpacing(4)
        for widget in (self.attach, self.model):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.meter)
        row.addSpacing(6)
        row.addWidget(self.stop)
        row.addWidget(self.send)
        column = QVBoxLayout(self)
        column.addLayout(self._queued)
        column.addWidget(self.chips)
        column.addWidget(self.edit)
        column.addLayout(row)

    def _choose_button(self) -> None:
        # A draft never hides Stop: what runs can be stopped without giving the draft up.
        can_send = self.send.isEnabled() or not self._running
        lost = (self.stop.hasFocus() and not self._running) or (self.send.hasFocus() and not can_send)
        self.stop.setVisible(self._running)
        self.send.setVisible(can_send)
        if lost:
            (self.stop if self._running else self.send).setFocus(Qt.FocusReason.OtherFocusReason)

    def _tool(self, name: str, tip: str, pressed: object) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(pressed)
        return button

    def _queued_row(self, index: int, message: Message) -> QWidget:
        frame = QFrame(self)
        frame.setObjectName("queuedMessage")
        row = QHBoxLayout(frame)
        row.setContentsMargins(self._theme.px(10), self._theme.px(5), self._theme.px(5), self._theme.px(5))
        label = QLabel(frame)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("look", "muted")
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        words = " ".join(message.text.split())[:300]
        files = tr(" (+{n} files)").format(n=len(message.attachments)) if message.attachments else ""
        label.setText(tr("Next: {text}").format(text=words) + files)
        remove = QToolButton(frame)
        remove.setObjectName("removeQueued")
        remove.setIcon(self._icons.icon("close", size=13))
        remove.setToolTip(tr("Put this message back into the composer"))
        remove.setAccessibleName(tr("Put this message back into the composer"))
        remove.clicked.connect(lambda: self.queued_removed.emit(index))
        row.addWidget(label, 1)
        row.addWidget(remove)
        return frame
