"""The driver itself, on a tiny window of its own: what it claims to see and do is what happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from support.desktop import tiny_window
from support.desktop.application import App
from support.desktop.dragsource import drop
from support.desktop.needs import require_desktop
from support.desktop.session import DesktopSession, is_alive

pytestmark = pytest.mark.display
TINY = (sys.executable, str(Path(tiny_window.__file__)))


@pytest.fixture(scope="module")
def session() -> Iterator[DesktopSession]:
    require_desktop()
    with DesktopSession() as session:
        yield session


@pytest.fixture
def app(session: DesktopSession, tmp_path: Path) -> Iterator[App]:
    with App(session, tmp_path, command=TINY) as app:
        yield app.wait_for_window()


def test_typed_characters_arrive_with_capitals_accents_other_scripts_and_emoji(app: App) -> None:
    text = 'Hello "World" @ 100 % {x} ~ äöüß ÀÉ 你好 العربية 🙂'
    app.type_text(text)
    app.wait_for_text("composer", text)


def test_more_characters_than_spare_keys_can_be_typed_one_after_another(app: App) -> None:
    lines = ["".join(chr(0x4E00 + 12 * line + column) for column in range(12)) for line in range(4)]
    for line in lines:
        app.type_text(line)
        app.wait_for_text("composer", line)
    assert app.text_of("composer") == "".join(lines)


def test_click_reaches_the_widget_under_the_pointer(app: App) -> None:
    app.type_text("over here")
    app.click("sendButton")
    assert "over here" in app.wait_for_text("transcript", "over here")
    assert app.text_of("statusSaved") == "sent"
    assert app.text_of("composer") == ""


def test_chord_of_keys_selects_and_deletes(app: App) -> None:
    app.type_text("gone")
    app.wait_for_text("composer", "gone")
    app.press("Control_L", "a")
    app.press("Delete")
    app.wait_until(lambda: app.text_of("composer") == "", "an empty composer")


def test_dropped_files_arrive_in_order_whatever_their_names(app: App, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("two words.pdf", "grüße 你好.txt", "50%#?.md", "line\nbreak.txt")]
    result = app.drop(*paths)
    assert result.offered
    assert result.taken
    seen = app.wait_for_text("transcript", str(paths[-1]))
    assert seen.splitlines() == "\n".join(str(path) for path in paths).splitlines()


def test_drop_where_nothing_takes_part_says_so(app: App, session: DesktopSession) -> None:
    with pytest.raises(TimeoutError, match="no window that takes drops"):
        drop(session.environment["DISPLAY"], (session.size[0] - 20, 20), {"text/uri-list": b"file:///x\r\n"})


def test_format_that_the_window_does_not_take_is_refused(app: App, session: DesktopSession) -> None:
    centre = app.find("mainWindow").extents.centre
    result = drop(session.environment["DISPLAY"], centre, {"application/x-nothing": b"x"})
    assert not result.offered
    assert app.text_of("transcript") == ""


def test_closing_the_window_is_asked_not_forced(app: App) -> None:
    app.close_window()
    assert app.wait_for_exit(5) == 0
    assert "closed" in app.output.read_text()


def test_screenshot_shows_the_window(app: App, tmp_path: Path) -> None:
    with Image.open(app.screenshot("shot.png")) as picture:
        assert picture.size == app.session.size
        assert picture.getpixel(app.find("transcript").extents.centre) == (255, 255, 255)


def test_failure_carries_picture_tree_and_output(session: DesktopSession, tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="a shown widget") as missed,
        App(session, tmp_path, command=TINY) as app,
    ):
        app.wait_for_window().find("noSuchWidget", timeout_s=0.1)
    note = "\n".join(missed.value.__notes__)
    assert "sendButton" in note
    assert list(tmp_path.glob("failure-*.png"))


def test_application_that_ends_too_early_fails_at_once_with_its_exit_code(
    session: DesktopSession, tmp_path: Path
) -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('no window today')")
    with (
        pytest.raises(AssertionError, match="exit code 1") as missed,
        App(session, tmp_path, command=command) as app,
    ):
        app.wait_for_window()
    assert "no window today" in "\n".join(missed.value.__notes__)


def test_child_that_outlives_a_killed_application_is_found(session: DesktopSession, tmp_path: Path) -> None:
    with App(session, tmp_path, command=TINY, arguments=["--with-child"]) as app:
        app.wait_for_window()
        children = app.child_pids()
        assert len(children) == 1
        app.kill9()
        with pytest.raises(AssertionError, match=f"left behind.*{children[0]}"):
            app.assert_no_child_left(0.3)
        left = app.left_behind()
    assert [process.pid for process in left] == children
    assert not any(is_alive(process) for process in left)


def test_two_sessions_side_by_side_do_not_see_each_other(session: DesktopSession, tmp_path: Path) -> None:
    with DesktopSession((800, 600)) as other:
        with App(session, tmp_path, command=TINY) as here, App(other, tmp_path, command=TINY) as there:
            here.wait_for_window().type_text("here")
            there.wait_for_window().type_text("there")
            assert here.wait_for_text("composer", "here") == "here"
            assert there.wait_for_text("composer", "there") == "there"
        folder = other.folder
    assert not folder.exists()
