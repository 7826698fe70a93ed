"""A conversation that is closed: its last writes, who opens it meanwhile, and what comes too late (G05)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from turnleaf.services.conversation_facts import UNREAD_FILES
from turnleaf.services.errors import CheckpointError, JournalError
from unit.services.checkpointing import (
    agent,
    ask,
    begin,
    envelope,
    files_in,
    library_at,
    made,
    outside,
    sidecar_on_disk,
    texts,
)


def test_conversation_opened_while_it_is_closed_is_a_fresh_one_that_writes(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        old = await made(library, "One")
        old.set_draft("typed at the end")
        closing = asyncio.ensure_future(old.close())
        await asyncio.sleep(0)
        fresh = await library.open(old.session_id)
        assert fresh is not old
        assert old.is_closed
        assert fresh.sidecar.draft.text == "typed at the end"
        session = await fresh.restore(agent("Two!"))
        await ask(fresh, session, "Two")
        await closing

        again = await library_at(tmp_path).open(old.session_id)
        assert texts(await again.restore(agent()))[-1] == "Two!"

    asyncio.run(scenario())


def test_conversation_that_is_about_to_be_closed_is_not_handed_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        old = await made(library, "One")
        old.leave()
        opening = asyncio.ensure_future(library.open(old.session_id))
        await asyncio.sleep(0.05)
        assert not opening.done()
        await old.close()
        assert await opening is not old

    asyncio.run(scenario())


def test_file_imported_after_its_conversation_was_closed_is_a_fresh_one_that_writes(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        path = outside(tmp_path / "mine.json", envelope())
        first = await library.import_file(path)
        await first.close()
        second = await library.import_file(path)
        assert second is not first
        second.set_draft("kept")
        await second.flush()
        assert sidecar_on_disk(library, second.session_id)["draft"]["text"] == "kept"

    asyncio.run(scenario())


def test_nothing_that_comes_after_the_end_counts_as_saved(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "One")
        session = await conversation.restore(agent("Two!"))
        await conversation.close()
        before = conversation.save_state
        assert before.problem is None

        with pytest.raises(JournalError):
            await begin(conversation, session, "Two")
        with pytest.raises(CheckpointError):
            await conversation.save_history(session)
        assert conversation.save_state.problem is not None
        assert conversation.save_state.saved_at == before.saved_at

    asyncio.run(scenario())


def test_draft_that_comes_after_the_end_is_said_not_to_be_saved(tmp_path: Path) -> None:
    async def scenario() -> None:
        conversation = await made(library_at(tmp_path), "One")
        await conversation.close()
        conversation.set_draft("too late")
        assert conversation.save_state.problem is not None

    asyncio.run(scenario())


@pytest.mark.parametrize("draft", ["", "something"])
def test_closing_twice_is_harmless(tmp_path: Path, draft: str) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        conversation.set_draft(draft)
        await asyncio.gather(conversation.close(), conversation.close())
        await conversation.close()
        await library.close()
        assert files_in(library.profile) == ([f"{conversation.session_id}.meta.json"] if draft else [])

    asyncio.run(scenario())


def test_closed_conversation_can_go_to_the_trash(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "One")
        closing = asyncio.ensure_future(conversation.close())
        await asyncio.sleep(0)
        await library.trash(conversation.session_id)
        await closing
        assert files_in(library.profile) == []

    asyncio.run(scenario())


def test_opened_conversation_says_when_it_was_saved(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "One")
        await library.close()
        opened = await library_at(tmp_path).open(conversation.session_id)
        assert opened.save_state.saved_at == conversation.sidecar.updated_at
        assert opened.save_state.problem is None
        assert library.create().save_state.saved_at is None

    asyncio.run(scenario())


def test_file_that_is_still_read_is_worth_keeping_and_kept_by_its_path(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        conversation.set_draft("", (), [tmp_path / "big.pdf"])
        await conversation.close()
        opened = await library_at(tmp_path).open(conversation.session_id)
        assert opened.unread_files == (str(tmp_path / "big.pdf"),)
        opened.set_draft("")
        assert opened.unread_files == ()
        assert opened.is_empty
        opened.sidecar.view[UNREAD_FILES] = "no list"
        assert opened.unread_files == ()

    asyncio.run(scenario())
