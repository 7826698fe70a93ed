"""The app from its first window to its last write: what is started in which order, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from turnleaf.bridge.crash_hooks import CrashHooks
from turnleaf.bridge.early_termination import EarlyTermination
from turnleaf.bridge.loop import Loop
from turnleaf.bridge.plain_import import restore_plain_import
from turnleaf.bridge.run_marker import RunMarker
from turnleaf.bridge.single_instance import SingleInstance, StartRequest
from turnleaf.bridge.tasks import TaskOwner
from turnleaf.bridge.termination import Termination
from turnleaf.services.errors import ModelUnavailableError
from turnleaf.services.logging_setup import log_path, set_up_logging
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.profile import Profile
from turnleaf.services.settings import Settings
from turnleaf.services.workspace import Workspace
from turnleaf.ui.commands import Commands
from turnleaf.ui.fonts import load_fonts
from turnleaf.ui.icons import app_icon
from turnleaf.ui.look import Look
from turnleaf.ui.texts import printable, tr
from turnleaf.ui.window import MainWindow
from turnleaf.viewmodels.conversations import ConversationsViewModel
from turnleaf.viewmodels.models import ModelsViewModel
from turnleaf.viewmodels.workspace import WorkspaceViewModel

if TYPE_CHECKING:
    from turnleaf.viewmodels.backend import Backend

log = logging.getLogger(__name__)

SETTLE_S = 1.2
EXIT_S = 2.7
"""When the process ends at the latest after it was asked to, whatever hangs: people and systems wait three seconds."""
COLLECTOR = (20_000, 20, 100)
"""The interpreter's thresholds; its own are made for short programs."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    request: StartRequest
    smoke: bool = False
    early: EarlyTermination | None = None
    """Has kept what asked the process to end before the loop ran."""


class Desktop(QObject):
    """Owns everything of one run. ``run`` returns when the app has ended."""

    ready = Signal()
    """The services are there, and the tabs are filled."""

    def __init__(self, app: QApplication, profile: Profile, options: Options, instance: SingleInstance) -> None:
        super().__init__()
        self.profile = profile
        self._app = app
        self._options = options
        self._instance = instance
        self._marker = RunMarker(profile.state)
        self._was_cut_off = self._marker.started()
        self._settings = Settings(profile)
        self._place = Workspace(profile)
        self._tasks = TaskOwner("desktop", self._on_failure)
        self._ended: asyncio.Future[int] | None = None
        self._quitting = False
        self._warned = False
        self._is_ready = False
        self.hooks = CrashHooks(self)
        self.hooks.crashed.connect(self._on_failure)
        self.workspace = WorkspaceViewModel(self._place, self._on_failure, self)
        self.conversations = ConversationsViewModel(self._on_failure, self)
        self.models = ModelsViewModel(self._on_failure, self)
        self.window = self._make_window()
        self._termination = Termination(self)
        self._termination.requested.connect(lambda _number: self.quit(forced=True))
        instance.handed_over.connect(self._on_handed_over)

    @property
    def is_ready(self) -> bool:
        """Whether the services are there, and the tabs are filled."""
        return self._is_ready

    def show(self) -> None:
        """Show the window; what is heavy follows its first paint."""
        self.window.first_painted.connect(self._on_first_painted)
        self.window.show()

    async def run(self) -> int:
        """Run until the app is asked to end and return its exit code."""
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self.hooks.watch_loop(loop)
        self._termination.install()
        early = self._options.early
        if early is not None and early.received is not None:
            self.quit(forced=True)
        try:
            return await self._ended
        finally:
            self._termination.uninstall()
            self._instance.close()

    def quit(self, code: int = 0, *, forced: bool = False) -> None:
        """Stop every answer, write everything down and end. Unless `forced`, stay when something cannot be written."""
        if not self._quitting:
            self._quitting = True
            self._tasks.start(self._quit(code, forced=forced), "quit")
        elif forced:
            _exit_after(EXIT_S, code)  # The user closed the window and it hangs; now the system asks.

    def _make_window(self) -> MainWindow:
        state = self._place.read()
        look = Look(self._app, self._settings, self)
        request = self._options.request
        self.workspace.show_last(new=request.new or self._options.smoke)
        window = MainWindow(self.workspace, self.conversations, look)
        window.setWindowIcon(app_icon())
        window.restore_place(state.geometry, state.window_state)
        window.geometry_changed.connect(self._on_geometry_changed)
        commands = Commands(window, self.workspace, self.models, self._settings, self._tasks, log_path(self.profile))
        commands.quit_requested.connect(self.quit)
        return window

    def _on_geometry_changed(self) -> None:
        # Qt delivers what was due once more after the loop has ended; there is nothing left to write with then.
        if self._ended is not None and not self._ended.done():
            self._place.set_geometry(*self.window.place())

    def _on_first_painted(self) -> None:
        self.window.activateWindow()
        page = self.window.page
        if page is not None:
            page.focus_composer()
        self._tasks.start(self._start_services(), "start the services")

    async def _start_services(self) -> None:
        try:
            backend = await asyncio.to_thread(_backend_of, self.profile, self._settings)
        except Exception as error:
            log.critical("the services could not be started", exc_info=error)
            self.window.show_notice(notice_of(error))
            return
        self.conversations.attach(backend.library)
        self.models.attach(backend.catalogue)
        await self.workspace.attach(backend, self._options.request.model)
        self._say_what_happened()
        await self._open_files(self._options.request.files)
        await self._say_if_unknown(backend, self._options.request.model)
        self._is_ready = True
        self.ready.emit()
        self.models.refresh()
        _calm_collector()

    def _say_what_happened(self) -> None:
        if self._was_cut_off and self.workspace.tabs and not self.workspace.tabs[0].is_blank:
            text = tr("Turnleaf ended without warning last time. Your tabs and drafts are back.")
            self.window.show_notice(Notice(id="recovered", text=text, severity="info"))
        for problem in self._settings.problems:
            self.window.show_notice(Notice(id="settings_problem", text=problem, severity="warning"))

    def _on_handed_over(self, request: StartRequest) -> None:
        self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
        self.window.raise_()
        self.window.activateWindow()
        self.workspace.use_model(request.model)
        if request.new or request.model:
            self.workspace.new_tab()
        self._tasks.start(self._open_files(request.files), "open files")

    async def _open_files(self, names: Sequence[str]) -> None:
        paths = [Path(name) for name in names]
        there = await asyncio.to_thread(lambda: [path for path in paths if os.path.lexists(path)])
        for path in paths:
            if path not in there:
                text = tr("{path} does not exist.").format(path=printable(str(path)))
                self.window.show_notice(Notice(id="file_missing", text=text, severity="warning"))
        self.workspace.open_files(there)

    async def _say_if_unknown(self, backend: Backend, model: str | None) -> None:
        """Say that the model of the command line is not known, also where no new conversation asks for it."""
        if model is None:
            return
        try:
            await asyncio.to_thread(backend.catalogue.make_agent, model)
        except ModelUnavailableError as error:
            self.window.show_notice(notice_of(error))

    def _on_failure(self, failure: BaseException) -> None:
        if isinstance(failure, Exception):
            self.window.show_notice(notice_of(failure))

    async def _quit(self, code: int, *, forced: bool) -> None:
        last_resort = _exit_after(EXIT_S, code)
        if not forced and not self._warned:
            problems = await self._settle()
            if problems:
                last_resort.cancel()
                self._warned = True
                self._quitting = False
                self.window.show_notice(notice_of(problems[0]))
                return
        self._place.set_geometry(*self.window.place())
        self.window.allow_close()
        self.window.hide()
        started = time.monotonic()
        try:
            async with asyncio.timeout(SETTLE_S):
                await asyncio.gather(self.workspace.close(), self.conversations.close(), self.models.close())
                await asyncio.to_thread(_end_local_model)
        except TimeoutError:
            log.error("not everything was written down within %.1f s", SETTLE_S)
        log.info("ended in %.2f s", time.monotonic() - started)
        self._marker.ended()
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(code)

    async def _settle(self) -> list[Exception]:
        try:
            async with asyncio.timeout(SETTLE_S):
                return await self.workspace.settle()
        except TimeoutError:
            log.error("the answers did not stop within %.1f s", SETTLE_S)
            return []


def _backend_of(profile: Profile, settings: Settings) -> Backend:
    # Imported in a thread: the window is there, and must not wait for the toolkit.
    from turnleaf.viewmodels.backend import make_backend

    _preload()
    return make_backend(profile, settings)


def _preload() -> None:
    """Load what the first answer needs, so that no answer waits for it on the GUI thread."""
    from turnleaf.viewmodels.markdown.highlight import highlight
    from turnleaf.viewmodels.markdown.incremental import parse_markdown

    parse_markdown("**ready**")
    for _ in highlight("python", "ready = True"):
        pass


def _calm_collector() -> None:
    """Collect garbage less often: a full collection over everything that was loaded would be felt as a stutter."""
    gc.freeze()
    gc.set_threshold(*COLLECTOR)


def _end_local_model() -> None:
    module = sys.modules.get("doc_processing_toolkit.providers.local")
    if module is not None:
        module.shared_service().close()


def _exit_after(seconds: float, code: int) -> threading.Timer:
    """End the process after `seconds`, whatever hangs: what is written is written, and the system is waiting."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
    return timer


def run(profile: Profile, options: Options) -> int:
    """Run the app for `profile`, or hand `options` to the run that has it; return the exit code."""
    restore_plain_import()
    app = QApplication.instance() or QApplication(["turnleaf"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Turnleaf")
    app.setDesktopFileName("turnleaf")
    app.setStyle("Fusion")
    app.setQuitOnLastWindowClosed(False)
    instance = SingleInstance(profile)
    if not instance.become_first():
        return _hand_over(instance, options)
    set_up_logging(profile)
    load_fonts()
    desktop = Desktop(app, profile, options, instance)
    desktop.hooks.install()
    loop = Loop(app)
    asyncio.set_event_loop(loop)
    try:
        desktop.show()
        return int(loop.run_until_complete(_main(desktop, options)))
    finally:
        desktop.hooks.uninstall()
        loop.close()


async def _main(desktop: Desktop, options: Options) -> int:
    if not options.smoke:
        return await desktop.run()
    from turnleaf.ui.smoke import run_smoke

    running = asyncio.ensure_future(desktop.run())
    reason = await run_smoke(desktop)
    if reason:
        print(f"turnleaf --smoke: {reason}", file=sys.stderr)  # noqa: T201 - the answer of a command
    desktop.quit(1 if reason else 0, forced=True)
    return await running


def _hand_over(instance: SingleInstance, options: Options) -> int:
    if options.smoke:
        print("turnleaf --smoke: this profile is in use by a running Turnleaf", file=sys.stderr)  # noqa: T201
        return 1
    if instance.hand_over(options.request):
        return 0
    message = "Turnleaf is already open for this profile, but it does not answer; end it first."
    print(message, file=sys.stderr)  # noqa: T201 - there is no window to say it in
    return 1
