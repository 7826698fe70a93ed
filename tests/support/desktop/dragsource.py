"""A drag source of its own: drops files on another program's window by the XDND protocol, version 5."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from Xlib import X, Xatom
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.protocol import event
from Xlib.xobject.drawable import Window

VERSION = 5
URI_LIST = "text/uri-list"
STEPS = 3


@dataclass(frozen=True)
class DropResult:
    """What the target answered: whether it would take the drop, and whether it then said that it had."""

    offered: bool
    taken: bool


def uri_list(targets: Sequence[Path | str]) -> bytes:
    """Return the `text/uri-list` of paths (percent-encoded as a file manager does it) and of ready URIs."""
    uris = [target.as_uri() if isinstance(target, Path) else target for target in targets]
    return "".join(f"{uri}\r\n" for uri in uris).encode()


def drop(display_name: str, point: tuple[int, int], formats: dict[str, bytes], *, timeout_s: float = 10) -> DropResult:
    """Drag data in the given formats (MIME type to bytes) with a held mouse button to a point, and let go there.

    Raises `TimeoutError` when the window under the point takes no part in the protocol or stops answering.
    """
    display = Display(display_name)
    try:
        with drag_window(display) as source:
            return _Drag(display, source, formats, time.monotonic() + timeout_s).run(point)
    finally:
        display.close()


@contextmanager
def drag_window(display: Display) -> Iterator[Window]:
    """A tiny window in the screen's last corner, from which the drag starts; above all others while it is needed."""
    screen = display.screen()
    window = screen.root.create_window(
        screen.width_in_pixels - 2,
        screen.height_in_pixels - 2,
        2,
        2,
        0,
        X.CopyFromParent,
        override_redirect=True,
        event_mask=X.ButtonPressMask | X.ButtonReleaseMask | X.ButtonMotionMask,
    )
    window.map()
    window.configure(stack_mode=X.Above)
    display.sync()
    try:
        yield window
    finally:
        window.destroy()
        display.sync()


class _Drag:
    """One drag from the press of the button to the target's last word."""

    def __init__(self, display: Display, source: Window, formats: dict[str, bytes], deadline: float) -> None:
        self.display = display
        self.root = display.screen().root
        self.source = source
        self.deadline = deadline
        self.time = X.CurrentTime
        self.formats = {self.atom(name): data for name, data in formats.items()}
        source.change_property(self.atom("XdndAware"), Xatom.ATOM, 32, [VERSION])
        source.change_property(self.atom("XdndTypeList"), Xatom.ATOM, 32, list(self.formats))

    def atom(self, name: str) -> int:
        return int(self.display.intern_atom(name))

    def run(self, point: tuple[int, int]) -> DropResult:
        self.press_button()
        try:
            target = self.window_at(point)
            offered = self.hover(target, point)
            if not offered:
                self.send(target, "XdndLeave", 0, 0, 0, 0)
                return DropResult(offered=False, taken=False)
        finally:
            xtest.fake_input(self.display, X.ButtonRelease, 1)
            self.display.sync()
        self.send(target, "XdndDrop", 0, self.time, 0, 0)
        finished = self.wait_for("XdndFinished")
        return DropResult(offered=True, taken=bool(finished[1] & 1))

    def press_button(self) -> None:
        """Press in the source window, which grabs the pointer for the drag, and own the drag's selection from then."""
        geometry = self.source.get_geometry()
        xtest.fake_input(self.display, X.MotionNotify, x=geometry.x, y=geometry.y)
        xtest.fake_input(self.display, X.ButtonPress, 1)
        self.display.sync()
        while self.time == X.CurrentTime:
            happened = self.next_event()
            if happened.type == X.ButtonPress:
                self.time = happened.time
        self.source.set_selection_owner(self.atom("XdndSelection"), self.time)

    def hover(self, target: Window, point: tuple[int, int]) -> bool:
        """Enter the target and move to the point in a few steps; return whether it would take the drop there."""
        first = [*self.formats, 0, 0, 0][:3]
        more_than_three = int(len(self.formats) > 3)
        self.send(target, "XdndEnter", VERSION << 24 | more_than_three, *first)
        accepted = False
        for step in range(STEPS):
            # The last step is the point itself.
            x, y = point[0] - (STEPS - 1 - step), point[1] - (STEPS - 1 - step)
            xtest.fake_input(self.display, X.MotionNotify, x=x, y=y)
            self.send(target, "XdndPosition", 0, x << 16 | y, self.time, self.atom("XdndActionCopy"))
            accepted = bool(self.wait_for("XdndStatus")[1] & 1)
        return accepted

    def window_at(self, point: tuple[int, int]) -> Window:
        """Return the window under the point that takes part in the protocol, from the top-level one inwards."""
        window = self.root
        while True:
            window = window.translate_coords(self.root, *point).child
            if window == X.NONE:
                raise TimeoutError(f"no window that takes drops lies at {point}")
            if window.get_full_property(self.atom("XdndAware"), Xatom.ATOM) is not None:
                return window

    def send(self, target: Window, kind: str, *data: int) -> None:
        message = event.ClientMessage(window=target, client_type=self.atom(kind), data=(32, [self.source.id, *data]))
        target.send_event(message)
        self.display.flush()

    def wait_for(self, kind: str) -> list[int]:
        """Return the data of the target's next message of that kind, serving the selection meanwhile."""
        wanted = self.atom(kind)
        while True:
            happened = self.next_event()
            if happened.type == X.SelectionRequest:
                self.serve(happened)
            elif happened.type == X.ClientMessage and happened.client_type == wanted:
                return list(happened.data[1])

    def serve(self, request: Any) -> None:
        """Hand the asked-for format over, or the list of formats, or say no."""
        chosen = request.property
        if request.target == self.atom("TARGETS"):
            request.requestor.change_property(chosen, Xatom.ATOM, 32, [self.atom("TARGETS"), *self.formats])
        elif request.target in self.formats:
            request.requestor.change_property(chosen, request.target, 8, self.formats[request.target])
        else:
            chosen = X.NONE
        request.requestor.send_event(
            event.SelectionNotify(
                time=request.time,
                requestor=request.requestor,
                selection=request.selection,
                target=request.target,
                property=chosen,
            )
        )
        self.display.flush()

    def next_event(self) -> Any:
        while not self.display.pending_events():
            if time.monotonic() > self.deadline:
                raise TimeoutError("the window under the pointer does not answer the drag")
            time.sleep(0.005)
        return self.display.next_event()
