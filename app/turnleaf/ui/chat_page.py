"""One tab's page: its notice bar, its transcript and its composer, bound to the tab's view model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QMimeData, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QImage, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from turnleaf.services.notices import Notice
from turnleaf.ui.composer import ComposerCard
from turnleaf.ui.icons import Icons
from turnleaf.ui.notice_bar import NoticeBar
from turnleaf.ui.start_page import Greeting, Starts
from turnleaf.ui.texts import plain_tool_tip, tr
from turnleaf.ui.theme import COLUMN_PX, Theme
from turnleaf.ui.transcript.row_widget import RowAction
from turnleaf.ui.transcript.view import TranscriptView
from turnleaf.viewmodels.chat import ChatViewModel, ModelChoice
from turnleaf.viewmodels.composer import Chip
from turnleaf.viewmodels.outline import OutlineEntry, outline_of
from turnleaf.viewmodels.usage import Usage

if TYPE_CHECKING:
    from turnleaf.services.attachments import Fit
    from turnleaf.services.conversation import SaveState
    from turnleaf.services.row_list import RowChange
    from turnleaf.services.rows import Row
    from turnleaf.viewmodels.turn import TurnOutcome

LONGEST_ANNOUNCEMENT = 1_000
LONGEST_LABEL = 34
STILL_READING = "still_reading"
NOT_SAVED = ("not_saved", "not_saved_disk_full")


class ChatPage(QWidget):
    """The widgets of one tab. It shows what the view model says and tells it what was pressed."""

    attach_requested = Signal()
    open_requested = Signal()
    continue_requested = Signal(str)
    sample_requested = Signal()
    model_requested = Signal()
    link_clicked = Signal(str)
    notice_action = Signal(str)
    """A button of the notice bar (its action id)."""
    outline_changed = Signal(object)
    """The turns of this conversation (a tuple of ``OutlineEntry``)."""
    turn_in_view_changed = Signal(int)

    def __init__(self, chat: ChatViewModel, theme: Theme, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.chat = chat
        self._theme = theme
        self._fit: Fit | None = None
        self._outline: tuple[OutlineEntry, ...] = ()
        self.notices = NoticeBar(theme, icons, self)
        self.transcript = TranscriptView(theme, icons, self)
        self.greeting = Greeting(theme, self)
        self.card = ComposerCard(theme, icons, self)
        self.starts = Starts(theme, icons, self)
        self._middle = QWidget(self)
        self._build()
        self._connect_widgets()
        self._connect_model()
        self._on_rows_reset(chat.rows)
        self._on_phase(chat.phase)
        self._on_content_changed()

    def set_theme(self, theme: Theme, icons: Icons) -> None:
        """Take another look on."""
        self._theme = theme
        self.notices.set_theme(theme, icons)
        self.transcript.set_theme(theme, icons)
        self.greeting.set_theme(theme)
        self.card.set_theme(theme, icons)
        self.card.chips.set_theme(theme, icons, self.chat.composer.chips)
        self.card.show_queue(self.chat.queue)
        self.starts.set_theme(theme, icons)
        self._arrange()

    def outline(self) -> tuple[OutlineEntry, ...]:
        """Return the turns of this conversation."""
        return self._outline

    def focus_composer(self) -> None:
        """Give the keyboard to the composer."""
        self.card.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def send(self) -> None:
        """Send what stands in the composer."""
        composer = self.chat.composer
        if self.chat.send():
            self.transcript.show_end()
        elif composer.is_reading and composer.text.strip():
            text = tr("A file is still being read; send again when it is there.")
            self.notices.show_notice(Notice(id=STILL_READING, text=text, severity="info"))

    def attach_part(self) -> None:
        """Use the part of the files that fits, as it was offered."""
        if self._fit is not None:
            self.chat.use_suggestion(self._fit)
            self.notices.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._arrange()

    def _build(self) -> None:
        column = QVBoxLayout(self._middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.greeting, self.card, self.starts):
            column.addWidget(widget)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addWidget(self.notices)
        page.addStretch(0)
        page.addWidget(self.transcript, 1)
        page.addWidget(self._middle)
        page.addStretch(0)
        self._page = page
        self._column = column

    def _connect_widgets(self) -> None:
        card, starts = self.card, self.starts
        card.edit.textChanged.connect(lambda: self.chat.composer.set_text(card.edit.toPlainText()))
        card.edit.mime_pasted.connect(self._on_pasted)
        card.send_requested.connect(self.send)
        card.stop_requested.connect(self.chat.stop)
        card.attach_requested.connect(self.attach_requested)
        card.model_requested.connect(self.model_requested)
        card.chip_removed.connect(self.chat.composer.remove)
        card.queued_removed.connect(self.chat.remove_queued)
        starts.attach_requested.connect(self.attach_requested)
        starts.open_requested.connect(self.open_requested)
        starts.continue_requested.connect(self.continue_requested)
        starts.sample_requested.connect(self.sample_requested)
        self.transcript.link_clicked.connect(self.link_clicked)
        self.transcript.action_requested.connect(self._on_row_action)
        self.transcript.turn_in_view_changed.connect(self.turn_in_view_changed)
        self.notices.action_requested.connect(self.notice_action)

    def _connect_model(self) -> None:
        chat = self.chat
        chat.rows_reset.connect(self._on_rows_reset)
        chat.rows_changed.connect(self._on_rows_changed)
        chat.phase_changed.connect(self._on_phase)
        chat.notice_raised.connect(self._on_notice)
        chat.queue_changed.connect(self.card.show_queue)
        chat.model_changed.connect(self._on_model)
        chat.usage_changed.connect(self._on_usage)
        chat.save_changed.connect(self._on_save_state)
        chat.fit_refused.connect(self._on_fit_refused)
        chat.turn_ended.connect(self._on_turn_ended)
        chat.composer.chips_changed.connect(self._on_chips)
        chat.composer.text_replaced.connect(self.card.edit.replace_text)
        chat.composer.content_changed.connect(self._on_content_changed)
        chat.composer.reading_finished.connect(self._on_reading_finished)

    def _arrange(self) -> None:
        """Put the composer in the middle of an empty tab, and under the conversation otherwise."""
        theme = self._theme
        empty = not self.transcript.rows()
        self.transcript.setVisible(not empty)
        self.greeting.setVisible(empty)
        self.starts.setVisible(empty)
        self._page.setStretch(1, 3 if empty else 0)
        self._page.setStretch(2, 0 if empty else 1)
        self._page.setStretch(4, 4 if empty else 0)
        # The transcript's scroll bar takes its share of the width; the card stays in line with the column.
        bar = 0 if empty else self.transcript.bar_width()
        room = self.width() - bar
        width = max(200, min(theme.px(COLUMN_PX), room - 2 * theme.px(24)))
        side = max(0, (room - width) // 2)
        self._column.setContentsMargins(side, 0, side + bar, theme.px(16))
        self.card.edit.set_room(self.height())

    def _on_rows_reset(self, rows: Sequence[Row]) -> None:
        self.transcript.reset(rows)
        self._arrange()
        self._tell_outline()

    def _on_rows_changed(self, changes: Sequence[RowChange]) -> None:
        was_empty = not self.transcript.rows()
        self.transcript.apply(changes)
        if was_empty != (not self.transcript.rows()):
            self._arrange()
        if any(change.kind != "update" or not change.appended for change in changes):
            self._tell_outline()

    def _tell_outline(self) -> None:
        entries = outline_of(self.transcript.rows())
        if entries != self._outline:
            self._outline = entries
            self.outline_changed.emit(entries)

    def _on_phase(self, phase: str) -> None:
        self.card.set_running(phase == "running")
        self._on_content_changed()

    def _on_notice(self, notice: Notice | None) -> None:
        if notice is None:
            self.notices.clear()
        else:
            self.notices.show_notice(notice)

    def _on_model(self, model: ModelChoice) -> None:
        label = model.label if not model.pending else tr("{model} (next)").format(model=model.label)
        self.card.model.setText(label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…")
        self.card.model.setToolTip(plain_tool_tip(f"{label}\n{tr('Choose the model that answers next')}"))
        self.card.model.setAccessibleName(tr("Model: {model}").format(model=label))

    def _on_usage(self, usage: Usage) -> None:
        self.card.meter.set_usage(usage)

    def _on_save_state(self, state: SaveState | None) -> None:
        if state is not None and state.problem is None:
            self.notices.withdraw(NOT_SAVED)

    def _on_fit_refused(self, fit: Fit) -> None:
        self._fit = fit
        actions = ("attach_part",) if fit.suggestion is not None else ()
        self.notices.show_notice(Notice(id="too_long_to_send", text=fit.text, severity="warning", actions=actions))

    def _on_turn_ended(self, outcome: TurnOutcome) -> None:
        """Tell a screen reader of a finished answer, once."""
        if outcome.completed and QAccessible.isActive():
            words = self.transcript.last_answer()[:LONGEST_ANNOUNCEMENT]
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.transcript, words))

    def _on_chips(self, chips: Sequence[Chip]) -> None:
        self.card.chips.show_chips(chips)
        if self._fit is not None and self.notices.notice is not None and self.notices.notice.id == "too_long_to_send":
            self._fit = None
            self.notices.clear()

    def _on_reading_finished(self) -> None:
        if self.notices.notice is not None and self.notices.notice.id == STILL_READING:
            self.notices.clear()

    def _on_content_changed(self) -> None:
        composer = self.chat.composer
        sendable = not composer.is_empty and not composer.is_reading and self.chat.phase != "failed"
        self.card.set_sendable(sendable, tr("A file is still being read") if composer.is_reading else "")

    def _on_row_action(self, action: RowAction) -> None:
        match action.kind:
            case "send_again":
                self.chat.send_again(action.turn)
                self.transcript.show_end()
            case "edit":
                self.chat.edit_interrupted(action.turn)
            case "discard":
                self.chat.discard_interrupted(action.turn)
        # The pressed button goes with its card.
        self.focus_composer()

    def _on_pasted(self, data: QMimeData) -> None:
        """Keep the text of what is pasted; files and pictures become attachments when there is no text beside them."""
        paths = local_files(data)
        if paths:
            self.chat.composer.add_files(paths)
        elif data.hasText() and data.text():
            if not self.chat.composer.add_pasted_text(data.text()):
                self.card.edit.insert_text(data.text())
        elif data.hasImage():
            picture = data.imageData()
            if isinstance(picture, QImage) and not picture.isNull():
                self.chat.composer.add_bytes(tr("Pasted picture.png"), png_bytes(picture))


def local_files(data: QMimeData) -> list[Path]:
    """Return the files on this computer that `data` names."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile() and url.toLocalFile()]


def png_bytes(picture: QImage) -> bytes:
    """Return `picture` as a PNG file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
