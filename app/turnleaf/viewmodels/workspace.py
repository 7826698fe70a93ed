"""The open tabs: which conversations are open, in which order, and what happens when one comes or goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from turnleaf.bridge.tasks import FailureHandler, TaskOwner
from turnleaf.services.errors import ConversationNotFoundError, ModelUnavailableError, ServiceError
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.workspace import Workspace
from turnleaf.viewmodels.chat import ChatViewModel, ModelChoice

if TYPE_CHECKING:
    from doc_processing_toolkit import Agent
    from turnleaf.services.conversation import Conversation
    from turnleaf.viewmodels.backend import Backend

log = logging.getLogger(__name__)


class WorkspaceViewModel(QObject):
    """Owns the tabs. The window shows them as they are announced."""

    tab_opened = Signal(object)
    """A new tab at the end (a ``ChatViewModel``)."""
    tab_closed = Signal(object)
    """A tab that has gone (a ``ChatViewModel``)."""
    tab_activated = Signal(object)
    """The tab to be looked at (a ``ChatViewModel``)."""
    notice_raised = Signal(object)
    """A ``Notice`` that belongs to no tab."""

    def __init__(self, workspace: Workspace, on_failure: FailureHandler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._on_failure = on_failure
        self._tasks = TaskOwner("workspace", on_failure)
        self._tabs: list[ChatViewModel] = []
        self._active: ChatViewModel | None = None
        self._opening: dict[ChatViewModel, str] = {}
        self._backend: Backend | None = None
        self._model_id: str | None = None
        self._restored = False
        self._waiting_files: list[Path] = []
        self._warned: set[ChatViewModel] = set()

    @property
    def tabs(self) -> tuple[ChatViewModel, ...]:
        """The tabs in order."""
        return tuple(self._tabs)

    @property
    def active(self) -> ChatViewModel | None:
        """The tab that is looked at."""
        return self._active

    @property
    def folder(self) -> Path | None:
        """Where the conversations are kept, once the services are there."""
        return self._backend.library.profile.sessions if self._backend is not None else None

    def use_model(self, model_id: str | None) -> None:
        """Let new conversations begin with this model; `None` leaves it as it is."""
        self._model_id = model_id or self._model_id

    # Before the services are there.

    def show_last(self, *, new: bool = False) -> None:
        """Show the tabs of the last run, not yet filled, or one empty tab; with `new` an empty one in front."""
        state = self._workspace.state
        for session_id in state.tabs:
            chat = self._add_tab()
            self._opening[chat] = session_id
        if new or not self._tabs:
            self.activate(self._add_tab())
            return
        wanted = next((chat for chat, session_id in self._opening.items() if session_id == state.active), self._tabs[0])
        self.activate(wanted)

    async def attach(self, backend: Backend, model_id: str | None = None) -> None:
        """Fill the tabs: the one in front first. `model_id` is what new conversations use."""
        self._backend = backend
        self.use_model(model_id)
        in_front = [chat for chat in (self._active,) if chat is not None]
        for chat in [*in_front, *(chat for chat in self._tabs if chat is not self._active)]:
            if chat not in self._tabs:
                continue
            session_id = self._opening.get(chat)
            if session_id is None:
                await self._fill_new(chat)
            else:
                await self._fill(chat, session_id)
        self._restored = True
        self._remember()
        files, self._waiting_files = self._waiting_files, []
        self.open_files(files)

    # Tabs.

    def new_tab(self) -> ChatViewModel:
        """Open an empty tab in front."""
        chat = self._add_tab()
        self.activate(chat)
        if self._backend is not None:
            self._tasks.start(self._fill_new(chat), "new tab")
        return chat

    def open_session(self, session_id: str) -> ChatViewModel:
        """Open a conversation of the list, or go to its tab."""
        known = self._tab_of(session_id)
        if known is not None:
            self.activate(known)
            return known
        chat = self._blank_tab()
        self._opening[chat] = session_id
        self.activate(chat)
        if self._backend is not None:
            self._tasks.start(self._fill(chat, session_id), "open")
        return chat

    def open_files(self, paths: Sequence[Path]) -> None:
        """Open ``.json`` conversations from outside, each in a tab."""
        if self._backend is None:
            self._waiting_files.extend(paths)
            return
        for path in paths:
            self._tasks.start(self._import(path), "import")

    def activate(self, chat: ChatViewModel) -> None:
        """Look at a tab."""
        if chat is not self._active and chat in self._tabs:
            self._active = chat
            self.tab_activated.emit(chat)
            self._remember()

    def step(self, by: int) -> None:
        """Look at the tab `by` places further on, round and round."""
        if self._active in self._tabs:
            self.activate(self._tabs[(self._tabs.index(self._active) + by) % len(self._tabs)])

    def move(self, before: int, after: int) -> None:
        """Move a tab from one place to another."""
        self._tabs.insert(after, self._tabs.pop(before))
        self._remember()

    def close_tab(self, chat: ChatViewModel) -> None:
        """Close a tab; a running answer is stopped and kept. There is always one tab left.

        A tab that cannot be written down stays and says so; closing it once more lets it go.
        """
        if chat not in self._tabs:
            return
        unsaved = chat.save_state is not None and chat.save_state.problem is not None
        if (unsaved or chat.phase in ("running", "stopping")) and chat not in self._warned:
            self._tasks.start(self._settle_and_close(chat), "close tab")
        else:
            self._drop_tab(chat)
            self._tasks.start(self._let_go(chat), "close tab")

    def close_session(self, session_id: str) -> None:
        """Close the tab of a conversation that has gone to the trash."""
        chat = self._tab_of(session_id)
        if chat is not None:
            self.close_tab(chat)

    def reopen(self) -> None:
        """Open the tab that was closed last."""
        session_id = self._workspace.reopen()
        if session_id is not None:
            self.open_session(session_id)

    def recover(self, chat: ChatViewModel) -> None:
        """Open the newest good state of a conversation whose file is damaged."""
        session_id = self._opening.get(chat)
        if session_id is not None and self._backend is not None:
            self._tasks.start(self._recover(chat, session_id), "recover")

    async def settle(self) -> list[Exception]:
        """Stop every answer and write everything down, but keep the tabs; return what could not be written."""
        found = await asyncio.gather(*(chat.settle("closed") for chat in self._tabs), return_exceptions=True)
        return [failure for failure in found if isinstance(failure, Exception)]

    async def close(self) -> None:
        """Stop every answer, write everything down, let everything go. One tab's failure does not keep the others."""
        self._remember()
        failures = await asyncio.gather(*(chat.close("closed") for chat in self._tabs), return_exceptions=True)
        for failure in failures:
            if isinstance(failure, Exception):
                log.error("a tab could not be written down: %s", failure)
        await self._tasks.close(timeout_s=1.0)
        await self._workspace.flush()

    # Inside.

    def _add_tab(self) -> ChatViewModel:
        chat = ChatViewModel(self._on_failure, self)
        chat.title_changed.connect(lambda _title: self._remember())
        chat.composer.content_changed.connect(self._remember)
        chat.turn_ended.connect(lambda _outcome: self._remember())
        self._tabs.append(chat)
        self.tab_opened.emit(chat)
        return chat

    def _blank_tab(self) -> ChatViewModel:
        """Return the tab in front if nothing was done in it, else a new one."""
        chat = self._active
        if chat is not None and chat.is_blank and chat not in self._opening:
            fresh = self._add_tab()
            self._drop_tab(chat, keep_one=False)
            self._tasks.start(self._let_go(chat), "close tab")
            return fresh
        return self._add_tab()

    def _drop_tab(self, chat: ChatViewModel, *, keep_one: bool = True) -> None:
        at = self._tabs.index(chat)
        self._tabs.remove(chat)
        self._opening.pop(chat, None)
        self._warned.discard(chat)
        self.tab_closed.emit(chat)
        if chat is self._active:
            self._active = None
            if self._tabs:
                self.activate(self._tabs[min(at, len(self._tabs) - 1)])
            elif keep_one:
                self.new_tab()
        self._remember()

    async def _settle_and_close(self, chat: ChatViewModel) -> None:
        try:
            await chat.settle("stopped")
        except ServiceError as error:
            self._warned.add(chat)
            chat.notice_raised.emit(notice_of(error))
            return
        if chat in self._tabs:
            self._drop_tab(chat)
            await self._let_go(chat)

    async def _let_go(self, chat: ChatViewModel) -> None:
        try:
            await chat.close("stopped")
        except Exception as error:  # noqa: BLE001 - the tab has gone; what could not be written is said
            self.notice_raised.emit(notice_of(error))
        finally:
            chat.deleteLater()

    async def _fill_new(self, chat: ChatViewModel) -> None:
        assert self._backend is not None
        agent, model, notice = self._new_agent()
        await self._backend.open_chat(chat, self._backend, self._backend.library.create(), agent, model)
        if notice is not None and chat in self._tabs:
            chat.notice_raised.emit(notice)

    async def _fill(self, chat: ChatViewModel, session_id: str) -> None:
        assert self._backend is not None
        try:
            conversation = await self._backend.library.open(session_id)
            await self._open_conversation(chat, conversation)
        except ConversationNotFoundError as error:
            self._workspace.forget(session_id)
            if self._restored:
                self.notice_raised.emit(notice_of(error))
            self._opening.pop(chat, None)
            if chat in self._tabs:
                await self._fill_new(chat)
        except Exception as error:  # noqa: BLE001 - a conversation that cannot be opened says so in its own tab
            log.warning("conversation %s was not opened: %s", session_id, type(error).__name__)
            self._fail_to_open(chat, error)

    async def _recover(self, chat: ChatViewModel, session_id: str) -> None:
        assert self._backend is not None
        try:
            conversation = await self._backend.library.recover(session_id)
            await self._open_conversation(chat, conversation)
        except Exception as error:  # noqa: BLE001 - said in the tab
            self._fail_to_open(chat, error)

    async def _import(self, path: Path) -> None:
        assert self._backend is not None
        try:
            conversation = await self._backend.library.import_file(path)
        except Exception as error:  # noqa: BLE001 - a file that is no conversation is said, and the app goes on
            self.notice_raised.emit(notice_of(error))
            return
        known = self._tab_of(conversation.session_id)
        if known is not None:
            self.activate(known)
            return
        chat = self._blank_tab()
        self._opening[chat] = conversation.session_id
        self.activate(chat)
        try:
            await self._open_conversation(chat, conversation)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail_to_open(chat, error)

    def _fail_to_open(self, chat: ChatViewModel, error: Exception) -> None:
        """Say in a tab that its conversation cannot be opened; one that was closed meanwhile has no place for it."""
        if chat in self._tabs:
            chat.fail_to_open(notice_of(error))
        else:
            self.notice_raised.emit(notice_of(error))

    async def _open_conversation(self, chat: ChatViewModel, conversation: Conversation) -> None:
        assert self._backend is not None
        catalogue = self._backend.catalogue
        recipe = conversation.sidecar.recipe
        notice: Notice | None = None
        if recipe:
            made = catalogue.agent_of_recipe(recipe)
            agent, notice = made.agent, made.notice
            base_url = None if made.substituted else recipe.get("base_url")
            model = ModelChoice(agent.model, base_url, catalogue.label(agent.model, base_url))
        else:
            agent, model, notice = self._new_agent()
        await self._backend.open_chat(chat, self._backend, conversation, agent, model)
        self._opening.pop(chat, None)
        if notice is not None and chat in self._tabs:
            chat.notice_raised.emit(notice)
        self._remember()

    def _new_agent(self) -> tuple[Agent, ModelChoice, Notice | None]:
        assert self._backend is not None
        catalogue = self._backend.catalogue
        wanted, base_url = self._model_id or self._backend.settings.values.default_model, None
        entry = next((entry for entry in catalogue.entries() if entry.id == wanted), None)
        if entry is not None:
            base_url = entry.base_url
        try:
            agent, notice = catalogue.make_agent(wanted, base_url), None
        except ModelUnavailableError as error:
            wanted, base_url = catalogue.entries()[0].id, None
            agent, notice = catalogue.make_agent(wanted), notice_of(error)
        return agent, ModelChoice(wanted, base_url, catalogue.label(wanted, base_url)), notice

    def _tab_of(self, session_id: str) -> ChatViewModel | None:
        opening = next((chat for chat, wanted in self._opening.items() if wanted == session_id), None)
        return opening or next((chat for chat in self._tabs if chat.session_id == session_id), None)

    def _remember(self) -> None:
        if not self._restored:
            return
        ids = {chat: self._opening.get(chat) or self._kept_id(chat) for chat in self._tabs}
        kept = tuple(session_id for session_id in ids.values() if session_id is not None)
        active = ids.get(self._active) if self._active is not None else None
        self._workspace.set_tabs(kept, active)

    def _kept_id(self, chat: ChatViewModel) -> str | None:
        conversation = chat.conversation
        return conversation.session_id if conversation is not None and not conversation.is_empty else None
