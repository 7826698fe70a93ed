"""A tab without any widget: the order of journal, request, checkpoint and draft, and what happens when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.testing import Pause, ScriptedAgent, scripted_agent
from turnleaf.bridge.loop import Loop
from turnleaf.services.attachments import AttachmentIntake
from turnleaf.services.conversation import Conversation
from turnleaf.services.errors import CheckpointError, JournalError
from turnleaf.services.library import Library
from turnleaf.services.models import ModelCatalogue
from turnleaf.services.notices import Notice
from turnleaf.services.profile import Profile, open_profile
from turnleaf.services.rows import AnswerRow, InterruptedRow, QuestionRow
from turnleaf.services.settings import Settings
from turnleaf.viewmodels.backend import Backend
from turnleaf.viewmodels.chat import ChatViewModel, ModelChoice
from turnleaf.viewmodels.chat_work import open_chat


class Tab:
    """One tab over a library on disk, answered by a script."""

    def __init__(self, profile: Profile, replies: list[Any]) -> None:
        media = DirectoryMediaStore(profile.media)
        settings = Settings(profile)
        self.library = Library(profile)
        self.agent: ScriptedAgent = scripted_agent(replies, max_retries=0)
        self.failures: list[BaseException] = []
        self.notices: list[Notice] = []
        catalogue = ModelCatalogue(settings, media)
        intake = AttachmentIntake(media, profile.cache)
        self.backend = Backend(self.library, catalogue, intake, settings, open_chat)
        self.chat = ChatViewModel(self.failures.append)
        self.chat.notice_raised.connect(lambda notice: notice is not None and self.notices.append(notice))

    async def open(self, session_id: str | None = None) -> Conversation:
        conversation = self.library.create() if session_id is None else await self.library.open(session_id)
        model = ModelChoice("local/gemma-3-270m", None, "Scripted")
        await open_chat(self.chat, self.backend, conversation, self.agent, model)
        return conversation

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.005)

    async def ask(self, text: str) -> None:
        self.chat.composer.set_text(text)
        assert self.chat.send()
        await self.until(lambda: self.chat.phase == "idle" and not self.chat.queue)

    def kinds(self, kind: type) -> list[Any]:
        return [row for row in self.chat.rows if isinstance(row, kind)]


Scenario = Callable[[Tab], Awaitable[None]]
Play = Callable[..., Tab]


@pytest.fixture
def play(qapp: QApplication, tmp_path: Path) -> Play:
    profile = open_profile(tmp_path / "profile")

    def run(scenario: Scenario, replies: list[Any] | None = None) -> Tab:
        loop = Loop(qapp)
        asyncio.set_event_loop(loop)
        try:
            tab = Tab(profile, replies or [])
            loop.run_until_complete(scenario(tab))
            loop.run_until_complete(tab.chat.close())
        finally:
            loop.close()
            asyncio.set_event_loop(None)
        assert tab.failures == []
        return tab

    return run


def test_question_is_in_the_journal_before_the_request_leaves(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()
        begin = conversation.begin_turn

        async def begin_turn(**arguments: Any) -> int:
            number = await begin(**arguments)
            order.append(f"journalled, {len(tab.agent.requests)} requests so far")
            return number

        monkeypatch.setattr(conversation, "begin_turn", begin_turn)
        await tab.ask("Hello")
        assert len(tab.agent.requests) == 1

    play(scenario, ["hi"])
    assert order == ["journalled, 0 requests so far"]


def test_sent_before_the_conversation_is_open_the_question_waits_for_it(play: Play) -> None:
    async def scenario(tab: Tab) -> None:
        tab.chat.composer.set_text("early bird")
        assert tab.chat.send()
        assert tab.chat.phase == "opening"
        await tab.open()
        await tab.until(lambda: [row.text for row in tab.kinds(AnswerRow)] == ["worm"] and tab.chat.phase == "idle")

    play(scenario, ["worm"])


def test_question_that_cannot_be_journalled_is_not_sent_and_stands_in_the_composer_again(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()

        async def refuse(**_arguments: Any) -> int:
            raise JournalError("disk full", path=Path("x"))

        with monkeypatch.context() as patch:
            patch.setattr(conversation, "begin_turn", refuse)
            tab.chat.composer.set_text("keep me")
            tab.chat.send()
            await tab.until(lambda: tab.notices)
            await tab.until(lambda: tab.chat.phase == "idle" and not tab.chat.rows)
        assert tab.chat.composer.text == "keep me"
        assert tab.agent.requests == []
        assert conversation.sidecar.draft.text == "keep me"
        assert tab.notices[0].id.startswith("not_sent")

    play(scenario)


def test_question_is_never_nowhere_on_its_way_to_the_journal(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """G05: whenever a crash comes, the question is in the draft or in the journal."""
    drafts: list[str] = []

    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()
        keep = conversation.set_draft

        def set_draft(text: str, attachments: Any = (), unread: Any = ()) -> None:
            drafts.append(text if conversation.sidecar.journal is None else "journalled")
            keep(text, attachments, unread)

        monkeypatch.setattr(conversation, "set_draft", set_draft)
        await tab.ask("keep me")

    play(scenario, ["ok"])
    assert set(drafts) == {"keep me", "journalled"}


def test_what_waits_and_what_is_typed_is_one_draft_on_disk(play: Play) -> None:
    slow = [piece for n in range(200) for piece in (f"{n} ", Pause(0.01))]

    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()
        tab.chat.composer.set_text("first")
        tab.chat.send()
        await tab.until(lambda: tab.kinds(AnswerRow))
        tab.chat.composer.set_text("second")
        tab.chat.send()
        tab.chat.composer.set_text("third")
        assert conversation.sidecar.draft.text == "second\n\nthird"
        tab.chat.stop()
        await tab.until(lambda: tab.chat.phase == "idle")
        assert tab.chat.composer.text == "second\n\nthird"
        assert tab.chat.queue == ()

    play(scenario, [slow])


def test_failed_checkpoint_keeps_the_turn_in_memory_and_says_so(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()

        async def refuse(*_arguments: Any, **_options: Any) -> None:
            raise CheckpointError("disk full", path=Path("x"))

        with monkeypatch.context() as patch:
            patch.setattr(conversation, "checkpoint", refuse)
            await tab.ask("Hello")
        assert [row.text for row in tab.kinds(AnswerRow)] == ["hi"]
        assert [notice.id for notice in tab.notices] == ["not_saved"]

    play(scenario, ["hi"])


def test_earlier_interrupted_turn_is_sent_again_under_a_new_number(play: Play) -> None:
    failure = ConnectionError("gone")

    async def scenario(tab: Tab) -> None:
        conversation = await tab.open()
        await tab.ask("one")
        await tab.ask("two")
        assert [row.question for row in tab.kinds(InterruptedRow)] == ["one"]
        tab.chat.send_again(1)
        await tab.until(lambda: len(tab.kinds(AnswerRow)) == 2 and tab.chat.phase == "idle")
        assert tab.kinds(InterruptedRow) == []
        assert [(row.turn, row.text) for row in tab.kinds(QuestionRow)] == [(2, "two"), (3, "one")]
        assert conversation.interrupted is None

    async def again(tab: Tab) -> None:
        [summary] = tab.library.summaries()
        await tab.open(summary.session_id)
        assert [(row.turn, row.text) for row in tab.kinds(QuestionRow)] == [(2, "two"), (3, "one")]

    play(scenario, [failure, "answer two", "answer one"])
    play(again)


def test_rows_after_opening_again_are_the_rows_of_the_stream(play: Play) -> None:
    rows: list[Any] = []

    async def first(tab: Tab) -> None:
        await tab.open()
        await tab.ask("one")
        await tab.ask("two")
        rows.extend(tab.chat.rows)

    async def second(tab: Tab) -> None:
        [summary] = tab.library.summaries()
        await tab.open(summary.session_id)
        assert list(tab.chat.rows) == rows

    play(first, ["**a**", "b"])
    play(second)


def test_empty_message_is_not_sent(play: Play) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.open()
        tab.chat.composer.set_text("  \n ")
        assert not tab.chat.send()

    play(scenario)


def test_refused_switch_keeps_the_model(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.open()
        entry = tab.backend.catalogue.entries()[0]

        def refuse(*_arguments: Any, **_options: Any) -> Any:
            raise ValueError("no such model")

        monkeypatch.setattr(tab.backend.catalogue, "make_agent", refuse)
        tab.chat.choose_model(entry)
        await tab.until(lambda: tab.notices)
        assert tab.chat.model is not None
        assert not tab.chat.model.pending
        assert tab.chat.phase == "idle"
        await tab.ask("Still you?")
        assert [row.text for row in tab.kinds(AnswerRow)] == ["yes"]

    play(scenario, ["yes"])
