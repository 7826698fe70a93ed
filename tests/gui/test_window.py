"""The frame: names, keys, columns, looks, drops, links, and what it says when something cannot be saved."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QTextEdit,
    QToolButton,
    QWidget,
)

from gui.harness import Gui
from turnleaf.services import storage
from turnleaf.ui.actions import SPECS
from turnleaf.ui.drop import DropOverlay
from turnleaf.ui.transcript.flow_view import FlowView


def test_every_agreed_object_name_is_there(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        assert window.objectName() == "mainWindow"
        for name in ("tabs", "conversationList", "outline", "statusSaved"):
            assert window.findChild(QWidget, name) is not None, name
        for name in (
            "transcript",
            "composer",
            "sendButton",
            "stopButton",
            "attachButton",
            "modelSwitcher",
            "contextMeter",
            "noticeBar",
        ):
            assert gui.page.findChild(QWidget, name) is not None, name

    gui.run(scenario)


def test_every_widget_that_can_be_pressed_or_typed_into_has_a_name_and_a_tool_tip(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.ask("Show a `code` block")
        await gui.until(lambda: gui.page.findChild(QToolButton, "copyCode") is not None)
        nameless = []
        for widget in gui.desktop.window.findChildren(QWidget):
            if not isinstance(widget, QAbstractButton | QLineEdit | QTextEdit | QListView):
                continue
            own = widget.objectName() and not widget.objectName().startswith("Scroll")
            if own and not widget.accessibleName():
                nameless.append(("accessible name", widget.objectName()))
            if isinstance(widget, QAbstractButton) and own and not widget.toolTip():
                nameless.append(("tool tip", widget.objectName()))
            if not widget.objectName():
                nameless.append(("object name", repr(widget)))
        assert nameless == []

    gui.run(scenario, replies=["```python\nprint(1)\n```"])


def test_no_two_actions_share_a_key() -> None:
    keys = [key for spec in SPECS for key in spec.keys]
    assert len(keys) == len(set(keys))
    assert len({spec.name for spec in SPECS}) == len(SPECS)


def test_no_action_is_without_effect(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        for spec in SPECS:
            action = window.findChild(QAction, spec.name)
            assert action is not None, spec.name
            assert action.receivers("2triggered(bool)") > 0 or action.receivers("2triggered()") > 0, spec.name

    gui.run(scenario)


@pytest.mark.parametrize(
    ("width", "shows_list", "shows_outline"), [(1440, True, True), (1000, True, False), (760, False, False)]
)
def test_columns_step_back_where_room_is_short_and_float_when_asked_for(
    gui: Gui, width: int, shows_list: bool, shows_outline: bool
) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        window.resize(width, 700)
        await gui.until(lambda: window.panes.width() == width)
        assert window.conversations.isVisible() == shows_list
        assert window.outline.isVisible() == shows_outline
        page_width = gui.page.width()
        window.actions_by_name["toggleOutline"].trigger()
        assert window.outline.isVisible() != shows_outline
        assert (gui.page.width() == page_width) != shows_outline

    gui.run(scenario)


def test_outline_lists_the_turns_and_leads_to_them(gui: Gui) -> None:
    """G02."""

    async def scenario(gui: Gui) -> None:
        for n in range(1, 7):
            await gui.ask(f"Question {n}")
        outline = gui.desktop.window.outline
        assert [entry.question for entry in outline.model.entries] == [f"Question {n}" for n in range(1, 7)]
        assert all(entry.tokens > 0 for entry in outline.model.entries)
        assert gui.page.transcript.turn_in_view() == 6
        outline.list.clicked.emit(outline.model.index(1, 0))
        assert gui.page.transcript.turn_in_view() == 2
        gui.desktop.window.actions_by_name["nextTurn"].trigger()
        assert gui.page.transcript.turn_in_view() == 3
        gui.desktop.window.actions_by_name["previousTurn"].trigger()
        assert gui.page.transcript.turn_in_view() == 2

    gui.run(scenario, replies=["\n\n".join(f"Paragraph {n}" for n in range(30))] * 6)


def drop(gui: Gui, paths: list[Path], at: QPointF) -> None:
    overlay = gui.desktop.window.findChild(DropOverlay, "dropOverlay")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDropEvent(at, Qt.DropAction.CopyAction, data, buttons, keys)
    overlay.prepare(data)
    overlay.dropEvent(event)


def test_dropped_json_is_opened_or_attached_as_the_zone_says(gui: Gui) -> None:
    """G04, G06."""

    async def scenario(gui: Gui) -> None:
        await gui.ask("Hello")
        saved = gui.folder / "saved.json"
        await gui.chat.save_file(saved)
        gui.desktop.workspace.new_tab()
        await gui.until(lambda: gui.chat.phase == "idle" and not gui.chat.rows)
        right = QPointF(gui.desktop.window.width() * 0.8, 300)
        drop(gui, [saved], right)
        await gui.until(lambda: gui.chat.composer.chips and not gui.chat.composer.is_reading)
        assert [chip.name for chip in gui.chat.composer.chips] == ["saved.json"]
        drop(gui, [saved], QPointF(100, 300))
        await gui.until(lambda: gui.answers() == ["hi"])

    gui.run(scenario, replies=["hi"])


def test_damaged_json_is_said_and_the_app_goes_on(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        broken = gui.folder / "broken.json"
        broken.write_text('{"messages": [')
        gui.type("typed")
        gui.desktop.workspace.open_files([broken])
        await gui.until(lambda: gui.page.notices.notice is not None)
        bar = gui.page.findChild(QFrame, "noticeBar")
        assert bar.isVisible()
        text = bar.findChild(QLabel, "noticeText")
        assert "broken.json" in text.text()
        assert text.textFormat() == Qt.TextFormat.PlainText
        assert gui.page.card.edit.toPlainText() == "typed"
        assert broken.read_text() == '{"messages": ['
        gui.page.card.edit.setPlainText("")
        await gui.ask("Still there?")
        assert gui.answers() == ["yes"]

    gui.run(scenario, replies=["yes"])


def test_saving_marks_the_title_until_the_file_has_everything(gui: Gui) -> None:
    """G06."""

    async def scenario(gui: Gui) -> None:
        await gui.ask("Hello")
        target = gui.folder / "mine.json"
        await gui.chat.save_file(target)
        assert not gui.desktop.window.tabs.tabText(0).startswith("•")
        await gui.ask("More")
        assert gui.desktop.window.tabs.tabText(0).startswith("• ")
        gui.desktop.window.actions_by_name["saveFile"].trigger()
        await gui.until(lambda: not gui.desktop.window.tabs.tabText(0).startswith("•"))
        assert len(json.loads(target.read_text())["messages"]) == 4

    gui.run(scenario, replies=["one", "two"])


def test_failed_checkpoint_is_red_and_retry_writes_it(gui: Gui, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.ask("One")
        from turnleaf.services import conversation_files, conversation_store

        full = OSError(errno.ENOSPC, "No space left on device")

        def fail(*_arguments: object, **_options: object) -> None:
            raise full

        await gui.until(lambda: gui.chat.phase == "idle")
        gui.type("Two")
        gui.page.send()
        await gui.until(lambda: len(gui.answers()) == 2)
        with monkeypatch.context() as patch:
            for module in (storage, conversation_files, conversation_store):
                if hasattr(module, "write_atomically"):
                    patch.setattr(module, "write_atomically", fail)
            await gui.until(lambda: gui.chat.save_state.problem is not None)
            saved = gui.desktop.window.findChild(QLabel, "statusSaved")
            assert saved.text() == "Not saved"
            assert saved.property("state") == "failed"
            retry = gui.desktop.window.findChild(QPushButton, "retrySave")
            assert retry.isVisible()
            assert gui.desktop.window.findChild(QPushButton, "saveElsewhere").isVisible()
            await gui.until(lambda: gui.chat.phase == "idle")
            assert gui.page.notices.notice.id.startswith("not_saved")
        retry.click()
        await gui.until(lambda: saved.text().startswith("Saved"))
        assert not retry.isVisible()
        assert gui.page.notices.notice is None
        envelope = gui.profile.sessions / f"{gui.chat.session_id}.json"
        assert len(json.loads(envelope.read_text())["messages"]) == 4

    from doc_processing_toolkit.testing import Pause

    gui.run(scenario, replies=["one", ["two", Pause(0.4), " and a half"]])


def test_link_opens_only_after_its_address_was_shown(gui: Gui, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()) or True)

    async def scenario(gui: Gui) -> None:
        await gui.ask("Link?")
        flow = gui.page.transcript.findChildren(FlowView)[-1]
        flow.link_clicked.emit("https://example.com/real")
        dialog = gui.desktop.window.findChild(QDialog, "linkDialog")
        assert dialog.isVisible()
        assert dialog.findChild(QLabel, "linkAddress").text() == "https://example.com/real"
        assert opened == []
        dialog.accept()
        assert opened == ["https://example.com/real"]

    gui.run(scenario, replies=["See [the bank](https://example.com/real)."])


@pytest.mark.parametrize("theme", ["Light", "Dark", "Contrast", "System"])
def test_every_look_can_be_chosen_while_a_conversation_is_open(gui: Gui, theme: str) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.ask("Hello")
        window = gui.desktop.window
        window.actions_by_name[f"theme{theme}"].trigger()
        name = "light" if theme == "System" else theme.lower()
        await gui.until(lambda: window.look.theme.name == name)
        window.actions_by_name["zoomIn"].trigger()
        await gui.until(lambda: window.look.theme.zoom > 1)
        page = window.grab().toImage()
        middle = page.pixelColor(gui.page.mapTo(window, gui.page.rect().center()).x(), 120)
        assert middle == window.look.theme.colour("page")
        assert gui.answers() == ["**hi**"]

    gui.run(scenario, replies=["**hi**"])


def test_colours_stand_in_the_theme_only() -> None:
    folder = Path(__file__).parents[2] / "app" / "turnleaf"
    pattern = re.compile(r"#[0-9a-fA-F]{6,8}\b|QColor\(\s*[\"'0-9]|Qt\.GlobalColor\.(?!transparent)")
    found = [
        f"{path.name}:{number}"
        for path in folder.rglob("*.py")
        if path.name != "theme.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_trashed_conversation_leaves_the_list_and_its_tab(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.ask("Hello")
        session_id = gui.chat.session_id
        listed = gui.desktop.conversations.model
        await gui.until(lambda: [s.session_id for s in listed.summaries] == [session_id])
        gui.desktop.window.conversations.trash_requested.emit(session_id)
        await gui.until(lambda: listed.summaries == [] and gui.chat.session_id != session_id)
        assert not (gui.profile.sessions / f"{session_id}.json").exists()
        assert any(gui.profile.trash.iterdir())

    gui.run(scenario, replies=["hi"])


def test_reader_keeps_the_place_while_text_arrives_below(gui: Gui) -> None:
    from doc_processing_toolkit.testing import Pause

    async def scenario(gui: Gui) -> None:
        area = gui.page.findChild(QAbstractScrollArea, "transcript")
        await gui.ask("Long one")
        gui.type("Another")
        gui.page.send()
        await gui.until(lambda: len(gui.answers()) == 2 and len(gui.answers()[1]) > 200)
        area.verticalScrollBar().setValue(40)
        before = area.verticalScrollBar().value()
        length = len(gui.answers()[1])
        await gui.until(lambda: len(gui.answers()[1]) > length + 400)
        assert area.verticalScrollBar().value() == before
        pill = gui.page.findChild(QPushButton, "newBelow")
        await gui.until(lambda: pill.isVisible())
        pill.click()
        assert area.verticalScrollBar().value() == area.verticalScrollBar().maximum()
        gui.chat.stop()
        await gui.until(lambda: gui.chat.phase == "idle")

    long = "\n\n".join(f"Paragraph {n}" for n in range(60))
    slow = [piece for n in range(300) for piece in (f"Word {n} of a line.\n\n", Pause(0.01))]
    gui.run(scenario, replies=[long, slow])
