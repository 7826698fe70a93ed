"""A process that is killed at any of its calls to the disk loses nothing that had been promised (G05, I01)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from doc_processing_toolkit import AgentSession
from turnleaf.services.conversation import Conversation
from turnleaf.services.library import Library
from turnleaf.services.profile import Profile, open_profile
from turnleaf.services.rows import DividerRow
from turnleaf.services.transcript import rows_of_history
from unit.services import crash_worker
from unit.services.checkpointing import agent, ask, texts

WORKER = Path(__file__).with_name("crash_worker.py")
QUESTIONS = {1: "My name is Alice", 2: "What does it say?", 3: "And then?"}
ANSWERS = {1: "Hello Alice.", 2: "Some text, it says."}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the worker forks")


def run_worker(root: Path, scenario: str, base: Path | None = None) -> int:
    """Return how many times a process was killed."""
    command = [sys.executable, str(WORKER), str(root), scenario, *([str(base)] if base else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def promises_of(root: Path) -> list[str]:
    path = root / "promised"
    return path.read_text("utf-8").splitlines() if path.exists() else []


class Restarted:
    """What the next process finds."""

    def __init__(self, library: Library, conversation: Conversation, session: AgentSession) -> None:
        self.library = library
        self.conversation = conversation
        self.session = session
        self.rows = rows_of_history(
            session.messages,
            conversation.sidecar.ledger,
            session.run_boundaries,
            "chat",
            conversation.interrupted,
        )

    @property
    def answered(self) -> list[str]:
        return [line.question for line in self.conversation.sidecar.ledger if line.status == "completed"]


async def restart(profile: Profile, session_id: str) -> Restarted:
    library = Library(profile)
    summaries = await asyncio.to_thread(library.summaries)
    assert [summary.problem for summary in summaries] == [""] * len(summaries)
    conversation = await library.open(session_id)
    assert conversation.problems == ()
    (summary,) = [each for each in summaries if each.session_id == session_id]
    assert summary.interrupted == (conversation.interrupted is not None)
    session = await conversation.restore(agent("Going on."))
    return Restarted(library, conversation, session)


def check_consistent(found: Restarted) -> None:
    """What holds at every moment, whatever was promised."""
    session, sidecar = found.session, found.conversation.sidecar
    assert len(texts(session)) == 2 * session.metadata["run_count"]
    assert found.answered == texts(session)[::2]
    numbers = [line.number for line in sidecar.ledger]
    interrupted = found.conversation.interrupted
    if interrupted is not None:
        numbers.append(interrupted.number)
        assert interrupted.question not in found.answered
    assert numbers == sorted(set(numbers))
    dividers = [row.turn for row in found.rows if isinstance(row, DividerRow)]
    assert dividers == numbers
    assert not list(found.library.profile.sessions.rglob(".*.tmp"))


def check_promises(found: Restarted, promised: list[str]) -> None:
    interrupted = found.conversation.interrupted
    draft = found.conversation.sidecar.draft
    for number, question in QUESTIONS.items():
        if f"answered {number}" in promised:
            assert question in found.answered
            assert texts(found.session)[2 * number - 1] == ANSWERS[number]
        elif f"begun {number}" in promised:
            asked_again = interrupted is not None and interrupted.question == question
            assert asked_again != (question in found.answered)
            if interrupted is not None and asked_again:
                assert (interrupted.cause, interrupted.number) == ("killed", number)
        elif f"draft {number}" in promised and number < 3:
            journalled = interrupted is not None and interrupted.question == question
            assert (draft.text == question) or journalled
    if "failed 3" in promised:
        assert interrupted is not None
        assert (interrupted.question, interrupted.cause, interrupted.partial) == ("And then?", "failed", "Half an ")
    if "draft 3" in promised:
        assert draft.text == "unsent"
    check_file(found, promised)


def check_file(found: Restarted, promised: list[str]) -> None:
    """A file is never named without its bytes."""
    sidecar, interrupted = found.conversation.sidecar, found.conversation.interrupted
    named = [*sidecar.draft.attachments, *(info for line in sidecar.ledger for info in line.attachments)]
    named += interrupted.attachments if interrupted is not None else ()
    for info in named:
        assert found.library.media.get(f"{info.sha256}.txt") == b"some text"
    if "draft 2" in promised:
        assert named


@pytest.mark.timeout(180)
def test_G05_killed_at_any_call_to_the_disk_a_conversation_loses_nothing(tmp_path: Path) -> None:
    kills = run_worker(tmp_path, "whole_life")
    states: Counter[str] = Counter()

    async def look(root: Path) -> None:
        promised = promises_of(root)
        session_id = promised[0].removeprefix("id ")
        profile = open_profile(root / "profile")
        if not any((profile.sessions / f"{session_id}{suffix}").exists() for suffix in (".json", ".meta.json")):
            assert promised[1:] in ([], ["file"])
            states["nothing"] += 1
            return
        found = await restart(profile, session_id)
        check_consistent(found)
        check_promises(found, promised)
        interrupted = found.conversation.interrupted
        states[f"{len(found.answered)} answered, {interrupted.cause if interrupted else 'none'} interrupted"] += 1
        # And it goes on from there.
        await ask(found.conversation, found.session, "Go on")
        again = await restart(profile, session_id)
        assert again.answered[-1] == "Go on"
        check_consistent(again)

    for die_at in range(kills + 1):
        asyncio.run(look(tmp_path / str(die_at)))
    assert kills > 60
    # Each state of the life was met, so the kills were where they matter.
    assert {
        "nothing",
        "0 answered, none interrupted",
        "0 answered, killed interrupted",
        "1 answered, none interrupted",
        "1 answered, killed interrupted",
        "2 answered, none interrupted",
        "2 answered, killed interrupted",
        "2 answered, failed interrupted",
    } <= states.keys()


@pytest.mark.timeout(120)
def test_killed_at_any_call_of_a_rewind_the_cut_turns_are_still_somewhere(tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(_lived(tmp_path / "life"), base)
    (base / "promised").unlink()
    kills = run_worker(tmp_path, "second_life", base)

    async def look(root: Path) -> None:
        promised = promises_of(root)
        (envelope,) = [path for path in (root / "profile/data/sessions").glob("*.json") if ".meta" not in path.name]
        profile = open_profile(root / "profile")
        library = Library(profile)
        assert [summary.problem for summary in library.summaries()] == [""]
        conversation = await library.open(envelope.stem)
        session = await conversation.restore(agent())
        if "kept" in promised:
            kept = [path.read_text() for path in conversation._files.generations()]
            assert any("What does it say?" in content for content in kept)
        expected = 4 if "rewound" not in promised else 2
        if "answered" in promised:
            assert texts(session) == ["My name is Alice", "Hello Alice.", "What colour?", "Blue."]
        else:
            assert len(texts(session)) in (expected, 2, 4)

    for die_at in range(kills + 1):
        asyncio.run(look(tmp_path / str(die_at)))
    assert kills > 15


@pytest.mark.parametrize("after_s", [0.03, 0.09, 0.17, 0.26])
def test_killed_at_any_time_a_conversation_loses_nothing(tmp_path: Path, after_s: float) -> None:
    """The same from outside, at times that no call decides."""
    command = [sys.executable, str(WORKER), str(tmp_path), "whole_life", "--unharmed"]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 30
        while not promises_of(tmp_path):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)

    async def look() -> None:
        promised = promises_of(tmp_path)
        session_id = promised[0].removeprefix("id ")
        profile = open_profile(tmp_path / "profile")
        if "draft 1" not in promised:
            return
        found = await restart(profile, session_id)
        check_consistent(found)
        check_promises(found, promised)

    asyncio.run(look())


def _lived(root: Path) -> Path:
    """Return the root of a life that nobody ended."""
    root.mkdir()
    library = Library(open_profile(root / "profile"))
    asyncio.run(crash_worker.whole_life(library, crash_worker.Promises(root / "promised")))
    return root
