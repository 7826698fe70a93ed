"""The composer: keys, input methods, pasting, files and their chips."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QColor, QImage, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from reportlab.pdfgen import canvas

from gui.harness import Gui
from turnleaf.ui.chips import AttachmentChip


def press(gui: Gui, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(gui.page.card.edit, key, held)


def test_enter_sends_and_shift_enter_breaks_the_line(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("one")
        press(gui, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        gui.type("two")
        assert gui.page.card.edit.toPlainText() == "one\ntwo"
        press(gui, Qt.Key.Key_Return)
        await gui.until(lambda: gui.answers() == ["ok"] and gui.chat.phase == "idle")
        assert gui.page.card.edit.toPlainText() == ""

    gui.run(scenario, replies=["ok"])


def test_setting_turns_enter_into_a_line_break_and_ctrl_enter_always_sends(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.desktop.window.actions_by_name["enterSends"].trigger()
        await gui.until(lambda: not gui.page.card.edit.enter_sends)
        gui.type("one")
        press(gui, Qt.Key.Key_Return)
        gui.type("two")
        assert gui.page.card.edit.toPlainText() == "one\ntwo"
        press(gui, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await gui.until(lambda: gui.answers() == ["ok"] and gui.chat.phase == "idle")

    gui.run(scenario, replies=["ok"])


def test_enter_never_sends_while_an_input_method_composes(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        edit = gui.page.card.edit
        gui.type("konnichiwa ")
        edit.inputMethodEvent(QInputMethodEvent("こんに", []))
        press(gui, Qt.Key.Key_Return)
        assert gui.chat.phase == "idle"
        assert gui.chat.rows == ()
        edit.inputMethodEvent(QInputMethodEvent("", []))
        press(gui, Qt.Key.Key_Return)
        await gui.until(lambda: gui.answers() == ["ok"] and gui.chat.phase == "idle")

    gui.run(scenario, replies=["ok"])


def test_composer_grows_to_ten_lines_and_then_scrolls(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        edit = gui.page.card.edit
        heights = []
        for lines in (1, 5, 10, 30):
            edit.setPlainText("\n".join(["line"] * lines))
            heights.append(edit.height())
        assert heights[0] < heights[1] < heights[2] == heights[3]
        assert heights[3] <= gui.page.height() * 0.4 + 6

    gui.run(scenario)


def test_escape_stops_only_from_an_empty_composer(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers())
        gui.type("typed")
        press(gui, Qt.Key.Key_Escape)
        assert gui.chat.phase == "running"
        gui.page.card.edit.setPlainText("")
        press(gui, Qt.Key.Key_Escape)
        await gui.until(lambda: gui.cards() and gui.chat.phase == "idle")

    from doc_processing_toolkit.testing import Pause

    gui.run(scenario, replies=[[piece for n in range(400) for piece in (f"w{n} ", Pause(0.01))]])


def test_stop_can_be_pressed_while_an_answer_runs_although_something_is_typed(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        card = gui.page.card
        gui.type("Count")
        gui.page.send()
        await gui.until(lambda: gui.answers())
        assert card.stop.isVisible()
        assert not card.send.isVisible()
        gui.type("a draft")
        assert card.stop.isVisible()
        assert card.send.isVisible()
        card.stop.click()
        await gui.until(lambda: gui.cards() and gui.chat.phase == "idle")
        assert card.edit.toPlainText() == "a draft"
        assert not card.stop.isVisible()
        card.edit.clearFocus()
        gui.page.findChild(QPushButton, "discardInterrupted").click()
        await gui.until(lambda: not gui.cards())
        assert gui.desktop.window.focusWidget() is card.edit

    from doc_processing_toolkit.testing import Pause

    gui.run(scenario, replies=[[piece for n in range(400) for piece in (f"w{n} ", Pause(0.01))]])


def test_pasted_text_with_a_picture_keeps_the_text_and_a_big_paste_becomes_a_file(gui: Gui) -> None:
    """G04."""

    async def scenario(gui: Gui) -> None:
        edit = gui.page.card.edit
        both = QMimeData()
        both.setText("<b>plain</b> & simple")
        picture = QImage(8, 8, QImage.Format.Format_RGB32)
        picture.fill(QColor("red"))
        both.setImageData(picture)
        edit.insertFromMimeData(both)
        assert edit.toPlainText() == "<b>plain</b> & simple"
        big = QMimeData()
        big.setText("line\n" * 5000)
        edit.insertFromMimeData(big)
        await gui.until(lambda: not gui.chat.composer.is_reading)
        assert edit.toPlainText() == "<b>plain</b> & simple"
        [chip] = gui.chat.composer.chips
        assert chip.name == "Pasted text.txt"
        assert chip.info.characters == 25_000

    gui.run(scenario)


def test_pasted_picture_is_refused_by_a_model_that_takes_text_only(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        data = QMimeData()
        picture = QImage(8, 8, QImage.Format.Format_RGB32)
        picture.fill(QColor("red"))
        data.setImageData(picture)
        gui.page.card.edit.insertFromMimeData(data)
        await gui.until(lambda: not gui.chat.composer.is_reading)
        [chip] = gui.chat.composer.chips
        assert chip.state == "refused"
        assert chip.notice.text
        gui.type("hello")
        await gui.ask("")
        assert gui.answers() == ["ok"]

    gui.run(scenario, replies=["ok"], row={"input_types": ("text",), "context_window": 16_000})


def test_pasted_files_are_attached(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        note = gui.folder / "a note & more.txt"
        note.write_text("hello")
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(note))])
        gui.page.card.edit.insertFromMimeData(data)
        await gui.until(lambda: not gui.chat.composer.is_reading)
        [chip] = gui.chat.composer.chips
        assert (chip.name, chip.state) == ("a note & more.txt", "ready")
        chips = gui.page.card.findChildren(AttachmentChip, "attachmentChip")
        assert len(chips) == 1
        assert "as text" in chips[0].accessibleName()
        await gui.attach(note)
        assert len(gui.chat.composer.chips) == 1

    gui.run(scenario)


def pdf(path: Path, pages: list[str], **options: object) -> Path:
    drawing = canvas.Canvas(str(path), **options)
    for text in pages:
        if text:
            drawing.drawString(72, 700, text)
        drawing.showPage()
    drawing.save()
    return path


def test_chip_says_which_pages_have_no_text(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        await gui.attach(pdf(gui.folder / "mixed.pdf", ["Page one has text.", "", "Page three has text."]))
        [chip] = gui.page.card.findChildren(AttachmentChip, "attachmentChip")
        text = chip.accessibleName()
        assert "3 pages" in text
        assert "page 2 has no text" in text
        assert "tokens" in text

    gui.run(scenario)


@pytest.mark.parametrize("kind", ["damaged", "scanned", "empty", "folder", "socket", "missing"])
def test_file_that_cannot_be_used_says_why_on_its_chip_and_the_question_goes_without_it(gui: Gui, kind: str) -> None:
    folder = gui.folder
    path = folder / f"{kind}.pdf"
    if kind == "damaged":
        path.write_bytes(b"%PDF-1.7 nothing of a PDF")
    elif kind == "scanned":
        pdf(path, [""])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))

    async def scenario(gui: Gui) -> None:
        gui.type("Hello")
        await gui.attach(path)
        [chip] = gui.page.card.findChildren(AttachmentChip, "attachmentChip")
        assert chip.property("state") == "refused"
        line = " ".join(label.text() for label in chip.findChildren(QLabel))
        assert path.name in line
        assert len(chip.accessibleName()) > len(path.name) + 10
        await gui.ask("")
        assert gui.answers() == ["ok"]
        assert gui.chat.composer.chips == ()

    gui.run(scenario, replies=["ok"])


def test_removing_a_chip_ends_its_reading_and_send_waits_for_the_others(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        composer = gui.chat.composer
        composer.add_files([pdf(gui.folder / "many.pdf", [f"Page {n}" for n in range(200)])])
        gui.type("What?")
        assert composer.is_reading
        assert not gui.page.card.send.isEnabled()
        gui.page.send()
        assert gui.chat.phase == "idle"
        composer.remove(composer.chips[0].number)
        assert composer.chips == ()
        assert gui.page.card.send.isEnabled()

    gui.run(scenario)


def test_name_with_control_characters_is_shown_without_them(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        strange = gui.folder / "bell\x07 \u202egnp <b>x.txt"
        strange.write_text("hello")
        await gui.attach(strange)
        [chip] = gui.page.card.findChildren(AttachmentChip, "attachmentChip")
        shown = [label for label in chip.findChildren(QLabel) if label.text()]
        assert all(label.textFormat() == Qt.TextFormat.PlainText for label in shown)
        assert not {"\x07", "\u202e"} & set("".join(label.text() for label in shown) + chip.accessibleName())

    gui.run(scenario)
