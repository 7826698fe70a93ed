"""Nothing is lost when the real application is killed, closed or told to end, whatever it was doing (G05)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.desktop.needs import require_desktop
from support.desktop.sample_files import write_pdf
from support.desktop.session import DesktopSession
from support.desktop.turnleaf_window import Turnleaf

pytestmark = [pytest.mark.display, pytest.mark.local_model]
# The model counts on for some ten seconds, so there is time to do something in the middle of it.
LONG_QUESTION = "Write down the numbers from 1 to 200, one after another."
# What has arrived is promised to be on disk within 250 ms.
ON_DISK_WITHIN_S = 0.3


@pytest.fixture(scope="module")
def session() -> Iterator[DesktopSession]:
    require_desktop()
    with DesktopSession() as session:
        yield session


def test_killed_application_comes_back_with_conversation_tab_and_draft(session: DesktopSession, tmp_path: Path) -> None:
    draft = "What food do I like? – und später"
    with Turnleaf(session, tmp_path) as app:
        app.ask("My name is Alice and I love pizza.")
        app.wait_for_turn(1)
        before = sorted(app.transcript().splitlines())
        app.write(draft)
        app.wait_until(lambda: any(one["draft"]["text"] == draft for one in app.sidecars()), "the draft on disk", 1)
        app.kill9()
        app.assert_no_child_left()
    with Turnleaf(session, tmp_path) as app:
        app.wait_for_text("transcript", "My name is Alice and I love pizza.")
        app.wait_until(lambda: sorted(app.transcript().splitlines()) == before, "the whole transcript")
        assert app.composed() == draft
        assert len(app.envelopes()) == 1


def test_killed_in_mid_answer_the_question_its_file_and_what_was_shown_come_back(
    session: DesktopSession, tmp_path: Path
) -> None:
    numbers = write_pdf(tmp_path / "numbers.pdf", ["1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18"])
    with Turnleaf(session, tmp_path) as app:
        app.attach(numbers)
        app.ask(LONG_QUESTION)
        shown = app.wait_for_shown(1)
        time.sleep(ON_DISK_WITHIN_S)
        assert app.busy
        app.kill9()
        app.assert_no_child_left()
    with Turnleaf(session, tmp_path) as app:
        card = app.find("interruptedCard").texts()
        assert LONG_QUESTION in card
        assert numbers.name in card
        assert squeezed(shown) in squeezed(card)
        app.click("sendAgain")
        app.wait_for_shown(1)
        assert not app.find_all("interruptedCard")
        (sidecar,) = app.sidecars()
        assert [file["name"] for file in sidecar["journal"]["attachments"]] == [numbers.name]
        app.stop()


@pytest.mark.parametrize("end", [Turnleaf.close_window, Turnleaf.terminate], ids=["closed", "SIGTERM"])
def test_ending_in_mid_answer_takes_three_seconds_at_most_and_keeps_the_turn(
    session: DesktopSession, tmp_path: Path, end: Callable[[Turnleaf], None]
) -> None:
    with Turnleaf(session, tmp_path) as app:
        app.ask(LONG_QUESTION)
        shown = app.wait_for_shown(1)
        app.remember_children()
        end(app)
        assert app.wait_for_exit(3) == 0
        app.assert_no_child_left(0.5)
    with Turnleaf(session, tmp_path) as app:
        card = app.find("interruptedCard").texts()
        assert LONG_QUESTION in card
        assert squeezed(shown) in squeezed(card)


def test_model_process_that_dies_fails_its_turn_and_the_next_one_gets_a_new_process(
    session: DesktopSession, tmp_path: Path
) -> None:
    with Turnleaf(session, tmp_path) as app:
        app.ask(LONG_QUESTION)
        shown = app.wait_for_shown(1)
        (model,) = app.remember_children()
        model.kill()
        assert squeezed(shown) in squeezed(app.find("interruptedCard").texts())
        app.click("sendAgain")
        app.wait_for_shown(1)
        assert model.pid not in app.child_pids()


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
