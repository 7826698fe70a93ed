"""Atomic writes: whatever fails, the old file is byte for byte as before and no temporary file stays."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.testing import answer, question, scripted_agent


def no_space(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


class FailsAt:
    """Calls through, and fails at one of the calls."""

    def __init__(self, function: Callable[..., Any], call: int) -> None:
        self.function = function
        self.call = call
        self.count = 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.count += 1
        return no_space() if self.count == self.call else self.function(*arguments, **options)


def session_with_history() -> AgentSession:
    session = scripted_agent(["next"]).session()
    session.messages.extend([question("q"), answer("a" * 10_000)])
    return session


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize(("name", "call"), [("fsync", 1), ("fsync", 2), ("replace", 1), ("open", 1), ("open", 2)])
def test_h02_a_failed_save_leaves_what_was_there(
    name: str, call: int, existed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.json"
    if existed:
        path.write_bytes(b"the old one")
    session = session_with_history()
    monkeypatch.setattr(os, name, FailsAt(getattr(os, name), call))
    with pytest.raises(OSError, match="No space"):
        session.to_json(path)
    monkeypatch.undo()
    assert sorted(file.name for file in tmp_path.iterdir()) == (["session.json"] if existed else [])
    if existed:
        assert path.read_bytes() == b"the old one"
    session.to_json(path)
    assert AgentSession.from_json(path, agent=session.agent).messages == session.messages
    assert [file.name for file in tmp_path.iterdir()] == ["session.json"]


def test_a_write_that_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def pieces() -> Any:
        yield b"new"
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        write_atomically(path, pieces())
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_file_system_without_hard_links_still_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "link", lambda *_, **__: no_space())
    write_atomically(path, [b"new"])
    assert path.read_bytes() == b"new"


def test_a_folder_that_cannot_be_synced_by_kind_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, "not for folders")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "kept" / "real.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    write_atomically(link, [b"new"])
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError, match="taken"):
        write_atomically(tmp_path / "taken", [b"x"])
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_a_name_as_long_as_the_file_system_allows_can_be_saved(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    session_with_history().to_json(path)
    assert path.exists()


def test_a_snapshot_is_saved_by_another_thread_while_the_session_goes_on(tmp_path: Path) -> None:
    agent = scripted_agent(["word "] * 50)
    session = agent.session()
    session.messages.extend([question("q"), answer("a" * 200)] * 2000)
    snapshot = session.snapshot()
    done = threading.Event()
    failures: list[BaseException] = []

    def save() -> None:
        try:
            while not done.is_set():
                snapshot.to_json(tmp_path / "session.json")
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            failures.append(error)

    thread = threading.Thread(target=save)
    thread.start()
    try:
        for _ in range(10):
            asyncio.run(session.run("more"))
    finally:
        done.set()
        thread.join()
    assert not failures
    assert len(session.messages) == 4020
    restored = AgentSession.from_json(tmp_path / "session.json", agent=agent)
    assert len(restored.messages) == 4000
    assert restored.metadata["run_count"] == 0
    assert restored.session_id == session.session_id


def test_encoding_a_large_history_lets_other_threads_run() -> None:
    session = scripted_agent([]).session()
    session.messages.extend([question("q"), answer("ä" * 20_000_000)])
    snapshot = session.snapshot()
    turns = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal turns
        while not done.is_set():
            time.sleep(0.001)
            turns += 1

    thread = threading.Thread(target=watch)
    thread.start()
    text = snapshot.to_json()
    done.set()
    thread.join()
    assert len(text) > 20_000_000
    # Encoded in one step, the other thread would not get a turn until the end.
    assert turns > 3


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_every_folder_that_is_made_is_the_users_alone_and_others_keep_their_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    before = os.umask(0o022)
    try:
        write_atomically(shared / "one" / "two" / "file.json", [b"{}"])
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (shared, shared / "one", shared / "one" / "two")]
    assert modes == [0o755, 0o700, 0o700]


def test_file_in_the_place_of_a_folder_is_an_error_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a file")
    with pytest.raises(OSError, match="one"):
        write_atomically(tmp_path / "one" / "two" / "file.json", [b"{}"])
    assert (tmp_path / "one").read_text() == "a file"
