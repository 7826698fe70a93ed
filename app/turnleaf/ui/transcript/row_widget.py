"""What a row of the transcript is to the list that shows it, and what all rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from turnleaf.bridge.slices import Slices
from turnleaf.services.rows import Row
from turnleaf.ui.icons import Icons
from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.flow_view import FlowView

RowActionKind = Literal["send_again", "edit", "discard"]


@dataclass(frozen=True, slots=True)
class RowAction:
    """The reader has pressed a button of turn ``turn``."""

    kind: RowActionKind
    turn: int


@dataclass(frozen=True, slots=True)
class Kit:
    """What a row needs to build itself."""

    theme: Theme
    icons: Icons
    slices: Slices


class RowWidget(QWidget):
    """One row. The list gives it a width and asks for its height; it says when that changes."""

    height_changed = Signal(object)
    """This row's height is another one now (itself)."""
    link_clicked = Signal(str)
    selection_started = Signal(object)
    action_requested = Signal(object)
    """A ``RowAction``."""

    def __init__(self, kit: Kit, parent: QWidget) -> None:
        super().__init__(parent)
        self._kit = kit
        self._flows: list[FlowView] = []

    def set_row(self, row: Row) -> None:
        """Show another state of the row."""
        raise NotImplementedError

    def lay_out(self, width: int) -> int:
        """Arrange for `width` pixels and return the height."""
        raise NotImplementedError

    def see(self, _top: float, _bottom: float) -> bool:
        """Lay out what is on screen, where there is much text; return whether the height is another one now."""
        return False

    def selected_text(self) -> str:
        """Return what is selected in this row."""
        return next((text for flow in self._flows if (text := flow.selected_text())), "")

    def clear_selection(self, keep: FlowView | None = None) -> None:
        """Select nothing, except in `keep`."""
        for flow in self._flows:
            if flow is not keep:
                flow.clear_selection()

    def measure_rest(self) -> None:
        """Make the height exact, in slices."""
        for flow in self._flows:
            if flow.isVisibleTo(self):
                flow.measure_rest()

    def retire(self) -> None:
        """Say that the widget is about to go: nothing may touch it any more."""
        for flow in self._flows:
            flow.retire()

    def _add_flow(self) -> FlowView:
        flow = FlowView(self._kit.theme, self._kit.slices, self)
        flow.link_clicked.connect(self.link_clicked)
        flow.selection_started.connect(self.selection_started)
        self._flows.append(flow)
        return flow
