"""Where the window stands: on small screens, on screens that are gone, and after a restart."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QScrollArea

from gui.harness import Gui
from turnleaf.bridge.single_instance import StartRequest
from turnleaf.services.notices import Notice
from turnleaf.ui.place import fitted, room_for


@pytest.mark.parametrize(
    ("wanted", "room"),
    [
        (QRect(0, 0, 1320, 880), QRect(0, 0, 1366, 768)),
        (QRect(0, 0, 1320, 880), QRect(0, 0, 800, 600)),
        (QRect(2600, 300, 900, 500), QRect(0, 0, 1366, 768)),
        (QRect(-900, -400, 800, 500), QRect(0, 0, 1366, 768)),
        (QRect(100, 100, 900, 700), QRect(1920, 30, 1280, 690)),
    ],
)
def test_window_that_does_not_fit_is_brought_whole_into_the_room(wanted: QRect, room: QRect) -> None:
    assert room.contains(fitted(wanted, room))


def test_window_that_fits_is_not_touched() -> None:
    wanted = QRect(3, 27, 1000, 600)
    assert fitted(wanted, QRect(0, 0, 1366, 768)) == wanted


def test_room_is_the_screen_that_shows_most_of_the_window() -> None:
    left, right = QRect(0, 0, 1000, 800), QRect(1000, 0, 1000, 800)
    assert room_for(QRect(900, 0, 700, 500), [left, right]) == right
    assert room_for(QRect(5000, 0, 700, 500), [left, right]) == left


def test_first_window_fits_its_screen_and_may_be_small(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        window.setGeometry(-50, -40, 1320, 2000)
        window.restore_place(b"", b"")
        assert QGuiApplication.primaryScreen().availableGeometry().contains(window.geometry())
        smallest = window.minimumSizeHint().expandedTo(window.minimumSize())
        assert smallest.width() <= 760
        assert smallest.height() <= 560

    gui.run(scenario)


def test_place_is_the_same_after_each_restart(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        window.setGeometry(31, 47, 700, 600)
        for _ in range(3):
            window.restore_place(*window.place())
            assert window.geometry() == QRect(31, 47, 700, 600)

    gui.run(scenario)


@pytest.mark.parametrize("name", ["shortcuts", "attachFiles", "openFile"])
def test_typing_goes_to_the_composer_after_a_dialog_closed(gui: Gui, name: str) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        gui.page.starts.setFocus()
        window.actions_by_name[name].trigger()
        [dialog] = window.findChildren(QDialog)
        gui.page.card.send.setFocus(Qt.FocusReason.OtherFocusReason)
        dialog.reject()
        await gui.until(lambda: window.focusWidget() is gui.page.card.edit)

    gui.run(scenario)


@pytest.mark.parametrize("name", ["toggleList", "toggleOutline"])
@pytest.mark.parametrize("width", [760, 1280])
def test_typing_goes_to_the_composer_after_a_column_was_toggled(gui: Gui, name: str, width: int) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        window.resize(width, 700)
        await gui.until(lambda: window.panes.width() == width)
        for _ in range(2):
            window.actions_by_name[name].trigger()
            assert window.focusWidget() is gui.page.card.edit
        if width == 760:
            window.actions_by_name[name].trigger()
            QTest.keyClick(gui.page.card.edit, Qt.Key.Key_Escape)
            assert not window.panes.is_shown("left")
            assert not window.panes.is_shown("right")

    gui.run(scenario)


def test_shortcut_sheet_scrolls_inside_and_keeps_its_close_button(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        window = gui.desktop.window
        window.actions_by_name["shortcuts"].trigger()
        [dialog] = window.findChildren(QDialog)
        dialog.resize(dialog.width(), 300)
        await gui.until(lambda: dialog.height() == 300)
        [area] = dialog.findChildren(QScrollArea)
        assert area.verticalScrollBar().maximum() > 0
        [buttons] = dialog.findChildren(QDialogButtonBox)
        assert dialog.rect().contains(buttons.geometry())
        dialog.reject()

    gui.run(scenario)


def test_notice_that_is_a_whole_list_is_one_clause_in_the_bar_and_whole_in_its_details(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        bar = gui.page.notices
        text = "nosuch cannot be used: unknown model; known models: " + ", ".join(f"model-{n}" for n in range(60))
        bar.show_notice(Notice(id="model_unavailable", text=text))
        assert bar.findChild(QLabel, "noticeText").text() == "nosuch cannot be used: unknown model…"
        assert text in bar.findChild(QLabel, "noticeDetails").text()
        assert bar.sizeHint().height() < 120

    gui.run(scenario)


def test_withdrawn_notice_goes_and_what_it_covered_comes_back(gui: Gui) -> None:
    async def scenario(gui: Gui) -> None:
        bar = gui.page.notices
        other, stale = Notice(id="other", text="Other"), Notice(id="not_saved", text="Not saved")
        bar.show_notice(other)
        bar.show_notice(stale)
        bar.withdraw(("not_saved",))
        assert bar.notice == other
        bar.withdraw(("not_saved",))
        assert bar.notice == other
        bar.withdraw(("other",))
        assert bar.notice is None
        assert not bar.isVisible()

    gui.run(scenario)


def test_file_of_the_command_line_that_is_not_there_is_said_to_be_missing(gui: Gui) -> None:
    missing = gui.folder / "gone\u202e.json"

    async def scenario(gui: Gui) -> None:
        await gui.until(lambda: gui.page.notices.notice is not None)
        assert gui.page.notices.notice.id == "file_missing"
        assert "does not exist" in gui.page.notices.notice.text
        assert "\u202e" not in gui.page.notices.notice.text

    gui.run(scenario, request=StartRequest((str(missing),)))
