"""What is there again after the app has ended, in order or not (G05)."""

from __future__ import annotations

import errno
import json

import pytest

from doc_processing_toolkit.testing import Pause
from gui.harness import Gui
from turnleaf.bridge.single_instance import StartRequest
from turnleaf.services import conversation_files, conversation_store, storage

LONG = [piece for n in range(400) for piece in (f"word {n} ", Pause(0.01))]


def test_tabs_drafts_and_files_are_back_after_a_restart(gui: Gui) -> None:
    note = gui.folder / "note.txt"
    note.write_text("The pass is 4711.")

    async def first(gui: Gui) -> None:
        await gui.ask("Question of tab one")
        gui.desktop.workspace.new_tab()
        await gui.until(lambda: gui.chat.phase == "idle")
        await gui.attach(note)
        gui.type("an unsent draft")

    async def second(gui: Gui) -> None:
        tabs = gui.desktop.workspace.tabs
        assert len(tabs) == 2
        assert gui.chat is tabs[1]
        assert gui.page.card.edit.toPlainText() == "an unsent draft"
        await gui.until(lambda: not gui.chat.composer.is_reading)
        assert [chip.name for chip in gui.chat.composer.chips] == ["note.txt"]
        assert gui.chat.composer.attachments[0].document.text == "The pass is 4711."
        gui.desktop.workspace.activate(tabs[0])
        assert gui.answers() == ["one"]
        assert gui.page.notices.notice is None

    assert gui.run(first, replies=["one"]) == 0
    gui.run(second)


def test_crash_in_mid_answer_leaves_a_card_and_a_quiet_bar(gui: Gui) -> None:
    async def first(gui: Gui) -> None:
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])
        gui.type("and then?")
        gui.page.send()
        await gui.until(lambda: gui.chat.conversation.sidecar.draft.text == "and then?")
        sidecar = gui.profile.sessions / f"{gui.chat.session_id}.meta.json"
        await gui.until(lambda: "word 5" in sidecar.read_text() and "and then?" in sidecar.read_text())
        workspace = gui.profile.state / "workspace.json"
        await gui.until(lambda: gui.chat.session_id in json.loads(workspace.read_text())["tabs"])

    async def second(gui: Gui) -> None:
        [card] = gui.cards()
        assert card.cause == "killed"
        assert card.question == "Count"
        assert "word 5" in card.partial
        assert gui.page.card.edit.toPlainText() == "and then?"
        assert gui.page.notices.notice.id == "recovered"
        assert gui.page.notices.notice.severity == "info"

    gui.run(first, replies=[LONG], ends=False)
    gui.run(second)


def test_quitting_in_mid_answer_keeps_the_turn_as_closed(gui: Gui) -> None:
    async def first(gui: Gui) -> None:
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])

    async def second(gui: Gui) -> None:
        [card] = gui.cards()
        assert card.cause == "closed"
        assert "word 5" in card.partial
        assert gui.page.notices.notice is None

    gui.run(first, replies=[LONG])
    gui.run(second)


def test_closed_tab_keeps_its_turn_and_can_be_reopened(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])
        gui.desktop.window.actions_by_name["closeTab"].trigger()
        await gui.until(lambda: gui.chat.phase == "idle" and not gui.chat.rows)
        assert len(gui.desktop.workspace.tabs) == 1
        await gui.until(lambda: gui.desktop.workspace._workspace.state.closed)
        gui.desktop.window.actions_by_name["reopenTab"].trigger()
        await gui.until(lambda: gui.cards())
        assert gui.cards()[0].cause == "stopped"
        assert len(gui.desktop.workspace.tabs) == 1

    gui.run(scenario, replies=[LONG])


def test_tab_that_cannot_be_saved_stays_until_it_is_closed_once_more(gui: Gui, monkeypatch: pytest.MonkeyPatch) -> None:
    """G05."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scenario(gui: Gui) -> None:
        chat = gui.chat
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers() and "word 5" in gui.answers()[0])
        with monkeypatch.context() as patch:
            for module in (storage, conversation_files, conversation_store):
                if hasattr(module, "write_atomically"):
                    patch.setattr(module, "write_atomically", fail)
            gui.desktop.window.actions_by_name["closeTab"].trigger()
            await gui.until(lambda: chat in gui.desktop.workspace._warned)
            assert gui.chat is chat
            assert "word 5" in gui.cards()[0].partial
            assert gui.page.notices.notice.id.startswith("not_saved")
            gui.desktop.window.actions_by_name["closeTab"].trigger()
            await gui.until(lambda: gui.chat is not chat)

    gui.run(scenario, replies=[LONG])


def test_untouched_new_tab_leaves_nothing_behind(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.desktop.workspace.new_tab()
        await gui.until(lambda: gui.chat.phase == "idle")

    gui.run(scenario)
    assert list(gui.profile.sessions.iterdir()) == []


def test_new_at_the_command_line_keeps_the_old_tabs(gui: Gui) -> None:
    async def first(gui: Gui) -> None:
        await gui.ask("Question")

    async def second(gui: Gui) -> None:
        assert len(gui.desktop.workspace.tabs) == 2
        assert gui.answers() == []
        assert gui.page.card.edit.hasFocus() or not gui.desktop.window.isActiveWindow()

    gui.run(first, replies=["one"])
    gui.run(second, request=StartRequest(new=True))


def test_tabs_are_moved_stepped_through_and_remembered_in_order(gui: Gui) -> None:
    async def first(gui: Gui) -> None:
        await gui.ask("alpha")
        gui.desktop.workspace.new_tab()
        await gui.until(lambda: gui.chat.phase == "idle")
        await gui.ask("beta")
        gui.desktop.window.tabs.tabBar().moveTab(0, 1)
        assert [chat.title for chat in gui.desktop.workspace.tabs] == ["beta", "alpha"]
        gui.desktop.window.actions_by_name["nextTab"].trigger()
        assert gui.chat.title == "alpha"

    async def second(gui: Gui) -> None:
        assert [chat.title for chat in gui.desktop.workspace.tabs] == ["beta", "alpha"]
        assert gui.chat.title == "alpha"

    gui.run(first, replies=["one"])
    gui.run(second)
