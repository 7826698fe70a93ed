"""A private desktop session: an X server, a session bus and the accessibility bus, for as long as a test needs them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from PIL import Image
from Xlib import X
from Xlib.display import Display

from support.desktop.accessibility import AccessibilityBus
from support.desktop.input import Keyboard, Mouse

MARK = "TURNLEAF_TEST_DESKTOP"
BUS_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <auth>EXTERNAL</auth>
  <listen>unix:path={folder}/bus</listen>
  <servicedir>{folder}/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
ACCESSIBILITY_SERVICE = Path("/usr/share/dbus-1/services/org.a11y.Bus.service")


class DesktopSession:
    """An X display of its own with its buses; several can live side by side. Use it as a context manager.

    No window manager runs: the driver gives the keyboard focus to the window that it works with.
    """

    def __init__(self, size: tuple[int, int] = (1400, 900)) -> None:
        self.size = size
        self.mark = uuid.uuid4().hex
        # Short, because a socket's path has to fit into 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="tl-"))
        self.environment = {"XDG_RUNTIME_DIR": str(self.folder), MARK: self.mark}
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self.environment["DISPLAY"] = self._start_x_server()
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = self._start_session_bus()
            self.display = Display(self.environment["DISPLAY"])
            self.mouse = Mouse(self.display)
            self.keyboard = Keyboard(self.display)
            self.accessibility = AccessibilityBus(self.environment["DBUS_SESSION_BUS_ADDRESS"])
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.accessibility.close()
        self.display.close()
        self._stop()

    def _start_x_server(self) -> str:
        reading, writing = os.pipe()
        width, height = self.size
        screen = ["-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-noreset"]
        try:
            self._spawn("Xvfb", ["Xvfb", "-displayfd", str(writing), *screen], pass_fds=(writing,))
        finally:
            os.close(writing)
        with os.fdopen(reading) as pipe:
            # The server writes its number once it listens; an end of file means that it has given up.
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError(f"Xvfb did not start: {self._log('Xvfb')}")
        return f":{number}"

    def _start_session_bus(self) -> str:
        config = self.folder / "bus.conf"
        config.write_text(BUS_CONFIG.format(folder=self.folder))
        services = self.folder / "services"
        services.mkdir()
        # The accessibility bus is the only service that this session offers: no keyring, no portal of the machine's.
        shutil.copy(ACCESSIBILITY_SERVICE, services)
        self._spawn("dbus", ["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile"])
        deadline = time.monotonic() + 10
        while not (self.folder / "bus").exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"dbus-daemon did not start: {self._log('dbus')}")
            time.sleep(0.01)
        return f"unix:path={self.folder}/bus"

    def _spawn(self, name: str, command: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
        # GSettings would otherwise start a settings service and write into the real home.
        environment = {**os.environ, **self.environment, "GSETTINGS_BACKEND": "memory"}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
                env=environment,
                start_new_session=True,
            )
        self._processes.append(process)

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]

    def _stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # What the bus has started ends with it; whatever does not is ours all the same, by its mark.
        end_all(processes_marked(MARK, self.mark), grace_s=3)
        shutil.rmtree(self.folder, ignore_errors=True)

    def grab(self, area: tuple[int, int, int, int] | None = None) -> Image.Image:
        """Return what the screen shows now, or an area of it (x, y, width, height; cut to the screen)."""
        x, y, width, height = area or (0, 0, *self.size)
        width, height = min(width, self.size[0] - x), min(height, self.size[1] - y)
        image = self.display.screen().root.get_image(x, y, width, height, X.ZPixmap, 0xFFFFFFFF)
        return Image.frombytes("RGB", (width, height), image.data, "raw", "BGRX")

    def screenshot(self, path: Path) -> Path:
        """Write what the screen shows now as a PNG file."""
        self.grab().save(path)
        return path


def processes_marked(name: str, mark: str) -> list[psutil.Process]:
    """Every living process whose environment has the variable `name` set to `mark`."""
    return [process for process in psutil.process_iter() if _is_marked(process, name, mark)]


def _is_marked(process: psutil.Process, name: str, mark: str) -> bool:
    try:
        return process.environ().get(name) == mark
    except (psutil.AccessDenied, psutil.NoSuchProcess, OSError):
        # A kernel thread, a zombie or somebody else's process: none has an environment to read.
        return False


def is_alive(process: psutil.Process) -> bool:
    """A zombie is dead: whether it is reaped depends on who adopted it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end_all(processes: list[psutil.Process], *, grace_s: float) -> None:
    """Wait until all have ended by themselves, then kill those that have not; returns when none is left."""
    deadline = time.monotonic() + grace_s
    while left := [process for process in processes if is_alive(process)]:
        if time.monotonic() > deadline:
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        time.sleep(0.02)
