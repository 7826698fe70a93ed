"""The conversations of a profile: listing, importing, deleting (G05, G06)."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from turnleaf.services.errors import ConversationNotFoundError, StorageError
from turnleaf.services.library import Library
from unit.services.checkpointing import (
    agent,
    ask,
    begin,
    envelope,
    files_in,
    interrupt,
    library_at,
    made,
    outside,
    stored_file,
)


def test_the_list_is_newest_first_with_what_a_reader_needs(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        first = await made(library, "First question", "Second question")
        other = library.create()
        session = await other.restore(agent("Yes.", [OSError("gone")]))
        await ask(other, session, "Another")
        await interrupt(other, session, "Broken")
        empty = library.create()
        empty.set_draft("  ")
        draft = library.create()
        draft.set_draft("only a draft")
        await draft.flush()

        summaries = await asyncio.to_thread(library.summaries)

        assert [summary.session_id for summary in summaries] == [draft.session_id, other.session_id, first.session_id]
        assert [(each.title, each.turns, each.model, each.interrupted, each.problem) for each in summaries] == [
            ("", 0, "", False, ""),
            ("Another", 1, "Demo", True, ""),
            ("First question", 2, "Demo", False, ""),
        ]
        assert all(summary.updated_at.tzinfo is not None for summary in summaries)

    asyncio.run(scenario())


def test_a_running_turn_is_not_listed_as_interrupted_and_a_killed_one_is(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi."))
        await begin(conversation, session, "Running?")

        assert [each.interrupted for each in await asyncio.to_thread(library.summaries)] == [False]
        assert [each.interrupted for each in Library(library.profile).summaries()] == [True]

    asyncio.run(scenario())


def test_a_list_that_was_read_before_reads_no_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from turnleaf.services import summaries as module

    asyncio.run(made(library_at(tmp_path), "Hello"))
    before = library_at(tmp_path).summaries()
    assert [summary.title for summary in before] == ["Hello"]

    def must_not_read(_: Any) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(module, "read_envelope", must_not_read)
    monkeypatch.setattr(module, "read_sidecar", must_not_read)
    assert library_at(tmp_path).summaries() == before


def test_an_open_conversation_is_listed_as_it_is_without_reading_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from turnleaf.services import summaries as module

    def must_not_read(_: Any) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(module, "read_envelope", must_not_read)

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello", "Again")
        conversation.rename("Mine")
        (summary,) = await asyncio.to_thread(library.summaries)
        assert (summary.title, summary.turns, summary.interrupted) == ("Mine", 2, False)

    asyncio.run(scenario())


@pytest.mark.parametrize("content", ["", "[]", '{"x": 5}', "\x00\x01"])
def test_a_damaged_cache_of_the_list_is_read_anew(tmp_path: Path, content: str) -> None:
    asyncio.run(made(library_at(tmp_path), "Hello"))
    library = library_at(tmp_path)
    before = library.summaries()
    (library.profile.cache / "conversations.json").write_text(content)

    assert Library(library.profile).summaries() == before


def test_half_written_files_of_a_killed_process_are_deleted_and_fresh_ones_are_not(tmp_path: Path) -> None:
    library = library_at(tmp_path)
    old = library.profile.sessions / ".0123456789abcdef.tmp"
    old.write_bytes(b"half")
    time.sleep(0.02)
    library = Library(library.profile)
    fresh = library.profile.sessions / ".fedcba9876543210.tmp"
    other = library.profile.sessions / ".notes.tmp"
    time.sleep(0.02)
    for path in (fresh, other):
        path.write_bytes(b"now")

    library.summaries()

    assert [path.exists() for path in (old, fresh, other)] == [False, True, True]


def test_a_deleted_conversation_is_in_the_trash_whole_and_comes_back_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "One", "Two")
        await conversation.keep_generation("x")
        before = {name: (library.profile.sessions / name) for name in files_in(library.profile)}
        contents = {name: path.read_bytes() for name, path in before.items() if path.is_file()}

        entry = await library.trash(conversation.session_id)

        assert files_in(library.profile) == []
        assert await asyncio.to_thread(library.summaries) == []
        conversation.set_draft("too late")
        await asyncio.sleep(0.3)
        assert files_in(library.profile) == []
        with pytest.raises(ConversationNotFoundError):
            await library.open(conversation.session_id)

        assert await library.untrash(entry) == conversation.session_id

        after = {name: library.profile.sessions / name for name in files_in(library.profile)}
        assert {name: path.read_bytes() for name, path in after.items() if path.is_file()} == contents
        assert list(library.profile.trash.iterdir()) == []

    asyncio.run(scenario())


def test_a_trashed_conversation_does_not_push_out_one_that_has_its_id_by_now(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        path = outside(tmp_path / "x.json", envelope())
        conversation = await library.import_file(path)
        entry = await library.trash(conversation.session_id)
        await library.import_file(path)
        with pytest.raises(StorageError, match="exists"):
            await library.untrash(entry)
        with pytest.raises(ConversationNotFoundError):
            await library.untrash("no-such-entry")
        with pytest.raises(ConversationNotFoundError):
            await library.trash("no-such-conversation")

    asyncio.run(scenario())


def test_a_file_copied_by_hand_into_the_folder_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        outside(library.profile.sessions / "by-hand.json", envelope())
        (summary,) = await asyncio.to_thread(library.summaries)
        assert (summary.session_id, summary.title, summary.turns) == ("by-hand", "Hello?", 1)
        conversation = await library.open("by-hand")
        session = await conversation.restore(agent("More."))
        assert session.session_id == "by-hand"
        await ask(conversation, session, "Go on")
        assert json.loads((library.profile.sessions / "by-hand.json").read_bytes())["session_id"] == "by-hand"

    asyncio.run(scenario())


def test_attached_files_of_the_ledger_are_named_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Fine."))
        await ask(conversation, session, "What is in it?", [stored_file(library)])
        again = await Library(library.profile).open(conversation.session_id)
        (line,) = again.sidecar.ledger
        assert (line.attachments[0].name, line.attachments[0].characters) == ("paper.txt", 9)

    asyncio.run(scenario())
