"""A tab whose conversation is still opening: what is typed, sent, dropped or closed meanwhile (G05)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from turnleaf.services.conversation import Conversation
from turnleaf.services.errors import StorageError
from turnleaf.services.rows import InterruptedRow
from turnleaf.viewmodels import chat as chat_module
from unit.viewmodels.test_chat import Play, Tab, play

__all__ = ["play"]


def held_up(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let every conversation wait for the event before its history is read."""
    gate = asyncio.Event()
    restore = Conversation.restore

    async def wait(self: Conversation, agent: Any) -> Any:
        await gate.wait()
        return await restore(self, agent)

    monkeypatch.setattr(Conversation, "restore", wait)
    return gate


async def stored(tab: Tab, draft: str = "from before") -> str:
    conversation = tab.library.create()
    conversation.set_draft(draft)
    await conversation.close()
    return conversation.session_id


def test_what_is_typed_and_sent_while_opening_is_on_disk_behind_the_draft(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(tab: Tab) -> None:
        session_id = await stored(tab)
        gate = held_up(monkeypatch)
        opening = asyncio.ensure_future(tab.open(session_id))
        tab.chat.composer.set_text("sent early")
        assert tab.chat.send()
        tab.chat.composer.set_text("typed early")
        path = tab.library.profile.sessions / f"{session_id}.meta.json"
        await tab.until(lambda: r"from before\n\nsent early\n\ntyped early" in path.read_text())
        gate.set()
        conversation = await opening
        await tab.until(lambda: tab.chat.phase == "idle" and not tab.chat.queue)
        assert tab.chat.composer.text == "from before\n\ntyped early"
        assert conversation.sidecar.draft.text == "from before\n\ntyped early"
        assert [line.question for line in conversation.sidecar.ledger] == ["sent early"]

    play(scenario, ["worm"])


def test_tab_closed_while_opening_lets_its_conversation_go_with_what_was_typed(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(tab: Tab) -> None:
        session_id = await stored(tab)
        gate = held_up(monkeypatch)
        opening = asyncio.ensure_future(tab.open(session_id))
        tab.chat.composer.set_text("typed early")
        await asyncio.sleep(0.05)
        await tab.chat.close()
        gate.set()
        conversation = await opening
        assert conversation.is_closed
        assert tab.chat.conversation is None
        again = await tab.library.open(session_id)
        assert again is not conversation
        assert again.sidecar.draft.text == "from before\n\ntyped early"

    play(scenario)


def test_end_before_there_is_a_conversation_waits_for_it_or_says_so(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(tab: Tab) -> None:
        monkeypatch.setattr(chat_module, "OPENING_S", 0.05)
        await tab.chat.settle("closed")
        tab.chat.composer.set_text("typed early")
        with pytest.raises(StorageError, match="still opening"):
            await tab.chat.settle("closed")
        monkeypatch.setattr(chat_module, "OPENING_S", 10)
        settling = asyncio.ensure_future(tab.chat.settle("closed"))
        await asyncio.sleep(0.05)
        conversation = await tab.open()
        await settling
        path = tab.library.profile.sessions / f"{conversation.session_id}.meta.json"
        assert "typed early" in path.read_text()

    play(scenario)


def test_file_that_was_being_read_is_read_again_and_one_that_has_gone_says_so(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.txt").write_text("The pass is 4711.")
    (tmp_path / "gone.txt").write_text("soon gone")
    session_id = ""

    async def first(tab: Tab) -> None:
        nonlocal session_id
        never = asyncio.Event()

        async def take(*_arguments: object, **_options: object) -> None:
            await never.wait()

        with monkeypatch.context() as patch:
            patch.setattr(type(tab.backend.intake), "take", take)
            conversation = await tab.open()
            session_id = conversation.session_id
            tab.chat.composer.add_files([tmp_path / "here.txt", tmp_path / "gone.txt"])
            path = tab.library.profile.sessions / f"{session_id}.meta.json"
            await tab.until(lambda: path.exists() and "gone.txt" in path.read_text())
            await tab.chat.close()

    async def second(tab: Tab) -> None:
        conversation = await tab.open(session_id)
        await tab.until(lambda: not tab.chat.composer.is_reading)
        ready, refused = tab.chat.composer.chips
        assert (ready.name, ready.state) == ("here.txt", "ready")
        assert (refused.name, refused.state) == ("gone.txt", "refused")
        assert refused.notice is not None
        assert conversation.unread_files == ()
        assert [info.name for info in conversation.sidecar.draft.attachments] == ["here.txt"]

    play(first)
    (tmp_path / "gone.txt").unlink()
    play(second)


def test_edit_pressed_twice_puts_the_question_back_once(play: Play, qapp: QApplication) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.open()
        await tab.ask("one")
        [row] = tab.kinds(InterruptedRow)
        tab.chat.edit_interrupted(row.turn)
        tab.chat.edit_interrupted(row.turn)
        tab.chat.send_again(row.turn)
        await tab.until(lambda: not tab.kinds(InterruptedRow))
        assert tab.chat.composer.text == "one"
        assert tab.chat.phase == "idle"

    play(scenario, [ConnectionError("gone"), "never asked"])
