"""Files that were damaged, lost, or never there: the conversation opens with all that can be read (G05)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from doc_processing_toolkit.core.errors import EnvelopeError
from turnleaf.services.errors import ConversationDamagedError, ConversationNotFoundError
from turnleaf.services.library import Library
from turnleaf.services.notices import notice_of
from turnleaf.services.sidecar import Draft
from unit.services.checkpointing import (
    agent,
    ask,
    interrupt,
    library_at,
    texts,
)


@pytest.mark.parametrize("session_id", ["", "no-such", "../../etc/passwd", "..", ".hidden", "a/b", "x" * 300])
def test_an_id_that_is_not_there_is_a_clear_error(tmp_path: Path, session_id: str) -> None:
    with pytest.raises(ConversationNotFoundError):
        asyncio.run(library_at(tmp_path).open(session_id))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"version": 1, "ledger": 5'])
def test_a_damaged_sidecar_is_kept_aside_and_the_conversation_opens_from_its_envelope(
    tmp_path: Path, content: bytes
) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi.", "Blue.", ["So", OSError("gone")]))
        await ask(conversation, session, "Hello")
        await ask(conversation, session, "What colour?")
        await interrupt(conversation, session, "And now?")
        return conversation.session_id

    async def second(session_id: str) -> None:
        library = library_at(tmp_path)
        (library.profile.sessions / f"{session_id}.meta.json").write_bytes(content)

        conversation = await library.open(session_id)

        assert [line.question for line in conversation.sidecar.ledger] == ["Hello", "What colour?"]
        assert [line.figures_known for line in conversation.sidecar.ledger] == [False, False]
        assert conversation.title == "Hello"
        assert conversation.interrupted is not None
        assert (conversation.interrupted.question, conversation.interrupted.number) == ("And now?", 3)
        assert conversation.problems
        (kept,) = library.profile.sessions.glob("*.damaged-*")
        assert kept.read_bytes() == content
        assert (await Library(library.profile).open(session_id)).problems == ()

    asyncio.run(second(asyncio.run(first())))


def test_what_can_be_read_of_a_damaged_sidecar_is_used(tmp_path: Path) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi.", "Blue."))
        await ask(conversation, session, "Hello")
        await ask(conversation, session, "What colour?")
        conversation.rename("Mine")
        conversation.set_draft("unsent")
        await conversation.flush()
        return conversation.session_id

    async def second(session_id: str) -> None:
        library = library_at(tmp_path)
        path = library.profile.sessions / f"{session_id}.meta.json"
        data = json.loads(path.read_bytes())
        data["ledger"][0]["run"] = "one"
        data["view"] = []
        path.write_text(json.dumps(data))

        conversation = await library.open(session_id)

        assert conversation.title == "Mine"
        assert conversation.sidecar.draft == Draft("unsent")
        assert [(line.number, line.question, line.figures_known) for line in conversation.sidecar.ledger] == [
            (1, "Hello", False),
            (2, "What colour?", True),
        ]

    asyncio.run(second(asyncio.run(first())))


def test_a_missing_sidecar_costs_figures_and_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi."))
        await ask(conversation, session, "Hello")
        (library.profile.sessions / f"{conversation.session_id}.meta.json").unlink()

        again = await Library(library.profile).open(conversation.session_id)

        assert again.problems == ()
        assert [line.question for line in again.sidecar.ledger] == ["Hello"]
        assert texts(await again.restore(agent())) == ["Hello", "Hi."]

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [b"", b'{"schema_version": 3, "messages": [', b"[]", b"\x00" * 500, b'{"a": 1}'])
def test_a_damaged_envelope_offers_the_state_before_and_loses_no_question(tmp_path: Path, content: bytes) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        await ask(conversation, session, "1?")
        await ask(conversation, session, "2?")
        return conversation.session_id

    async def second(session_id: str) -> None:
        library = library_at(tmp_path)
        envelope = library.profile.sessions / f"{session_id}.json"
        envelope.write_bytes(content)
        (summary,) = await asyncio.to_thread(library.summaries)
        assert summary.problem
        assert summary.generation is not None

        with pytest.raises(ConversationDamagedError) as caught:
            await library.open(session_id)
        assert caught.value.generation is not None
        assert envelope.read_bytes() == content

        conversation = await library.recover(session_id)
        session = await conversation.restore(agent("Two again."))
        assert texts(session) == ["1?", "One."]
        assert [(line.question, line.status) for line in conversation.sidecar.ledger] == [
            ("1?", "completed"),
            ("2?", "interrupted"),
        ]
        (kept,) = library.profile.sessions.glob("*.damaged-*")
        assert kept.read_bytes() == content
        await ask(conversation, session, "2?")
        assert (await asyncio.to_thread(library.summaries))[0].problem == ""

    asyncio.run(second(asyncio.run(first())))


def test_a_damaged_envelope_without_an_earlier_state_is_listed_and_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        path = library.profile.sessions / "0b0c0d0e-0000-4000-8000-000000000000.json"
        path.write_bytes(b"{half")

        (summary,) = await asyncio.to_thread(library.summaries)
        assert "half" not in summary.problem
        assert "line 1" in summary.problem
        with pytest.raises(ConversationDamagedError) as caught:
            await library.recover(path.stem)
        assert caught.value.generation is None
        assert isinstance(caught.value.__cause__, EnvelopeError)
        assert path.read_bytes() == b"{half"

    asyncio.run(scenario())


def test_a_lost_envelope_without_an_earlier_state_gives_its_questions_back(tmp_path: Path) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", ["Ha", OSError("gone")]))
        await ask(conversation, session, "1?")
        await interrupt(conversation, session, "2?")
        return conversation.session_id

    async def second(session_id: str) -> None:
        library = library_at(tmp_path)
        shutil.rmtree(library.profile.sessions / f"{session_id}.history")
        (library.profile.sessions / f"{session_id}.json").write_bytes(b"")
        with pytest.raises(ConversationDamagedError) as caught:
            await library.open(session_id)
        assert caught.value.generation is None
        assert "open_generation" in notice_of(caught.value).actions

        conversation = await library.recover(session_id)

        assert conversation.problems
        assert [(line.question, line.status) for line in conversation.sidecar.ledger] == [("1?", "interrupted")]
        assert conversation.interrupted is not None
        assert (conversation.interrupted.question, conversation.interrupted.partial) == ("2?", "Ha")
        session = await conversation.restore(agent("Again."))
        assert session.session_id == session_id
        await ask(conversation, session, "1?")
        again = await Library(library.profile).open(session_id)
        assert [line.number for line in again.sidecar.ledger] == [1, 2, 3]

    asyncio.run(second(asyncio.run(first())))


def test_recovering_what_is_not_damaged_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        await ask(conversation, session, "1?")
        await ask(conversation, session, "2?")
        await library.close()
        library = library_at(tmp_path)
        conversation = await library.recover(conversation.session_id)
        assert texts(await conversation.restore(agent())) == ["1?", "One.", "2?", "Two."]
        assert conversation.problems == ()

    asyncio.run(scenario())
