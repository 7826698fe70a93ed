"""What each action does: the window's actions bound to the view models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from turnleaf.bridge.tasks import TaskOwner
from turnleaf.services.errors import ServiceError
from turnleaf.services.notices import notice_of
from turnleaf.services.resources import resource
from turnleaf.services.settings import Settings
from turnleaf.ui.chat_page import ChatPage
from turnleaf.ui.dialogs import ask_address, ask_open_files, ask_save_file, show_shortcuts
from turnleaf.ui.model_menu import ModelMenu
from turnleaf.ui.texts import tr
from turnleaf.ui.window import MainWindow
from turnleaf.viewmodels.chat import ChatViewModel
from turnleaf.viewmodels.models import ModelsViewModel
from turnleaf.viewmodels.workspace import WorkspaceViewModel

SAMPLE_FOLDER = "samples"
_THEME_ACTIONS = {"system": "themeSystem", "light": "themeLight", "dark": "themeDark", "contrast": "themeContrast"}


class Commands(QObject):
    """Does what is asked for by menu, key or button."""

    quit_requested = Signal()

    def __init__(
        self,
        window: MainWindow,
        workspace: WorkspaceViewModel,
        models: ModelsViewModel,
        settings: Settings,
        tasks: TaskOwner,
        log_file: Path,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._workspace = workspace
        self._models = models
        self._settings = settings
        self._tasks = tasks
        self._log_file = log_file
        self._menu = ModelMenu(window)
        self._sample = _sample_document()
        self._bind_actions()
        self._bind_parts()
        self._show_settings()

    def _bind_actions(self) -> None:
        actions, workspace, window = self._window.actions_by_name, self._workspace, self._window
        actions.on("newTab", workspace.new_tab)
        actions.on("closeTab", self._close_tab)
        actions.on("nextTab", lambda: workspace.step(1))
        actions.on("previousTab", lambda: workspace.step(-1))
        actions.on("reopenTab", workspace.reopen)
        actions.on("openFile", self._open_file)
        actions.on("saveFile", self._save)
        actions.on("saveFileAs", self._save_as)
        actions.on("attachFiles", self._attach)
        actions.on("focusComposer", lambda: self._on_page(ChatPage.focus_composer))
        actions.on("chooseModel", self._open_model_menu)
        actions.on("sendNow", lambda: self._on_page(ChatPage.send))
        actions.on("stopAnswer", lambda: self._on_page(lambda page: page.chat.stop()))
        actions.on("previousTurn", lambda: self._on_page(lambda page: page.transcript.show_neighbour(-1)))
        actions.on("nextTurn", lambda: self._on_page(lambda page: page.transcript.show_neighbour(1)))
        actions.on("toggleList", lambda: window.toggle_side("left"))
        actions.on("toggleOutline", lambda: window.toggle_side("right"))
        for name, step in (("zoomIn", 1), ("zoomOut", -1), ("zoomReset", 0)):
            actions.on(name, partial(self._zoom, step))
        for theme, name in _THEME_ACTIONS.items():
            actions.on(name, partial(self._set, "theme", theme))
        actions.on_toggled("compactText", lambda on: self._set("compact_text", on))
        actions.on_toggled("enterSends", lambda on: self._set("enter_sends", on))
        actions.on("shortcuts", lambda: show_shortcuts(window, actions))
        actions.on("quit", self.quit_requested.emit)

    def _bind_parts(self) -> None:
        window = self._window
        for index in range(window.tabs.count()):
            page = window.tabs.widget(index)
            if isinstance(page, ChatPage):
                self._bind_page(page)
        window.page_added.connect(self._bind_page)
        window.close_requested.connect(self.quit_requested)
        window.notice_action.connect(self._on_notice_action)
        window.zoom_requested.connect(self._zoom)
        window.status.retry_requested.connect(lambda: self._on_page(lambda page: page.chat.retry_save()))
        window.status.save_elsewhere_requested.connect(self._save_as)
        self._models.entries_changed.connect(lambda _entries: self._fill_model_menu())
        self._models.added.connect(self._choose_model)
        self._models.refused.connect(window.show_notice)
        self._menu.chosen.connect(self._choose_model)
        self._menu.add_file_requested.connect(self._add_model_file)
        self._menu.add_server_requested.connect(lambda: ask_address(window, self._models.add_server))
        self._settings.on_change(lambda _name: self._show_settings())

    def _bind_page(self, page: ChatPage) -> None:
        page.attach_requested.connect(self._attach)
        page.open_requested.connect(self._open_file)
        page.model_requested.connect(self._open_model_menu)
        page.sample_requested.connect(self._attach_sample)
        page.starts.offer_sample(self._sample is not None)
        page.card.edit.enter_sends = self._settings.values.enter_sends

    # Tabs and files.

    def _on_page(self, do: Callable[[ChatPage], object]) -> None:
        page = self._window.page
        if page is not None:
            do(page)

    def _close_tab(self) -> None:
        self._on_page(lambda page: self._workspace.close_tab(page.chat))

    def _open_file(self) -> None:
        filters = tr("Conversations (*.json);;All files (*)")
        ask_open_files(self._window, tr("Open conversation"), filters, self._workspace.open_files)

    def _attach(self) -> None:
        def attach(paths: list[Path]) -> None:
            self._on_page(lambda page: page.chat.composer.add_files(paths))
            self._on_page(ChatPage.focus_composer)

        ask_open_files(self._window, tr("Attach files"), tr("All files (*)"), attach)

    def _attach_sample(self) -> None:
        if self._sample is not None:
            sample = self._sample
            self._on_page(lambda page: page.chat.composer.add_files([sample]))
            self._on_page(ChatPage.focus_composer)

    def _save(self) -> None:
        page = self._window.page
        conversation = page.chat.conversation if page is not None else None
        if page is None or conversation is None:
            return
        if conversation.linked_file is None:
            self._save_as()
        else:
            self._start(self._save_to(page.chat, None))

    def _save_as(self) -> None:
        page = self._window.page
        if page is None or page.chat.conversation is None:
            return
        chat = page.chat
        linked = page.chat.conversation.linked_file
        suggestion = linked.name if linked is not None else f"{file_name(chat.title)}.json"

        def save(path: Path) -> None:
            self._start(self._save_to(chat, path, overwrite=True))

        ask_save_file(self._window, tr("Save conversation"), suggestion, tr("Conversations (*.json)"), save)

    async def _save_to(self, chat: ChatViewModel, path: Path | None, *, overwrite: bool = False) -> None:
        try:
            await chat.save_file(path, overwrite=overwrite)
        except (ServiceError, ValueError) as error:
            chat.notice_raised.emit(notice_of(error))
            return
        page = self._window.page_of(chat)
        if page is not None:
            page.notices.withdraw(("file_not_saved", "file_changed"))

    def _on_notice_action(self, action: str) -> None:
        page = self._window.page
        match action:
            case "retry_save" if page is not None:
                notice = page.notices.notice
                page.notices.clear()
                if notice is not None and notice.id == "file_not_saved":
                    self._save()
                else:
                    page.chat.retry_save()
            case "save_elsewhere":
                self._save_as()
            case "overwrite" if page is not None:
                page.notices.clear()
                self._start(self._save_to(page.chat, None, overwrite=True))
            case "choose_model":
                self._open_model_menu()
            case "use_demo_model" if self._models.entries:
                self._choose_model(self._models.entries[0])
            case "attach_part" if page is not None:
                page.attach_part()
            case "open_generation" if page is not None:
                page.notices.clear()
                self._workspace.recover(page.chat)
            case "show_log":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log_file)))
            case "show_folder":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._workspace.folder)))

    # Models.

    def _open_model_menu(self) -> None:
        page = self._window.page
        if page is not None:
            self._fill_model_menu()
            self._models.refresh()
            self._menu.open_above(page.card.model)

    def _fill_model_menu(self) -> None:
        page = self._window.page
        self._menu.show_entries(self._models.entries, page.chat.model if page is not None else None)

    def _choose_model(self, entry: Any) -> None:
        self._on_page(lambda page: page.chat.choose_model(entry))
        self._on_page(ChatPage.focus_composer)

    def _add_model_file(self) -> None:
        ask_open_files(
            self._window,
            tr("Add model file"),
            tr("Models (*.gguf);;All files (*)"),
            lambda paths: self._models.add_file(paths[0]),
            many=False,
        )

    # Settings.

    def _zoom(self, step: int) -> None:
        self._set("zoom", self._window.look.next_zoom(step))

    def _set(self, name: str, value: object) -> None:
        self._start(self._write_setting(name, value))

    async def _write_setting(self, name: str, value: object) -> None:
        try:
            await self._settings.set(name, value)
        except ServiceError as error:
            self._window.show_notice(notice_of(error))

    def _show_settings(self) -> None:
        values, actions = self._settings.values, self._window.actions_by_name
        actions[_THEME_ACTIONS[values.theme]].setChecked(True)
        actions["compactText"].setChecked(values.compact_text)
        actions["enterSends"].setChecked(values.enter_sends)
        for index in range(self._window.tabs.count()):
            page = self._window.tabs.widget(index)
            if isinstance(page, ChatPage):
                page.card.edit.enter_sends = values.enter_sends

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.start(work, "command")


def file_name(title: str) -> str:
    """Return a title as a file name that every system takes."""
    kept = "".join(character if character.isalnum() or character in " -_.,()" else " " for character in title)
    return " ".join(kept.split()).strip(" .")[:80] or tr("Conversation")


def _sample_document() -> Path | None:
    try:
        return next(iter(sorted(resource(SAMPLE_FOLDER).glob("*.pdf"))), None)
    except OSError:
        return None
