"""The application under test: a real process in a desktop session, with what a user can do to it and see of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import psutil
from Xlib import X, Xatom
from Xlib.protocol import event
from Xlib.xobject.drawable import Window

from support.desktop.accessibility import GoneError, Node
from support.desktop.dragsource import URI_LIST, DropResult, drop, uri_list
from support.desktop.input import give_focus
from support.desktop.session import DesktopSession, end_all, is_alive, processes_marked

Found = TypeVar("Found")
SOURCE_ROOT = Path(__file__).resolve().parents[3]
# Of the surrounding test run: the app under test takes its display and profile from the driver alone.
NOT_INHERITED = ("QT_QPA_PLATFORM", "TURNLEAF_PROFILE", "PYTHONPATH", "XAUTHORITY", "WAYLAND_DISPLAY")
POLL_S = 0.05
MARK = "TURNLEAF_TEST_APP"


class App:
    """One started process of the application and its window; use it as a context manager.

    Leaving the block ends what is still running. When the block fails, a screenshot, the accessible tree and the
    logs are written into `evidence`, and the failure says so.
    """

    def __init__(
        self,
        session: DesktopSession,
        evidence: Path,
        *,
        profile: Path | None = None,
        arguments: Sequence[str] = (),
        command: Sequence[str] = (sys.executable, "-m", "turnleaf"),
        environment: dict[str, str] | None = None,
    ) -> None:
        self.session = session
        self.evidence = evidence
        self.profile = profile
        self.command = [*command, *(["--profile", str(profile)] if profile else []), *arguments]
        self.mark = uuid.uuid4().hex
        self.extra_environment = {**(environment or {}), MARK: self.mark}
        self.mouse = session.mouse
        self.keyboard = session.keyboard
        self._family: set[psutil.Process] = set()

    def __enter__(self) -> Self:
        self.evidence.mkdir(parents=True, exist_ok=True)
        self.output = self.evidence / f"output-{time.monotonic_ns()}.log"
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        environment = {
            **inherited,
            **self.session.environment,
            "PYTHONPATH": str(SOURCE_ROOT / "app"),
            "PYTHONUNBUFFERED": "1",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            **self.extra_environment,
        }
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.keep_evidence())
        self.remember_children()
        if self.running:
            self.process.kill()
        self.process.wait()
        end_all(self.left_behind(), grace_s=2)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    # Waiting and finding.

    def wait_until(self, condition: Callable[[], Found], what: str, timeout_s: float = 20) -> Found:
        """Poll until `condition` gives something true and return it; an `AssertionError` names `what` was missed."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                found = condition()
            except GoneError:
                found = None
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {timeout_s} s")
            if not self.running:
                raise AssertionError(f"{what}: the application ended with exit code {self.process.returncode}")
            time.sleep(POLL_S)

    def root(self) -> Node:
        """Return the application's accessible object; raises `GoneError` while it has none."""
        node = self.session.accessibility.application(self.process.pid)
        if node is None:
            raise GoneError(f"process {self.process.pid} is not on the accessibility bus")
        return node

    def find_all(self, object_name: str = "", *, name: str = "", role: str = "", showing: bool = True) -> list[Node]:
        try:
            return self.root().find_all(object_name, name=name, role=role, showing=showing)
        except GoneError:
            return []

    def find(self, object_name: str = "", *, name: str = "", role: str = "", timeout_s: float = 20) -> Node:
        """Wait for a shown widget that fits all given criteria; with several, the first in the tree."""
        sought = ", ".join(part for part in (object_name, name, role) if part)
        return self.wait_until(
            lambda: self.find_all(object_name, name=name, role=role), f"a shown widget ({sought})", timeout_s
        )[0]

    def text_of(self, object_name: str) -> str:
        """Every text shown at or below a widget, one line each; empty while it is not there."""
        return "\n".join(node.texts() for node in self.find_all(object_name))

    def wait_for_text(self, object_name: str, wanted: str, timeout_s: float = 20) -> str:
        """Wait until the texts of a widget hold `wanted`, and return them."""
        seen = ""

        def holds() -> bool:
            nonlocal seen
            seen = self.text_of(object_name)
            return wanted in seen

        try:
            self.wait_until(holds, f"{wanted!r} in {object_name}", timeout_s)
        except AssertionError as missed:
            missed.add_note(f"{object_name} held:\n{seen}")
            raise
        return seen

    # The window.

    def top_windows(self) -> list[Window]:
        """The mapped top-level windows of this process, the topmost last."""
        display = self.session.display
        root = display.screen().root
        of_process = display.intern_atom("_NET_WM_PID")
        found = []
        for window in root.query_tree().children:
            pid = window.get_full_property(of_process, Xatom.CARDINAL)
            mapped = window.get_attributes().map_state == X.IsViewable
            if pid is not None and pid.value[0] == self.process.pid and mapped:
                found.append(window)
        return found

    def wait_for_window(self, timeout_s: float = 30) -> Self:
        """Wait for a window that can be seen and found, and give it the keyboard."""
        self.wait_until(self.top_windows, "a window", timeout_s)
        self.find(role="frame", timeout_s=timeout_s)
        self.focus()
        return self

    def focus(self) -> None:
        """Give the keyboard to the topmost window (popups have a grab of their own and are left out)."""
        give_focus(self.session.display, self.managed_windows()[-1])

    def managed_windows(self) -> list[Window]:
        return [window for window in self.top_windows() if not window.get_attributes().override_redirect]

    def close_window(self) -> None:
        """Ask the topmost window to close, as the frame's close button does."""
        display = self.session.display
        window = self.managed_windows()[-1]
        message = event.ClientMessage(
            window=window,
            client_type=display.intern_atom("WM_PROTOCOLS"),
            data=(32, [display.intern_atom("WM_DELETE_WINDOW"), X.CurrentTime, 0, 0, 0]),
        )
        window.send_event(message)
        display.flush()

    # What a user does.

    def click(self, object_name: str = "", *, name: str = "", role: str = "", timeout_s: float = 20) -> Node:
        """Click into the middle of a widget with the mouse, once it is shown and enabled."""

        def ready() -> Node | None:
            return next((node for node in self.find_all(object_name, name=name, role=role) if node.enabled), None)

        node = self.wait_until(ready, f"a clickable {object_name} {name} {role}", timeout_s)
        assert node is not None
        point = node.extents.centre
        self.focus_at(point)
        self.mouse.click(*point)
        return node

    def focus_at(self, point: tuple[int, int]) -> None:
        """Click to focus: the window under the point gets the keyboard before it gets the click."""
        root = self.session.display.screen().root
        under = root.translate_coords(root, *point).child
        if under in self.managed_windows() and self.session.display.get_input_focus().focus != under:
            give_focus(self.session.display, under)

    def type_text(self, text: str) -> None:
        self.keyboard.type_text(text)

    def press(self, *keys: str) -> None:
        self.keyboard.press(*keys)

    def drop(self, *targets: Path | str, on: str = "mainWindow", at: tuple[float, float] = (0.5, 0.5)) -> DropResult:
        """Drag files (paths, or ready URIs) with the mouse onto a widget and let go `at` that part of its size."""
        area = self.find(on).extents
        point = area.x + int(area.width * at[0]), area.y + int(area.height * at[1])
        return drop(self.session.environment["DISPLAY"], point, {URI_LIST: uri_list(targets)})

    # Processes.

    def remember_children(self) -> list[psutil.Process]:
        """Return the children that the application has now, and remember them for `left_behind`."""
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        self._family.update(children)
        return children

    def child_pids(self) -> list[int]:
        return [child.pid for child in self.remember_children() if is_alive(child)]

    def left_behind(self) -> list[psutil.Process]:
        """What the application has started and still runs, whoever its parent is now."""
        marked = {found for found in processes_marked(MARK, self.mark) if found.pid != self.process.pid}
        return [child for child in self._family | marked if is_alive(child)]

    def kill9(self) -> None:
        """End the application without any warning; its children are on their own."""
        self.remember_children()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> None:
        self.remember_children()
        self.process.terminate()

    def wait_for_exit(self, timeout_s: float) -> int:
        """Return the exit code; an `AssertionError` says that the application still runs after `timeout_s`."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the application still runs after {timeout_s} s") from None

    def assert_no_child_left(self, timeout_s: float = 3) -> None:
        """Everything that the application has ever started has ended, wherever it hangs in the process tree."""
        deadline = time.monotonic() + timeout_s
        while left := self.left_behind():
            assert time.monotonic() < deadline, f"left behind: {[(one.pid, one.cmdline()) for one in left]}"
            time.sleep(POLL_S)

    # Evidence.

    def screenshot(self, name: str) -> Path:
        return self.session.screenshot(self.evidence / name)

    def keep_evidence(self) -> str:
        """Write down what can be seen now, and return a summary for the failure's report."""
        picture = self.screenshot(f"failure-{time.monotonic_ns()}.png")
        try:
            tree = self.root().outline()
        except GoneError as gone:
            tree = f"no accessible tree: {gone}"
        state = f"running as {self.process.pid}" if self.running else f"ended with {self.process.returncode}"
        logs = [self.output, *(sorted(self.profile.rglob("*.log")) if self.profile else [])]
        tails = "\n".join(f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in logs)
        return f"{state}; screenshot: {picture}\n{tree}\n{tails}"
