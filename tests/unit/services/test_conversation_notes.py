"""What stands beside a conversation: draft, title, recipe, view, save state, kept generations (G05)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from turnleaf.services.conversation import SaveState
from turnleaf.services.library import Library
from unit.services.checkpointing import (
    agent,
    ask,
    files_in,
    library_at,
    profile_at,
    sidecar_on_disk,
    stored_file,
)


def test_nothing_is_on_disk_until_something_is_worth_keeping(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        conversation.set_draft("   ")
        await conversation.flush()
        assert files_in(library.profile) == []

        conversation.set_draft("Half a thought")
        await conversation.flush()
        assert files_in(library.profile) == [f"{conversation.session_id}.meta.json"]

    asyncio.run(scenario())


def test_a_draft_with_files_is_on_disk_within_300_ms_of_each_keystroke(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        file = stored_file(library)
        for length in range(1, 21):
            conversation.set_draft("k" * length, [file])
            await asyncio.sleep(0.05)
        # Keystrokes that keep coming must not put the write off.
        assert len(sidecar_on_disk(library, conversation.session_id)["draft"]["text"]) > 5
        await asyncio.sleep(0.3)
        on_disk = sidecar_on_disk(library, conversation.session_id)["draft"]
        assert on_disk["text"] == "k" * 20
        assert on_disk["attachments"][0]["name"] == "paper.txt"

        again = await Library(library.profile).open(conversation.session_id)
        assert again.sidecar.draft.text == "k" * 20

    asyncio.run(scenario())


def test_view_title_and_recipe_are_kept_and_no_key_is_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        spoken = agent("Hi.", instructions="Be brief.", api_key="not-for-any-file")
        session = await conversation.restore(spoken)
        await ask(conversation, session, "Hello there")
        conversation.set_recipe(spoken)
        conversation.set_view("scroll", {"row": "1/answer/0", "offset": 0.5})
        conversation.rename("  My\nchat  ")
        await conversation.flush()

        again = await Library(library.profile).open(conversation.session_id)
        assert again.title == "My chat"
        assert again.sidecar.view == {"scroll": {"row": "1/answer/0", "offset": 0.5}}
        assert again.sidecar.recipe["instructions"] == "Be brief."
        for path in library.profile.data.rglob("*"):
            assert path.is_dir() or b"not-for-any-file" not in path.read_bytes()
        again.rename("")
        assert again.title == "Hello there"

    asyncio.run(scenario())


def test_the_save_state_tells_when_everything_was_on_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        states: list[SaveState] = []
        conversation.on_save_state = states.append
        session = await conversation.restore(agent("Hi."))

        await ask(conversation, session, "Hello")

        assert states
        assert all(state.problem is None for state in states)
        assert conversation.save_state.saved_at is not None

    asyncio.run(scenario())


def test_a_kept_generation_is_the_envelope_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        assert await conversation.keep_generation("rewind") is None
        await ask(conversation, session, "1?")
        await ask(conversation, session, "2?")
        envelope = library.profile.sessions / f"{conversation.session_id}.json"
        before = envelope.read_bytes()

        kept = await conversation.keep_generation("Rewind to 1/../!")
        session.truncate_to_turn(1)
        await conversation.save_history(session)

        assert kept is not None
        assert kept.name.endswith("-rewind-to-1.json")
        assert kept.read_bytes() == before
        assert len(json.loads(envelope.read_bytes())["messages"]) == 2

    asyncio.run(scenario())


def test_an_empty_conversation_leaves_no_file_when_it_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        conversation.set_draft("never mind")
        await conversation.flush()
        conversation.set_draft("")
        await conversation.close()
        assert files_in(library.profile) == []

    asyncio.run(scenario())


def test_the_profile_lock_keeps_a_second_process_out(tmp_path: Path) -> None:
    from turnleaf.services.errors import ProfileBusyError
    from turnleaf.services.profile import ProfileLock

    profile = profile_at(tmp_path)
    with ProfileLock(profile), pytest.raises(ProfileBusyError, match="in use"):
        ProfileLock(profile).acquire()
    with ProfileLock(profile):
        pass
