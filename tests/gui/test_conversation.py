"""Asking and answering in the window: streaming, stopping, failing, queueing, side by side."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtWidgets import QLabel, QToolButton

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.testing import Pause
from gui.harness import Gui
from turnleaf.services.rows import MetaRow

LONG = [f"word {n} " for n in range(400)]


def slow(words: list[str], pause_s: float = 0.01) -> list[object]:
    return [piece for word in words for piece in (word, Pause(pause_s))]


def test_answer_is_shown_saved_and_named(gui: Gui) -> None:
    """G01, G05, G08."""

    async def scenario(gui: Gui) -> None:
        outcome = await gui.ask("What is the *answer*?")
        assert outcome.completed
        assert gui.answers() == ["It is **42**."]
        assert any(isinstance(row, MetaRow) for row in gui.page.transcript.rows())
        saved = gui.desktop.window.findChild(QLabel, "statusSaved")
        assert saved is not None
        await gui.until(lambda: saved.text().startswith("Saved") and saved.text().endswith("turn 1"))
        assert gui.desktop.window.tabs.tabText(0) == "What is the answer?"
        envelope = gui.profile.sessions / f"{gui.chat.session_id}.json"
        assert json.loads(envelope.read_text())["messages"][-1]["content"] == "It is **42**."

    assert gui.run(scenario, replies=["It is **42**."]) == 0


def test_stop_keeps_what_had_arrived_in_a_card(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("Count")
        gui.page.send()
        stop = gui.page.findChild(QToolButton, "stopButton")
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])
        assert stop.isVisible()
        stop.click()
        await gui.until(lambda: gui.cards())
        [card] = gui.cards()
        assert card.cause == "stopped"
        assert card.question == "Count"
        assert card.partial.startswith("word 0 word 1")
        assert not stop.isVisible()
        assert gui.chat.conversation.interrupted.partial == card.partial

    gui.run(scenario, replies=[slow(LONG)])


def test_failed_turn_is_a_card_that_can_be_sent_again(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        outcome = await gui.ask("Hello?")
        assert not outcome.completed
        [card] = gui.cards()
        assert card.cause == "failed"
        assert "cannot be reached" in card.reason
        gui.chat.send_again(card.turn)
        await gui.until(lambda: gui.answers() == ["Now I am here."] and gui.chat.phase == "idle")
        assert gui.cards() == []
        assert [entry.turn for entry in gui.page.outline()] == [1]

    failure = ProviderError("no connection", provider="local", code="connection")
    gui.run(scenario, replies=[failure, "Now I am here."], max_retries=0)


def test_interrupted_question_can_be_edited_or_discarded(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.ask("First try")
        gui.chat.edit_interrupted(1)
        await gui.until(lambda: not gui.cards())
        assert gui.page.card.edit.toPlainText() == "First try"
        gui.page.card.edit.setPlainText("")
        await gui.ask("Second try")
        gui.chat.discard_interrupted(gui.cards()[0].turn)
        await gui.until(lambda: not gui.cards())
        assert gui.chat.conversation.interrupted is None

    failure = ProviderError("no connection", provider="local", code="connection")
    gui.run(scenario, replies=[failure, failure], max_retries=0)


def test_message_sent_during_an_answer_waits_is_visible_and_follows(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("One")
        gui.page.send()
        await gui.until(lambda: gui.answers())
        gui.type("Two")
        gui.page.send()
        assert [message.text for message in gui.chat.queue] == ["Two"]
        assert gui.page.findChild(QToolButton, "removeQueued") is not None
        await gui.until(lambda: len(gui.answers()) == 2 and gui.chat.phase == "idle")
        assert gui.answers()[1] == "second"
        assert gui.chat.queue == ()

    gui.run(scenario, replies=[slow(LONG[:60]), "second"])


def test_removing_a_waiting_message_puts_it_back_into_the_composer(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("One")
        gui.page.send()
        await gui.until(lambda: gui.answers())
        gui.type("Two")
        gui.page.send()
        gui.page.findChild(QToolButton, "removeQueued").click()
        assert gui.chat.queue == ()
        assert gui.page.card.edit.toPlainText() == "Two"
        gui.chat.stop()
        await gui.until(lambda: gui.chat.phase == "idle")

    gui.run(scenario, replies=[slow(LONG)])


def test_two_tabs_answer_side_by_side(gui: Gui) -> None:
    """G01."""

    async def scenario(gui: Gui) -> None:
        first = gui.chat
        gui.type("One")
        gui.page.send()
        await gui.until(lambda: any(first.rows))
        gui.desktop.workspace.new_tab()
        await gui.until(lambda: gui.chat is not first and gui.chat.phase == "idle")
        second = gui.chat
        gui.type("Two")
        gui.page.send()
        await gui.until(lambda: first.phase == "running" and second.phase == "running")
        assert not gui.desktop.window.tabs.tabIcon(0).isNull()
        first.stop()
        second.stop()
        await gui.until(lambda: first.phase == "idle" and second.phase == "idle")

    gui.run(scenario, replies=[slow(LONG)])


def test_long_question_is_refused_before_sending_and_the_part_that_fits_is_offered(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        long = gui.folder / "long.txt"
        long.write_text("\n\n".join(f"Paragraph {n} says something of its own." for n in range(4000)))
        await gui.attach(long)
        gui.type("What is in it?")
        gui.page.send()
        await gui.until(lambda: gui.page.notices.notice is not None)
        assert gui.page.notices.notice.id == "too_long_to_send"
        assert gui.catalogue.agents[0].requests == []
        assert gui.page.card.edit.toPlainText() == "What is in it?"
        gui.page.notices.action_requested.emit("attach_part")
        [chip] = gui.chat.composer.chips
        assert 0 < chip.info.characters < long.stat().st_size
        gui.page.send()
        await gui.until(lambda: gui.answers() == ["paragraphs"])
        await gui.until(lambda: gui.chat.phase == "idle")

    gui.run(scenario, replies=["paragraphs"], row={"context_window": 8_000, "input_types": ("text",)})


def test_model_chosen_during_an_answer_takes_over_after_it(gui: Gui) -> None:
    """G03."""

    async def scenario(gui: Gui) -> None:
        gui.type("One")
        gui.page.send()
        await gui.until(lambda: gui.answers())
        entry = gui.catalogue.entries()[0]
        gui.chat.choose_model(entry)
        assert gui.chat.model.pending
        assert "(next)" in gui.page.card.model.text()
        await gui.until(lambda: not gui.chat.model.pending)
        assert gui.chat.phase == "idle"
        assert gui.answers() == ["".join(LONG[:40]).strip()] or gui.answers()[0].startswith("word 0")

    gui.run(scenario, replies=[slow(LONG[:40])])


def exported(gui: Gui, number: int, turns: int = 40) -> Path:
    """A conversation's file from elsewhere."""
    messages = [
        message
        for turn in range(turns)
        for message in (
            {"role": "user", "content": f"Question {turn} of file {number}"},
            {"role": "assistant", "content": f"Answer {turn} of file {number}"},
        )
    ]
    path = gui.folder / f"file{number}.json"
    session_id = f"3b0e9c1e-6c1f-4c55-9f52-6a1f8c1f0a{number:02d}"
    values = {"provider": "local", "model": "local/gemma-3-270m", "messages": messages, "metadata": {}}
    path.write_text(json.dumps({"schema_version": 3, "session_id": session_id, **values}))
    return path


def test_files_opened_at_once_have_a_tab_each(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        workspace = gui.desktop.workspace
        paths = [exported(gui, number) for number in range(5)]
        workspace.open_files([*paths, paths[2]])
        await gui.until(lambda: len(workspace.tabs) == 5 and all(chat.rows for chat in workspace.tabs))
        assert sorted(chat.session_id for chat in workspace.tabs) == sorted(
            json.loads(path.read_text())["session_id"] for path in paths
        )
        assert all(chat.phase == "idle" for chat in workspace.tabs)

    gui.run(scenario)


def test_tab_closed_and_reopened_at_once_is_written(gui: Gui) -> None:
    """G05."""

    async def scenario(gui: Gui) -> None:
        await gui.ask("first")
        session_id = gui.chat.session_id
        for _ in range(3):
            gui.type("x")
            gui.desktop.window.actions_by_name["closeTab"].trigger()
            gui.desktop.window.actions_by_name["reopenTab"].trigger()
            await gui.until(lambda: gui.chat.session_id == session_id and gui.chat.phase == "idle")
        gui.type("my name is Zebulon")
        sidecar = gui.profile.sessions / f"{session_id}.meta.json"
        await gui.until(lambda: "xxx" in sidecar.read_text() and "Zebulon" in sidecar.read_text())
        assert gui.chat.save_state is not None
        assert gui.chat.save_state.problem is None

    gui.run(scenario, replies=["one"])


def test_tab_closed_while_its_conversation_opens_is_let_go(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        workspace = gui.desktop.workspace
        workspace.open_files([exported(gui, 1)])
        await gui.until(lambda: gui.chat.rows)
        session_id = gui.chat.session_id
        for _ in range(3):
            workspace.close_tab(gui.chat)
            await gui.until(lambda: gui.chat.session_id not in (None, session_id))
            workspace.open_session(session_id)
        await gui.until(lambda: gui.chat.session_id == session_id and gui.chat.rows)
        workspace.close_tab(gui.chat)
        opening = workspace.open_session(session_id)
        workspace.close_tab(opening)
        await gui.until(lambda: opening not in workspace.tabs)
        workspace.open_session(session_id)
        await gui.until(lambda: gui.chat.session_id == session_id and gui.chat.rows)
        assert not gui.chat.conversation.is_closed

    gui.run(scenario)


def test_conversation_trashed_in_mid_answer_goes_without_a_complaint(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        chat = gui.chat
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])
        notices: list[object] = []
        gui.desktop.workspace.notice_raised.connect(notices.append)
        gui.desktop.conversations.trash(chat.session_id)
        await gui.until(lambda: chat not in gui.desktop.workspace.tabs)
        await gui.until(lambda: not list(gui.profile.sessions.iterdir()))
        assert notices == []

    gui.run(scenario, replies=[slow(LONG)])
