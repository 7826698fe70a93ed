"""Opening and saving ``.json`` files of the user: what comes in, what goes out, what is refused (G06)."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit.core.errors import EnvelopeError
from turnleaf.services.errors import LinkedFileChangedError
from turnleaf.services.library import Library
from turnleaf.services.notices import notice_of
from unit.services.checkpointing import (
    agent,
    ask,
    envelope,
    files_in,
    library_at,
    made,
    outside,
    profile_at,
    texts,
)

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540000000004945 4e44ae426082".replace(" ", "")
    )
).decode()


def test_G06_a_file_from_outside_becomes_a_conversation_that_is_linked_to_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        path = outside(tmp_path / "chat.json", envelope())
        before = path.read_bytes()

        conversation = await library.import_file(path)

        assert conversation.session_id == envelope()["session_id"]
        assert conversation.linked_file == path
        assert not conversation.behind_file
        assert conversation.title == "Hello?"
        assert [(line.question, line.model_label) for line in conversation.sidecar.ledger] == [
            ("Hello?", "Local demo model")
        ]
        session = await conversation.restore(agent("More."))
        assert texts(session) == ["Hello?", "Hi."]
        await ask(conversation, session, "Go on")
        assert conversation.behind_file
        assert path.read_bytes() == before
        assert session.metadata["total_cost"] == 0.5

        assert await conversation.save_file(session) == path

        assert not conversation.behind_file
        assert [message["content"] for message in json.loads(path.read_bytes())["messages"]][-2:] == ["Go on", "More."]
        again = await Library(library.profile).open(conversation.session_id)
        assert (again.linked_file, again.behind_file) == (path, False)

    asyncio.run(scenario())


def test_the_same_file_again_is_the_same_conversation(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = outside(tmp_path / "chat.json", envelope())
        one = await library_at(tmp_path).import_file(path)
        library = Library(profile_at(tmp_path))
        other = await library.import_file(path)
        assert one.session_id == other.session_id
        assert await library.import_file(path) is other

    asyncio.run(scenario())


def test_a_saved_file_that_is_opened_again_is_the_conversation_that_it_came_from(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello")
        session = await conversation.restore(agent())
        path = await conversation.save_file(session, tmp_path / "saved.json")

        assert await library.import_file(path) is conversation

    asyncio.run(scenario())


def test_a_new_id_is_given_when_the_id_exists_with_other_content(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello")
        path = outside(tmp_path / "other.json", envelope(conversation.session_id))

        imported = await library.import_file(path)

        assert imported.session_id != conversation.session_id
        assert str(uuid.UUID(imported.session_id)) == imported.session_id
        assert texts(await imported.restore(agent())) == ["Hello?", "Hi."]
        assert texts(await conversation.restore(agent())) == ["Hello", "Hello!"]
        on_disk = json.loads((library.profile.sessions / f"{imported.session_id}.json").read_bytes())
        assert on_disk["session_id"] == imported.session_id
        # The same unchanged file once more is that conversation, not a third one.
        assert await library.import_file(path) is imported

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "session_id",
    [
        None,
        "",
        "chat",
        "../../../evil",
        "0B0C0D0E-0000-4000-8000-00000000000A",
        "{0b0c0d0e-0000-4000-8000-000000000001}",
        "0b0c0d0e000040008000000000000001",
        "con",
        "a" * 5000,
    ],
)
def test_a_new_id_is_given_when_the_id_is_no_plain_uuid(tmp_path: Path, session_id: str | None) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        path = outside(tmp_path / "x.json", {**envelope(), "session_id": session_id})

        conversation = await library.import_file(path)

        assert str(uuid.UUID(conversation.session_id)) == conversation.session_id
        assert files_in(library.profile) == [f"{conversation.session_id}.json", f"{conversation.session_id}.meta.json"]
        assert not list(tmp_path.rglob("*evil*"))
        assert (await library.import_file(path)) is conversation

    asyncio.run(scenario())


def test_checkpoints_of_an_imported_conversation_are_written_under_the_data_directory_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        conversation = await library.import_file(outside(folder / "chat.json", envelope()))
        session = await conversation.restore(agent("More."))
        await ask(conversation, session, "Go on")
        assert [path.name for path in folder.iterdir()] == ["chat.json"]

    asyncio.run(scenario())


BAD_FILES: dict[str, Any] = {
    "empty": "",
    "blank": " \n",
    "not json": "Dear diary",
    "cut off": '{"messages": [',
    "a list": "[1, 2]",
    "a text": '"hello"',
    "other json": '{"name": "package", "version": "1.0"}',
    "messages are text": '{"messages": "hello"}',
    "messages null": '{"messages": null}',
    "a message is a number": '{"messages": [5]}',
    "a shapeless message": '{"messages": [{}]}',
    "bad metadata": '{"messages": [], "metadata": []}',
    "bad counter": '{"messages": [], "metadata": {"run_count": "many"}}',
    "bad version": '{"schema_version": "three", "messages": []}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_json_that_is_no_envelope_is_a_clear_error_and_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    library = library_at(tmp_path)
    path = outside(tmp_path / "bad.json", BAD_FILES[name])

    with pytest.raises(EnvelopeError) as caught:
        asyncio.run(library.import_file(path))

    assert "bad.json" in str(caught.value)
    assert notice_of(caught.value).id == "not_a_conversation"
    assert files_in(library.profile) == []
    assert path.read_text("utf-8") == BAD_FILES[name]


def test_a_folder_a_pipe_a_socket_and_nothing_are_clear_errors(tmp_path: Path) -> None:
    library = library_at(tmp_path)
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.json"))
        for name in ("folder", "pipe", "socket", "nothing"):
            with pytest.raises(EnvelopeError, match=rf"{name}\.json"):
                asyncio.run(library.import_file(tmp_path / f"{name}.json"))


@pytest.mark.parametrize("version", [None, 1, 2, 3, 99])
def test_every_version_opens_and_what_it_does_not_say_costs_nothing(tmp_path: Path, version: int | None) -> None:
    data = {"messages": envelope()["messages"], "later": {"key": 1}}
    if version is not None:
        data["schema_version"] = version

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await library.import_file(outside(tmp_path / "old.json", data))
        assert [line.question for line in conversation.sidecar.ledger] == ["Hello?"]
        assert texts(await conversation.restore(agent())) == ["Hello?", "Hi."]

    asyncio.run(scenario())


def test_lone_surrogates_a_bom_and_nan_do_not_keep_a_file_shut(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        data = json.dumps(envelope(extra="\ud800"))
        path = tmp_path / "odd.json"
        path.write_bytes(b"\xef\xbb\xbf" + data.replace('"total_cost": 0.5', '"total_cost": NaN').encode("ascii"))
        conversation = await library.import_file(path)
        assert texts(await conversation.restore(agent())) == ["Hello?", "Hi."]

    asyncio.run(scenario())


def test_media_come_in_to_the_store_and_go_out_inline(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
        {"role": "assistant", "content": "A dot."},
    ]

    async def scenario() -> None:
        library = library_at(tmp_path)
        path = outside(tmp_path / "picture.json", envelope(messages=messages))

        conversation = await library.import_file(path)

        on_disk = (library.profile.sessions / f"{conversation.session_id}.json").read_text()
        assert PIXEL not in on_disk
        assert "$media:" in on_disk
        assert len(list(library.media.path.glob("*.png"))) == 1
        assert await library.import_file(path) is conversation
        session = await conversation.restore(agent())
        assert session.messages == messages
        inline = await conversation.save_file(session, tmp_path / "inline.json")
        assert PIXEL in inline.read_text()
        apart = await conversation.save_file(session, tmp_path / "apart.json", media_folder=True)
        assert PIXEL not in apart.read_text()
        assert [each.suffix for each in (tmp_path / "apart.media").iterdir()] == [".png"]

        elsewhere = library_at(tmp_path / "other")
        again = await elsewhere.import_file(apart)
        assert (await again.restore(agent())).messages == messages

    asyncio.run(scenario())


def test_an_interrupted_turn_in_a_file_is_offered_again(tmp_path: Path) -> None:
    data = envelope()
    data["metadata"]["interrupted_turn"] = {
        "message": "And then?",
        "files_attached": 2,
        "error": "the server went away",
        "error_type": "ProviderError",
        "failed_at": "2026-09-24T10:00:00+00:00",
        "run": 2,
        "undelivered_injections": [],
    }

    async def scenario() -> None:
        conversation = await library_at(tmp_path).import_file(outside(tmp_path / "x.json", data))
        turn = conversation.interrupted
        assert turn is not None
        assert (turn.number, turn.run, turn.question, turn.cause) == (2, 2, "And then?", "failed")
        assert "2 file(s)" in turn.reason
        assert turn.details == "the server went away"

    asyncio.run(scenario())


def test_a_history_of_another_provider_is_taken_in_for_an_agent_that_can_go_on_with_it(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Think."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
    ]

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await library.import_file(
            outside(tmp_path / "x.json", envelope(messages=messages, provider="anthropic", model="claude-haiku-4-5"))
        )
        on_disk = json.loads((library.profile.sessions / f"{conversation.session_id}.json").read_bytes())
        assert on_disk["messages"] == messages
        assert on_disk["provider"] == "anthropic"

    asyncio.run(scenario())


def test_an_envelope_of_the_library_itself_is_opened_and_not_linked(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello")
        own = library.profile.sessions / f"{conversation.session_id}.json"
        assert await library.import_file(own) is conversation
        assert conversation.linked_file is None

    asyncio.run(scenario())


def test_a_linked_file_that_somebody_else_changed_is_not_overwritten_without_a_word(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello")
        session = await conversation.restore(agent())
        path = await conversation.save_file(session, tmp_path / "mine.json")
        path.write_text("somebody else's")

        with pytest.raises(LinkedFileChangedError) as caught:
            await conversation.save_file(session)
        assert path.read_text() == "somebody else's"
        assert "overwrite" in notice_of(caught.value).actions

        await conversation.save_file(session, overwrite=True)
        assert json.loads(path.read_bytes())["session_id"] == conversation.session_id
        path.unlink()
        await conversation.save_file(session)
        assert path.exists()

    asyncio.run(scenario())


def test_saving_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = await made(library, "Hello")
        session = await conversation.restore(agent())
        real = tmp_path / "real.json"
        real.write_text("{}")
        link = tmp_path / "link.json"
        link.symlink_to(real)
        await conversation.save_file(session, link)
        assert link.is_symlink()
        assert json.loads(real.read_bytes())["session_id"] == conversation.session_id

    asyncio.run(scenario())


def test_save_without_a_file_asks_for_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        conversation = await made(library_at(tmp_path), "Hello")
        session = await conversation.restore(agent())
        with pytest.raises(ValueError, match="Save as"):
            await conversation.save_file(session)

    asyncio.run(scenario())
