"""The real window over the real services, with a scripted model in the place of every model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.testing import ScriptedAgent, scripted_agent
from turnleaf.bridge.loop import Loop
from turnleaf.bridge.single_instance import SingleInstance, StartRequest
from turnleaf.services.attachments import AttachmentIntake
from turnleaf.services.library import Library
from turnleaf.services.models import ModelCatalogue, ModelEntry, RecipeAgent
from turnleaf.services.profile import Profile, open_profile
from turnleaf.services.rows import AnswerRow, InterruptedRow
from turnleaf.services.settings import Settings
from turnleaf.ui import desktop as desktop_module
from turnleaf.ui.chat_page import ChatPage
from turnleaf.ui.desktop import Desktop, Options
from turnleaf.viewmodels.backend import Backend
from turnleaf.viewmodels.chat import ChatViewModel
from turnleaf.viewmodels.chat_work import open_chat
from turnleaf.viewmodels.turn import TurnOutcome

WAIT_S = 20.0
Scenario = Callable[["Gui"], Awaitable[None]]


class ScriptedCatalogue(ModelCatalogue):
    """Every model is a script; each conversation gets the replies from the beginning."""

    def __init__(self, settings: Settings, media: DirectoryMediaStore, replies: Iterable[Any], **agent: Any) -> None:
        super().__init__(settings, media)
        self.replies = list(replies)
        self.agents: list[ScriptedAgent] = []
        self._store = media
        self._agent_settings = agent

    def make_agent(self, model_id: str, base_url: str | None = None, recipe: Any = None) -> ScriptedAgent:
        agent = scripted_agent(self.replies, media_store=self._store, **self._agent_settings)
        self.agents.append(agent)
        return agent

    def agent_of_recipe(self, recipe: Any) -> RecipeAgent:
        return RecipeAgent(self.make_agent("scripted"))

    def row(self, model_id: str, base_url: str | None = None) -> Any:
        return self.agents[-1].row if self.agents else super().row(model_id, base_url)

    async def refresh(self) -> list[ModelEntry]:
        return self.entries()


class Gui:
    """One run of the app on a profile. ``run`` starts it, plays a scenario in it, and ends it as a user would."""

    def __init__(self, app: QApplication, folder: Path, monkeypatch: Any) -> None:
        self.app = app
        self.folder = folder
        self.profile: Profile = open_profile(folder / "profile")
        self._monkeypatch = monkeypatch
        self.desktop: Desktop
        self.catalogue: ScriptedCatalogue
        self.failures: list[BaseException] = []

    def run(
        self,
        scenario: Scenario,
        *,
        replies: Iterable[Any] = (),
        request: StartRequest | None = None,
        ends: bool = True,
        **agent: Any,
    ) -> int:
        """Play `scenario` and return the exit code. With ``ends=False`` the app is dropped as a crash would drop it."""
        replies = list(replies)

        def backend(profile: Profile, settings: Settings) -> Backend:
            media = DirectoryMediaStore(profile.media)
            self.catalogue = ScriptedCatalogue(settings, media, replies, **agent)
            intake = AttachmentIntake(media, profile.cache)
            return Backend(Library(profile), self.catalogue, intake, settings, open_chat)

        self._monkeypatch.setattr(desktop_module, "_backend_of", backend)
        self._monkeypatch.setattr(desktop_module, "_exit_after", lambda _seconds, _code: threading.Timer(0, int))
        self.app.setQuitOnLastWindowClosed(False)
        instance = SingleInstance(self.profile)
        assert instance.become_first()
        loop = Loop(self.app)
        asyncio.set_event_loop(loop)
        try:
            self.desktop = Desktop(self.app, self.profile, Options(request or StartRequest()), instance)
            self.desktop.hooks.crashed.connect(self.failures.append)
            self.desktop.window.resize(1280, 860)
            self.desktop.show()
            return int(loop.run_until_complete(self._play(scenario, ends)))
        finally:
            instance.close()
            self.desktop.window.allow_close()
            self.desktop.window.close()
            self.desktop.window.deleteLater()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            loop.close()
            asyncio.set_event_loop(None)
            assert not self.failures, self.failures

    async def _play(self, scenario: Scenario, ends: bool) -> int:
        running = asyncio.ensure_future(self.desktop.run())
        try:
            await self.until(lambda: self.desktop.is_ready, "the services")
            await scenario(self)
        except BaseException:
            running.cancel()
            raise
        if not ends:
            running.cancel()
            await asyncio.wait([running])
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            return -1
        if not running.done():
            self.desktop.quit()
        return await asyncio.wait_for(running, WAIT_S)

    async def until(self, condition: Callable[[], object], what: str = "", timeout_s: float = WAIT_S) -> None:
        """Wait until `condition` holds, without a nested loop."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"did not happen within {timeout_s} s: {what or condition}") from None

    @property
    def page(self) -> ChatPage:
        """The page in front."""
        page = self.desktop.window.page
        assert page is not None
        return page

    @property
    def chat(self) -> ChatViewModel:
        """The tab in front."""
        return self.page.chat

    def type(self, text: str) -> None:
        """Put text into the composer as typing does."""
        self.page.card.edit.insert_text(text)

    async def ask(self, text: str) -> TurnOutcome:
        """Ask a question and wait until its turn has ended and is on disk."""
        chat = self.chat
        ended: asyncio.Future[TurnOutcome] = asyncio.get_running_loop().create_future()

        def on_ended(outcome: TurnOutcome) -> None:
            if not ended.done():
                ended.set_result(outcome)

        chat.turn_ended.connect(on_ended)
        self.type(text)
        self.page.send()
        outcome = await asyncio.wait_for(ended, WAIT_S)
        chat.turn_ended.disconnect(on_ended)
        await self.until(lambda: chat.phase == "idle")
        return outcome

    def answers(self) -> list[str]:
        """The answers in front, in order."""
        return [row.text for row in self.chat.rows if isinstance(row, AnswerRow)]

    def cards(self) -> list[InterruptedRow]:
        """The interrupted turns in front."""
        return [row for row in self.chat.rows if isinstance(row, InterruptedRow)]

    async def attach(self, *paths: Path) -> None:
        """Attach files and wait until each was read or refused."""
        self.chat.composer.add_files(paths)
        await self.until(lambda: not self.chat.composer.is_reading, "the files to be read")
