"""What a user does with Turnleaf's window, in its own words: ask, wait for the answer, attach, read the bar."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.desktop.accessibility import Node
from support.desktop.application import App
from support.desktop.session import DesktopSession

# The local model starts (1.2 s), may assemble its weights (3 s) and shares two cores with everything else.
ANSWER_S = 60.0


class Turnleaf(App):
    """The real application on a profile of the test's own, with the local model as it comes."""

    profile: Path

    def __init__(
        self, session: DesktopSession, folder: Path, *, profile: Path | None = None, arguments: Sequence[str] = ()
    ) -> None:
        super().__init__(session, folder / "evidence", profile=profile or folder / "profile", arguments=arguments)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.wait_for_window()
            self.find("composer")
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            self.assert_nothing_went_wrong_unseen()

    def assert_nothing_went_wrong_unseen(self) -> None:
        """No traceback, warning of Qt's or the like was printed, and no crash was logged."""
        assert self.output.read_text() == ""
        log = self.profile / "state" / "turnleaf.log"
        logged = log.read_text(encoding="utf-8") if log.exists() else ""
        assert "CRITICAL" not in logged, logged[-3000:]

    # Talking.

    def write(self, text: str) -> None:
        """Put text into the composer, by mouse and keyboard, and see it stand there."""
        self.click("composer")
        self.type_text(text)
        self.wait_until(lambda: self.composed().endswith(text), f"{text!r} in the composer")

    def ask(self, question: str) -> None:
        """Type a question and send it with Enter."""
        self.write(question)
        self.press("Return")
        self.wait_until(lambda: not self.composed(), "the composer to be empty after sending")

    def composed(self) -> str:
        """The composer's text."""
        return self.find("composer").text

    def transcript(self) -> str:
        return self.text_of("transcript")

    @property
    def busy(self) -> bool:
        """Whether a turn runs: the stop button has taken the place of the send button."""
        return bool(self.find_all("stopButton"))

    def answer_row(self, turn: int) -> Node | None:
        """The row with the answer of a turn in the tab in front."""
        rows = [row for view in self.find_all("transcript") for row in view.find_all(name=f"Answer {turn}")]
        return rows[0] if rows else None

    def answer(self, turn: int) -> str:
        """The finished answer of a turn as a screen reader reads it, empty while there is none."""
        row = self.answer_row(turn)
        return row.description if row else ""

    def shown_answer(self, turn: int) -> str:
        """What the window shows of an answer, also while it streams."""
        row = self.answer_row(turn)
        return "\n".join(part.texts() for part in row.children()) if row else ""

    def wait_for_shown(self, turn: int, at_least: int = 20) -> str:
        """Wait until some characters of a running turn's answer are shown, and return them."""
        return self.wait_until(
            lambda: text if len(text := self.shown_answer(turn)) >= at_least else "", "a part of the answer", ANSWER_S
        )

    def wait_for_turn(self, number: int, timeout_s: float = ANSWER_S) -> str:
        """Wait until turn `number` is answered, shown and saved, and return the answer."""
        self.wait_until(
            lambda: self.text_of("statusSaved").split("\n")[0].endswith(f" turn {number}"),
            f"turn {number} to be saved",
            timeout_s,
        )
        self.wait_until(lambda: not self.busy, "the end of the turn", timeout_s)
        return self.wait_until(lambda: self.answer(number), f"the answer of turn {number}", 5)

    def ink(self) -> int:
        """How many pixels of the transcript differ from its background: it grows when more text is shown."""
        area = self.find("transcript").extents
        picture = self.session.grab((area.x, area.y, area.width, area.height)).convert("L")
        return sum(picture.histogram()[:128])

    def stop(self) -> float:
        """Press *Stop* with the mouse and return how many seconds passed until the turn had ended on the screen."""
        button = self.find("stopButton")
        point = button.extents.centre
        self.focus_at(point)
        pressed = time.monotonic()
        self.mouse.click(*point)
        while button.showing:
            assert time.monotonic() - pressed < 5, "the turn goes on"
            time.sleep(0.005)
        return time.monotonic() - pressed

    def attach(self, *paths: Path) -> None:
        """Drop files on the window and wait until each has been read and stands ready as a chip."""
        result = self.drop(*paths)
        assert result.taken, result
        for path in paths:
            self.wait_for_chip(path.name, "as text")

    def chip(self, name: str) -> str:
        """What the chip of a file says, empty while there is none."""
        return next((chip.texts() for chip in self.find_all("attachmentChip") if name in chip.name), "")

    def wait_for_chip(self, name: str, words: str, timeout_s: float = 20) -> str:
        return self.wait_until(
            lambda: text if words in (text := self.chip(name)) else "",
            f"the chip of {name!r} to say {words!r}",
            timeout_s,
        )

    # On disk.

    def sidecars(self) -> list[dict[str, Any]]:
        """What stands in the sidecars now, the oldest first."""
        folder = self.profile / "data" / "sessions"
        paths = sorted(folder.glob("*.meta.json"), key=lambda path: path.stat().st_mtime)
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    def envelopes(self) -> list[dict[str, Any]]:
        """The conversations that are on disk."""
        folder = self.profile / "data" / "sessions"
        paths = [path for path in sorted(folder.glob("*.json")) if not path.name.endswith(".meta.json")]
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]
