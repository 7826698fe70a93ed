"""A conversation in the real window with the real local model: a dropped document, the dialogue, stop, save, reopen."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.desktop.application import SOURCE_ROOT, App
from support.desktop.needs import require_desktop
from support.desktop.sample_files import LIGHTHOUSE, write_pdf
from support.desktop.session import DesktopSession
from support.desktop.turnleaf_window import Turnleaf

pytestmark = [pytest.mark.display, pytest.mark.local_model]


@pytest.fixture(scope="module")
def session() -> Iterator[DesktopSession]:
    require_desktop()
    with DesktopSession() as session:
        yield session


def test_dropped_pdf_is_asked_about_and_the_saved_answer_outlives_a_kill(
    session: DesktopSession, tmp_path: Path
) -> None:
    """G01, G04, G05, G09: from the empty window to a saved answer about a document, on the model as it comes."""
    pdf = write_pdf(tmp_path / "Cape Orla – 灯台.pdf", LIGHTHOUSE)
    with Turnleaf(session, tmp_path) as app:
        app.attach(pdf)
        app.ask("Who painted the lighthouse?")
        answer = app.wait_for_turn(1)
        assert "Falk" in answer
        app.kill9()
        app.assert_no_child_left()
        (envelope,) = app.envelopes()
        assert answer in json.dumps(envelope["messages"][-1])
    with Turnleaf(session, tmp_path) as app:
        # The tab needs no orderly end, and nothing typed after the last answer, to come back.
        app.wait_until(lambda: app.answer(1) == answer, "the answer on the screen")
        assert pdf.name in app.transcript()
        app.close_window()
        assert app.wait_for_exit(3) == 0


def test_answer_is_shown_while_it_streams_and_stop_keeps_what_has_arrived(
    session: DesktopSession, tmp_path: Path
) -> None:
    """G08: text grows on the screen before the answer is complete."""
    with Turnleaf(session, tmp_path) as app:
        app.ask("Write down the numbers from 1 to 200, one after another.")
        partial = app.wait_for_shown(1)
        ink = app.ink()
        app.wait_until(lambda: app.ink() > ink and app.shown_answer(1) > partial, "more of the answer", 30)
        assert app.busy
        app.stop()
        assert partial in app.find("interruptedCard").texts()


def test_dialogue_remembers_name_and_food(session: DesktopSession, tmp_path: Path) -> None:
    with Turnleaf(session, tmp_path) as app:
        app.ask("My name is Alice and I love pizza.")
        app.wait_for_turn(1)
        app.ask("What is my name?")
        assert "Alice" in app.wait_for_turn(2)
        app.ask("What food do I like?")
        assert "pizza" in app.wait_for_turn(3)


def test_saved_file_opens_elsewhere_and_a_second_start_hands_its_file_to_the_first(
    session: DesktopSession, tmp_path: Path
) -> None:
    """G06: what *Save as* writes is complete by itself, and is opened by the command line, running or not."""
    target = tmp_path / "kept conversation.json"
    with Turnleaf(session, tmp_path) as app:
        app.ask("My name is Alice and I love pizza.")
        app.wait_for_turn(1)
        save_as(app, target)
        app.close_window()
        assert app.wait_for_exit(3) == 0
    with Turnleaf(session, tmp_path, profile=tmp_path / "other", arguments=[str(target)]) as first:
        first.wait_for_text("transcript", "My name is Alice")
        first.ask("What is my name?")
        assert "Alice" in first.wait_for_turn(2)
        with App(session, tmp_path / "second", profile=first.profile, arguments=[str(target)]) as second:
            assert second.wait_for_exit(10) == 0
        # The conversation has gone on since, so its file is another state of it: both are kept.
        first.wait_until(lambda: len(first.envelopes()) == 2, "a second conversation")
        first.wait_until(lambda: not first.answer(2), "the file's state of the conversation in front")
        assert "My name is Alice" in first.transcript()


def save_as(app: Turnleaf, target: Path) -> None:
    """Save the conversation in front under a name, by keyboard alone."""
    app.press("Control_L", "Shift_L", "s")
    app.wait_until(lambda: len(app.managed_windows()) > 1, "the file dialog")
    app.focus()
    app.press("Control_L", "a")
    app.type_text(f"{target}\n")
    app.wait_until(target.exists, f"{target} to be written")
    app.wait_until(lambda: len(app.managed_windows()) == 1, "the end of the file dialog")
    app.focus()


def test_stop_answers_at_once_while_a_long_prompt_is_read(session: DesktopSession, tmp_path: Path) -> None:
    """G08: the model cannot be interrupted in its prompt, the user can; the next question does not wait for it."""
    long_text = tmp_path / "long.txt"
    long_text.write_text("\n\n".join(f"Paragraph {n}. The ship number {n} sailed to port {n * 7}." for n in range(300)))
    with Turnleaf(session, tmp_path) as app:
        app.attach(long_text)
        app.ask("Where did ship number 5 sail?")
        app.find("stopButton")
        app.wait_until(app.child_pids, "the local model's process")
        time.sleep(2)
        assert app.busy
        seconds = app.stop()
        # A tenth of a second is promised; the rest is for a machine that does other things as well.
        assert seconds < 0.5, f"{seconds:.2f} s"
        app.press("Control_L", "t")
        app.ask("My name is Alice and I love pizza.")
        # Reading the long prompt to its end would take half a minute; the model was started anew instead.
        assert "Alice" in app.wait_for_turn(1, 20)


def test_launcher_opens_the_window(session: DesktopSession, tmp_path: Path) -> None:
    """`python3 app` becomes the application: the same process, its arguments, its exit code."""
    if Path(sys.prefix) != SOURCE_ROOT / ".venv":
        pytest.skip("this environment was not made by the launcher, which would now make its own")
    command = (getattr(sys, "_base_executable", sys.executable), str(SOURCE_ROOT / "app"))
    with App(session, tmp_path / "evidence", profile=tmp_path / "profile", command=command) as app:
        app.wait_for_window(60).find("composer")
        app.close_window()
        assert app.wait_for_exit(5) == 0
        app.assert_no_child_left()
