"""What cannot be used gets a message in place; the real application goes on and loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.desktop.needs import require_desktop
from support.desktop.sample_files import (
    LIGHTHOUSE,
    bind_socket,
    fill_disk,
    small_disk,
    write_damaged_pdf,
    write_pdf,
    write_scanned_pdf,
)
from support.desktop.session import DesktopSession
from support.desktop.turnleaf_window import Turnleaf

# The model counts on for some ten seconds, so there is time to do something in the middle of it.
LONG_QUESTION = "Write down the numbers from 1 to 200, one after another."
pytestmark = [pytest.mark.display, pytest.mark.local_model]


@pytest.fixture(scope="module")
def session() -> Iterator[DesktopSession]:
    require_desktop()
    with DesktopSession() as session:
        yield session


def make_empty(path: Path) -> Path:
    path.touch()
    return path


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def make_encrypted(path: Path) -> Path:
    return write_pdf(path, LIGHTHOUSE, password="secret")


BAD_FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "damaged.pdf": (write_damaged_pdf, "damaged"),
    "locked.pdf": (make_encrypted, "password"),
    "scanned.pdf": (write_scanned_pdf, "no text"),
    "nothing.txt": (make_empty, "empty"),
    "folder": (make_folder, "not a file"),
    "plug.sock": (bind_socket, "not a file"),
}


def test_every_file_that_cannot_be_read_says_why_and_the_chat_goes_on(session: DesktopSession, tmp_path: Path) -> None:
    question = "My name is Alice and I love pizza."
    with Turnleaf(session, tmp_path) as app:
        app.write(question)
        for name, (make, reason) in BAD_FILES.items():
            app.drop(make(tmp_path / name))
            assert name in app.wait_for_chip(name, reason)
            assert app.composed() == question
        app.press("Return")
        assert "Alice" in app.wait_for_turn(1)


def test_file_whose_name_has_control_characters_is_shown_safely_and_read(
    session: DesktopSession, tmp_path: Path
) -> None:
    strange = tmp_path / "bell\x07 and\nline \x1b[31m\u202egpj.txt"
    strange.write_text("\n".join(LIGHTHOUSE))
    with Turnleaf(session, tmp_path) as app:
        assert app.drop(strange).taken
        chip = app.wait_for_chip("bell", "as text")
        assert not {"\x07", "\x1b", "\u202e"} & set(chip)
        app.ask("Who painted the lighthouse?")
        assert "Falk" in app.wait_for_turn(1)


def test_json_that_is_no_conversation_says_so_and_stays_as_it_is(session: DesktopSession, tmp_path: Path) -> None:
    other = tmp_path / "settings.json"
    other.write_text('{"colour": "green"}')
    broken = tmp_path / "broken.json"
    broken.write_text('{"messages": [')
    with Turnleaf(session, tmp_path, arguments=[str(other)]) as app:
        app.wait_for_text("noticeText", "settings.json")
        app.write("still here")
        app.drop(broken, at=(0.3, 0.5))
        assert "not a conversation" in app.wait_for_text("noticeText", "broken.json")
        assert app.composed() == "still here"
        assert app.envelopes() == []
    assert other.read_text() == '{"colour": "green"}'
    assert broken.read_text() == '{"messages": ['


def test_full_disk_keeps_what_was_said_in_memory_until_there_is_room(session: DesktopSession, tmp_path: Path) -> None:
    """G05: an answer that cannot be written is *Not saved*; a question that cannot be journalled is not sent."""
    with small_disk(tmp_path / "disk", "4m") as disk, Turnleaf(session, tmp_path, profile=disk / "profile") as app:
        app.ask(LONG_QUESTION)
        partial = app.wait_for_shown(1)
        ballast = fill_disk(disk)
        app.stop()
        app.wait_for_text("statusSaved", "Not saved")
        assert partial in app.find("interruptedCard").texts()

        app.write("What is my name?")
        app.press("Return")
        app.wait_for_text("noticeText", "not sent: the disk is full")
        assert app.composed() == "What is my name?"

        ballast.unlink()
        app.click("retrySave")
        app.wait_until(lambda: app.text_of("statusSaved").startswith("Saved"), "the save to succeed")
        app.click("composer")
        app.press("Return")
        answer = app.wait_for_turn(2)
        app.kill9()
        app.assert_no_child_left()
        with Turnleaf(session, tmp_path, profile=disk / "profile") as again:
            again.wait_until(lambda: again.answer(2) == answer, "the last answer on the screen")
            assert partial in again.transcript()


def test_application_starts_on_a_full_disk_and_says_what_is_wrong(session: DesktopSession, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        ballast = fill_disk(disk)
        with Turnleaf(session, tmp_path, profile=disk / "profile") as app:
            app.write("My name is Alice and I love pizza.")
            app.press("Return")
            app.wait_for_text("noticeText", "disk is full")
            assert app.composed() == "My name is Alice and I love pizza."
            ballast.unlink()
            app.press("Return")
            assert "Alice" in app.wait_for_turn(1)
