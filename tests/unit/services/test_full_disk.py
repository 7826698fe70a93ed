"""A disk that takes nothing more: said clearly, nothing lost, and mended by trying again (G05)."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import DirectoryMediaStore
from turnleaf.services import conversation_store
from turnleaf.services.attachments import AttachmentIntake
from turnleaf.services.errors import CheckpointError, JournalError, SaveFileError, StorageError
from turnleaf.services.library import Library
from turnleaf.services.notices import notice_of
from turnleaf.services.reducer import Transcript
from turnleaf.services.sidecar import Completed, Draft
from unit.services.checkpointing import (
    agent,
    ask,
    begin,
    envelope,
    files_in,
    interrupt,
    ledger_line,
    library_at,
    outside,
    profile_at,
    stored_file,
    stream,
    texts,
)


class Disk:
    """Lets calls to the disk fail: from call number ``fails_from`` on, until told otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.fails_from: int | None = None
        self.calls = 0
        self._folder = str(folder)
        for name in ("open", "fsync", "replace", "link"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            target = arguments[0]
            is_ours = name == "fsync" or self._folder in os.fsdecode(target)
            is_write = name != "open" or arguments[1] & (os.O_WRONLY | os.O_RDWR)
            if is_ours and is_write:
                if self.fails_from is not None and self.calls >= self.fails_from:
                    self.calls += 1
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self.calls += 1
            return call(*arguments, **options)

        return watched

    @contextmanager
    def full(self, after: int = 0) -> Iterator[None]:
        self.calls, self.fails_from = 0, after
        yield
        self.fails_from = None


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Disk:
    return Disk(monkeypatch, tmp_path)


def everything(library: Library) -> dict[str, bytes]:
    return {name: (library.profile.sessions / name).read_bytes() for name in files_in(library.profile) if "." in name
            and (library.profile.sessions / name).is_file()}  # fmt: skip


def test_a_checkpoint_on_a_full_disk_is_a_typed_error_and_the_turn_stays_in_memory(tmp_path: Path, disk: Disk) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        await ask(conversation, session, "1?")
        envelope = library.profile.sessions / f"{conversation.session_id}.json"
        before = envelope.read_bytes()
        number, run = await begin(conversation, session, "2?")
        result = await stream(conversation, session, "2?")
        line = ledger_line(number, run, "2?", (), result, Transcript())

        with disk.full(), pytest.raises(CheckpointError) as caught:
            await conversation.checkpoint(session, ended=Completed(line))

        assert caught.value.full_disk
        assert notice_of(caught.value).id == "not_saved_disk_full"
        assert "retry_save" in notice_of(caught.value).actions
        assert conversation.save_state.problem is caught.value
        assert conversation.save_state.saved_at is not None
        assert texts(session) == ["1?", "One.", "2?", "Two."]
        assert [each.question for each in conversation.sidecar.ledger] == ["1?", "2?"]
        assert conversation.interrupted is None
        assert envelope.read_bytes() == before
        assert not list(library.profile.data.rglob(".*.tmp"))

        await conversation.retry()

        assert conversation.save_state.problem is None
        again = await Library(library.profile).open(conversation.session_id)
        assert again.interrupted is None
        assert texts(await again.restore(agent())) == ["1?", "One.", "2?", "Two."]

    asyncio.run(scenario())


def test_failing_at_any_call_of_a_checkpoint_keeps_the_turn_on_disk_or_in_memory(tmp_path: Path, disk: Disk) -> None:
    async def once(folder: Path, fails_from: int) -> bool:
        library = library_at(folder)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        await ask(conversation, session, "1?")
        number, run = await begin(conversation, session, "2?")
        result = await stream(conversation, session, "2?")
        await conversation.flush()
        failed = False
        with disk.full(after=fails_from):
            try:
                line = ledger_line(number, run, "2?", (), result, Transcript())
                await conversation.checkpoint(session, ended=Completed(line))
            except CheckpointError:
                failed = True
        assert not list(library.profile.data.rglob(".*.tmp"))
        # A process that ends now, with the disk still full.
        killed = await Library(library.profile).open(conversation.session_id)
        found = texts(await killed.restore(agent()))
        if found == ["1?", "One."]:
            assert killed.interrupted is not None
            assert (killed.interrupted.question, killed.interrupted.cause) == ("2?", "killed")
        else:
            assert found == ["1?", "One.", "2?", "Two."]
            assert killed.interrupted is None
            assert [each.question for each in killed.sidecar.ledger] == ["1?", "2?"]
        if failed:
            await conversation.retry()
            mended = await Library(library.profile).open(conversation.session_id)
            assert texts(await mended.restore(agent())) == ["1?", "One.", "2?", "Two."]
        return failed

    failures = 0
    while asyncio.run(once(tmp_path / str(failures), failures)):
        failures += 1
    assert failures > 5


def test_a_question_that_cannot_be_journalled_is_not_sent_and_all_is_as_before(tmp_path: Path, disk: Disk) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent(["Ye", OSError("gone")], "Later."))
        await interrupt(conversation, session, "Before?")
        file = stored_file(library)
        conversation.set_draft("2?", [file])
        await conversation.flush()
        before = everything(library)

        with disk.full(), pytest.raises(JournalError) as caught:
            await begin(conversation, session, "2?", [file])

        assert caught.value.full_disk
        assert "not sent" in str(caught.value)
        assert notice_of(caught.value).id == "not_sent_disk_full"
        assert everything(library) == before
        assert conversation.sidecar.draft == Draft("2?", (file.info,))
        assert conversation.interrupted is not None
        assert conversation.interrupted.question == "Before?"
        assert conversation.sidecar.ledger == []
        assert conversation.title == "Before?"
        await ask(conversation, session, "2?", [file])
        assert [line.question for line in conversation.sidecar.ledger] == ["Before?", "2?"]

    asyncio.run(scenario())


def test_a_turn_that_could_not_be_saved_is_saved_before_the_next_question(tmp_path: Path, disk: Disk) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two.", "Three."))
        await begin(conversation, session, "1?")
        result = await stream(conversation, session, "1?")
        line = ledger_line(1, 1, "1?", (), result, Transcript())
        with disk.full(), pytest.raises(CheckpointError):
            await conversation.checkpoint(session, ended=Completed(line))
        with disk.full(), pytest.raises(JournalError, match="turn before"):
            await begin(conversation, session, "2?")

        await begin(conversation, session, "2?")

        killed = await Library(library.profile).open(conversation.session_id)
        assert texts(await killed.restore(agent())) == ["1?", "One."]
        assert killed.interrupted is not None
        assert killed.interrupted.question == "2?"

    asyncio.run(scenario())


def test_a_draft_that_cannot_be_written_is_said_and_written_when_there_is_room(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_store, "RETRY_S", 0.1)

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        with disk.full():
            conversation.set_draft("precious")
            await asyncio.sleep(0.4)
            assert isinstance(conversation.save_state.problem, CheckpointError)
            with pytest.raises(CheckpointError):
                await conversation.flush()
        await asyncio.sleep(0.3)

        assert conversation.save_state.problem is None
        assert (await Library(library.profile).open(conversation.session_id)).sidecar.draft.text == "precious"

    asyncio.run(scenario())


def test_a_file_of_the_users_that_cannot_be_written_stays_as_it_was(tmp_path: Path, disk: Disk) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        await ask(conversation, session, "1?")
        target = await conversation.save_file(session, tmp_path / "mine.json")
        before = target.read_bytes()
        await ask(conversation, session, "2?")

        with disk.full(), pytest.raises(SaveFileError) as caught:
            await conversation.save_file(session)

        assert caught.value.full_disk
        assert target.read_bytes() == before
        assert conversation.behind_file
        assert not list(tmp_path.glob(".*.tmp"))

    asyncio.run(scenario())


def test_a_write_that_breaks_off_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    """The system's own limit on file sizes cuts a real write short."""
    resource = pytest.importorskip("resource")

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "x" * 300_000))
        await ask(conversation, session, "1?")
        envelope = library.profile.sessions / f"{conversation.session_id}.json"
        before = envelope.read_bytes()
        number, run = await begin(conversation, session, "2?")
        result = await stream(conversation, session, "2?")
        line = ledger_line(number, run, "2?", (), result, Transcript())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with pytest.raises(CheckpointError) as caught:
                await conversation.checkpoint(session, ended=Completed(line))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        assert caught.value.full_disk
        assert envelope.read_bytes() == before
        assert not list(library.profile.data.rglob(".*.tmp"))
        await conversation.retry()
        assert len(texts(await (await Library(library.profile).open(envelope.stem)).restore(agent()))[-1]) == 300_000

    asyncio.run(scenario())


def test_a_checkpoint_whose_caller_is_cancelled_is_written_all_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One."))
        await begin(conversation, session, "1?")
        result = await stream(conversation, session, "1?")
        line = ledger_line(1, 1, "1?", (), result, Transcript())
        saving = asyncio.create_task(conversation.checkpoint(session, ended=Completed(line)))
        await asyncio.sleep(0)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving

        await library.close()

        again = await Library(profile_at(tmp_path)).open(conversation.session_id)
        assert texts(await again.restore(agent())) == ["1?", "One."]
        assert again.interrupted is None

    asyncio.run(scenario())


def test_a_file_that_cannot_be_stored_is_not_attached_and_not_half_there(tmp_path: Path, disk: Disk) -> None:
    intake = AttachmentIntake(DirectoryMediaStore(tmp_path / "media"), tmp_path / "cache")
    with disk.full(), pytest.raises(StorageError) as caught:
        asyncio.run(intake.take(("paper.txt", b"some words")))

    assert caught.value.full_disk
    assert notice_of(caught.value).text == "paper.txt could not be stored: the disk is full."
    assert not [path for path in (tmp_path / "media").rglob("*") if path.is_file()]


def test_a_file_from_outside_that_cannot_be_taken_in_leaves_nothing_behind(tmp_path: Path, disk: Disk) -> None:
    library = library_at(tmp_path)
    path = outside(tmp_path / "chat.json", envelope())
    before = path.read_bytes()

    with disk.full(), pytest.raises(StorageError) as caught:
        asyncio.run(library.import_file(path))

    assert "chat.json" in notice_of(caught.value).text
    assert files_in(library.profile) == []
    assert path.read_bytes() == before
    assert asyncio.run(library_at(tmp_path).import_file(path)).title == "Hello?"
