"""A widget that shows one text: it paints its flow, and lets the reader select, copy and follow links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QEnterEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from turnleaf.bridge.slices import Slices
from turnleaf.ui.texts import plain_tool_tip
from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.code_layout import CodeLayout
from turnleaf.ui.transcript.flow import Flow, Place
from turnleaf.viewmodels.markdown.items import Item, item_text

NAMING_MS = 250


class FlowView(QWidget):
    """Shows items at a given width. Whoever owns it gives it its size and says which part is seen."""

    link_clicked = Signal(str)
    """A link's address; nothing was opened."""
    height_changed = Signal(float)
    """The height has become exact, or the text has grown."""
    selection_started = Signal(object)
    """The reader begins to select in this widget (itself)."""

    def __init__(self, theme: Theme, slices: Slices, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._slices = slices
        self._flow = Flow(theme, 400)
        self._selection: tuple[Place, Place] | None = None
        self._anchor: Place | None = None
        self._copy_buttons: dict[int, QToolButton] = {}
        self._colouring: set[int] = set()
        self._seen = (0.0, 0.0)
        self._retired = False
        self._measuring = False
        # What a screen reader reads follows a growing text at a distance: building it costs the length of the text.
        self._naming = QTimer(self)
        self._naming.setSingleShot(True)
        self._naming.setInterval(NAMING_MS)
        self._naming.timeout.connect(self._name)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    @property
    def items(self) -> list[Item]:
        """What is shown."""
        return self._flow.items

    def set_items(self, items: Sequence[Item], changed_from: int = 0, *, growing: bool = False) -> None:
        """Show `items`; those before `changed_from` are the ones shown already. `growing`: more will follow soon."""
        if self._selection and max(self._selection)[0] >= changed_from:
            self._selection = None
        self._flow.set_items(items, changed_from)
        for index in [index for index in self._copy_buttons if index >= changed_from]:
            self._place_copy_button(index)
        self._lay_out_seen()
        top = int(self._flow.top_of(changed_from)) - 4 if changed_from < len(self._flow.items) else 0
        self.update(0, max(0, top), self.width(), self.height())
        if not growing:
            self._naming.stop()
            self._name()
        elif not self._naming.isActive():
            self._naming.start()

    def set_theme(self, theme: Theme) -> None:
        """Show the same text in another look."""
        self._theme = theme
        items, width = self._flow.items, self.width()
        self._flow = Flow(theme, width)
        self._flow.set_items(items)
        for button in self._copy_buttons.values():
            button.deleteLater()
        self._copy_buttons.clear()
        self._colouring.clear()
        self.update()

    def set_width(self, width: int) -> None:
        """Lay out for `width` pixels."""
        self._flow.resize(width)

    @property
    def retired(self) -> bool:
        """Whether the widget is about to go; work that is still queued for it ends."""
        return self._retired

    def retire(self) -> None:
        """Say that the widget is about to go."""
        self._retired = True
        self._naming.stop()

    def see(self, top: float, bottom: float) -> bool:
        """Lay out the part between `top` and `bottom`, which is seen; return whether the height is another one now."""
        self._seen = (top, bottom)
        before = self._flow.height
        self._lay_out_seen()
        return self._flow.height != before

    def measure_rest(self) -> None:
        """Make the height exact, in slices."""
        if not self._measuring and not self._flow.is_exact():
            self._measuring = True
            self._slices.start(self._until_retired(self._flow.lay_out_rest()), self._on_measured)

    def flow_height(self) -> float:
        """Return the height, exact where it was seen."""
        return self._flow.height

    def natural_width(self) -> float:
        """Return the width of the longest line."""
        return self._flow.natural_width()

    def plain_text(self) -> str:
        """Return everything as a reader would copy it."""
        return "\n\n".join(item_text(item) for item in self._flow.items)

    def selected_text(self) -> str:
        """Return what is selected, or an empty text."""
        return self._flow.copied(self._selection) if self._selection else ""

    def clear_selection(self) -> None:
        """Select nothing."""
        if self._selection is not None:
            self._selection = None
            self.update()

    def select_all(self) -> None:
        """Select the whole text."""
        self.selection_started.emit(self)
        self._selection = self._flow.everything()
        self.update()

    def copy(self) -> None:
        """Copy what is selected."""
        text = self.selected_text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        self._flow.paint(painter, QRectF(event.rect()), self._selection)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        place = self._flow.place_at(event.position())
        self.selection_started.emit(self)
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._anchor is not None:
            self._selection = (self._anchor, place)
        else:
            self._anchor, self._selection = place, None
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._anchor is not None:
            self._selection = (self._anchor, self._flow.place_at(event.position()))
            self.update()
            return
        link = self._flow.link_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor)
        self.setToolTip(plain_tool_tip(link) if link else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        nothing_selected = self._selection is None or self._selection[0] == self._selection[1]
        if nothing_selected and (link := self._flow.link_at(event.position())):
            self.link_clicked.emit(link)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._flow.items:
            self.selection_started.emit(self)
            self._selection = self._flow.word_at(self._flow.place_at(event.position()))
            self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = event.angleDelta().x() or (
            event.angleDelta().y() if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 0
        )
        if sideways and self._flow.scroll_sideways(event.position(), -sideways / 2):
            self.update()
            event.accept()
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = QAction(self.tr("Copy"), menu)
        copy.setEnabled(bool(self.selected_text()))
        copy.triggered.connect(self.copy)
        select = QAction(self.tr("Select all"), menu)
        select.triggered.connect(self.select_all)
        menu.addActions([copy, select])
        link = self._flow.link_at(QPointF(event.pos()))
        if link:
            copy_link = QAction(self.tr("Copy address"), menu)
            copy_link.triggered.connect(lambda: QGuiApplication.clipboard().setText(link))
            menu.addAction(copy_link)
        menu.popup(event.globalPos())

    def enterEvent(self, event: QEnterEvent) -> None:
        self._set_copy_buttons_lit(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_copy_buttons_lit(False)
        super().leaveEvent(event)

    def _name(self) -> None:
        self.setAccessibleName(self.plain_text())

    def _lay_out_seen(self) -> None:
        top, bottom = self._seen
        if bottom > top:
            self._flow.lay_out(top, bottom)
            self._dress_code(top, bottom)
        self.height_changed.emit(self._flow.height)

    def _until_retired(self, work: Iterator[object]) -> Iterator[object]:
        while not self._retired:
            try:
                yield next(work)
            except StopIteration:
                return

    def _on_measured(self) -> None:
        self._measuring = False
        if self._retired:
            return
        for index in self._copy_buttons:
            self._place_copy_button(index)
        self.height_changed.emit(self._flow.height)
        self.update()

    def _dress_code(self, top: float, bottom: float) -> None:
        """Give the code blocks that are seen their colours and their copy button."""
        for index, layout in self._flow.laid_out():
            at = self._flow.top_of(index)
            if isinstance(layout, CodeLayout) and at <= bottom and at + layout.height >= top:
                if index not in self._copy_buttons:
                    self._copy_buttons[index] = self._make_copy_button(index)
                self._place_copy_button(index)
                self._colour(index, layout)

    def _colour(self, index: int, layout: CodeLayout) -> None:
        if layout.coloured or index in self._colouring:
            return
        self._colouring.add(index)

        def done() -> None:
            self._colouring.discard(index)
            if self._retired:
                return
            self.update()
            if not layout.coloured:
                self._lay_out_seen()

        self._slices.start(self._until_retired(layout.colour_in()), done)

    def _make_copy_button(self, index: int) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("copyCode")
        button.setText(self.tr("Copy"))
        button.setAccessibleName(self.tr("Copy this code"))
        button.setToolTip(self.tr("Copy this code"))
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.setFont(self._theme.text_font(12.5))
        button.clicked.connect(lambda: self._copy_code(index))
        button.show()
        return button

    def _place_copy_button(self, index: int) -> None:
        button = self._copy_buttons[index]
        layout = self._flow.layout_of(index) if index < len(self._flow.items) else None
        if not isinstance(layout, CodeLayout):
            button.hide()
            return
        button.adjustSize()
        head = layout.head_rect().translated(0.0, self._flow.top_of(index))
        corner = QPoint(round(head.right() - button.width() - 6), round(head.center().y() - button.height() / 2))
        button.move(corner)
        button.show()

    def _copy_code(self, index: int) -> None:
        item = self._flow.items[index]
        QGuiApplication.clipboard().setText(item_text(item))
        button = self._copy_buttons[index]
        button.setText(self.tr("Copied"))
        self._place_copy_button(index)

    def _set_copy_buttons_lit(self, lit: bool) -> None:
        for index, button in self._copy_buttons.items():
            button.setProperty("lit", lit)
            if not lit:
                button.setText(self.tr("Copy"))
                self._place_copy_button(index)
