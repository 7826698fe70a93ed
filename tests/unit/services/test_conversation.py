"""One conversation on disk: journal, checkpoint, draft, and what a restart finds (G05, I01)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.testing import Pause, ToolUse
from turnleaf.services.reducer import QuestionAsked, Transcript
from turnleaf.services.rows import ToolRun
from turnleaf.services.sidecar import Interrupted
from turnleaf.services.transcript import rows_of_history
from unit.services.checkpointing import (
    agent,
    ask,
    begin,
    interrupt,
    library_at,
    sidecar_on_disk,
    stored_file,
    stream,
    texts,
)


def test_G05_a_completed_turn_is_there_after_a_restart(tmp_path: Path) -> None:
    async def first() -> tuple[str, list[str]]:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hello Alice.", "Alice."))
        assert session.session_id == conversation.session_id
        await ask(conversation, session, "My name is Alice", [stored_file(library)])
        await ask(conversation, session, "What is my name?")
        return conversation.session_id, texts(session)

    async def second(session_id: str) -> list[str]:
        library = library_at(tmp_path)
        conversation = await library.open(session_id)
        assert conversation.title == "My name is Alice"
        assert conversation.interrupted is None
        assert [(line.number, line.run, line.question) for line in conversation.sidecar.ledger] == [
            (1, 1, "My name is Alice"),
            (2, 2, "What is my name?"),
        ]
        assert [info.name for info in conversation.sidecar.ledger[0].attachments] == ["paper.txt"]
        session = await conversation.restore(agent("Bye."))
        await ask(conversation, session, "Thanks")
        return texts(session)

    session_id, before = asyncio.run(first())
    assert asyncio.run(second(session_id)) == [*before, "Thanks", "Bye."]


def test_the_envelope_on_disk_is_a_plain_envelope_and_its_mode_is_private(tmp_path: Path) -> None:
    async def scenario() -> Path:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi."))
        await ask(conversation, session, "Hello")
        return library.profile.sessions / f"{conversation.session_id}.json"

    path = asyncio.run(scenario())
    envelope = json.loads(path.read_bytes())
    assert envelope["session_id"] == path.stem
    assert envelope["media_policy"] == "externalize"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_suffix(".meta.json").stat().st_mode & 0o777 == 0o600


def test_the_question_and_its_files_are_journalled_before_anything_is_sent(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi."))
        file = stored_file(library)
        conversation.set_draft("What is in it?", [file])
        await begin(conversation, session, "What is in it?", [file])

        on_disk = sidecar_on_disk(library, conversation.session_id)

        assert on_disk["journal"]["question"] == "What is in it?"
        assert on_disk["journal"]["attachments"][0]["sha256"] == file.info.sha256
        assert on_disk["draft"]["text"] == ""
        assert session.agent.requests == []  # type: ignore[attr-defined]

    asyncio.run(scenario())


def test_a_partial_answer_and_the_tools_that_ran_are_on_disk_within_250_ms(tmp_path: Path) -> None:
    async def scenario() -> None:
        def add(a: int, b: int) -> int:
            return a + b

        library = library_at(tmp_path)
        conversation = library.create()
        reply = ["It ", "is ", Pause(0.35), "3", Pause(5)]
        session = await conversation.restore(agent([ToolUse("add", {"a": 1, "b": 2})], reply, tools=[add]))
        await begin(conversation, session, "1 + 2?")
        running = asyncio.create_task(stream(conversation, session, "1 + 2?"))
        for _ in range(100):
            await asyncio.sleep(0.01)
            journal = sidecar_on_disk(library, conversation.session_id)["journal"]
            if journal["partial"]:
                break

        assert journal["partial"] == "It is "
        assert [tool["content"] for tool in journal["tools"]] == ["3"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await conversation.checkpoint(session, ended=Interrupted("stopped"))

    asyncio.run(scenario())


def test_I01_a_failed_turn_is_kept_with_question_files_partial_answer_tools_and_reason(tmp_path: Path) -> None:
    async def first() -> str:
        def add(a: int, b: int) -> int:
            return a + b

        library = library_at(tmp_path)
        conversation = library.create()
        script = agent(
            "Hi.", ["Let me see.", ToolUse("add", {"a": 1, "b": 2})], ["It is", OSError("gone")], tools=[add]
        )
        session = await conversation.restore(script)
        await ask(conversation, session, "Hello")
        await interrupt(conversation, session, "1 + 2?", attachments=[stored_file(library)])
        assert session.interrupted_turn is not None
        return conversation.session_id

    async def second(session_id: str) -> None:
        library = library_at(tmp_path)
        conversation = await library.open(session_id)
        turn = conversation.interrupted
        assert turn is not None
        assert (turn.number, turn.run, turn.question) == (2, 2, "1 + 2?")
        assert (turn.cause, turn.reason) == ("failed", "The server went away.")
        assert turn.partial == "Let me see.\n\nIt is"
        assert turn.tools == (ToolRun("add", "3"),)
        assert [info.name for info in turn.attachments] == ["paper.txt"]
        session = await conversation.restore(agent())
        assert texts(session) == ["Hello", "Hi."]
        assert session.interrupted_turn is not None
        assert session.interrupted_turn["message"] == "1 + 2?"

    session_id = asyncio.run(first())
    asyncio.run(second(session_id))


def test_an_interrupted_turn_that_is_sent_again_gives_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent([OSError("gone")], "Yes."))
        await interrupt(conversation, session, "Again?")

        number, run = await begin(conversation, session, "Again?", resend=True)

        assert (number, run) == (1, 1)
        assert conversation.interrupted is None
        assert conversation.sidecar.ledger == []

    asyncio.run(scenario())


def test_an_interrupted_turn_stays_where_it_stood_when_something_else_is_asked(tmp_path: Path) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent(["Ye", OSError("gone")], "Blue."))
        await interrupt(conversation, session, "Is it?")
        await ask(conversation, session, "What colour?")
        return conversation.session_id

    async def second(session_id: str) -> None:
        conversation = await library_at(tmp_path).open(session_id)
        card, line = conversation.sidecar.ledger
        assert (card.status, card.number, card.question, card.partial) == ("interrupted", 1, "Is it?", "Ye")
        assert (line.status, line.number, line.run) == ("completed", 2, 1)
        session = await conversation.restore(agent("Yes."))

        number, _ = await begin(conversation, session, "Is it?", replaces=1)

        assert number == 3
        assert [each.number for each in conversation.sidecar.ledger] == [2]

    session_id = asyncio.run(first())
    asyncio.run(second(session_id))


def test_a_discarded_turn_stays_discarded(tmp_path: Path) -> None:
    async def first() -> str:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi.", [OSError("gone")], "Fine.", [OSError("gone")]))
        await ask(conversation, session, "Hello")
        await interrupt(conversation, session, "One")
        await ask(conversation, session, "Two")
        await interrupt(conversation, session, "Three")
        await conversation.discard_interrupted(2)
        await conversation.discard_interrupted()
        return conversation.session_id

    async def second(session_id: str) -> None:
        conversation = await library_at(tmp_path).open(session_id)
        assert conversation.interrupted is None
        assert [line.question for line in conversation.sidecar.ledger] == ["Hello", "Two"]

    asyncio.run(second(asyncio.run(first())))


def test_two_turns_at_once_are_refused_and_the_first_is_untouched(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("Hi."))
        await begin(conversation, session, "First")

        with pytest.raises(RuntimeError, match="already running"):
            await begin(conversation, session, "Second")

        assert sidecar_on_disk(library, conversation.session_id)["journal"]["question"] == "First"

    asyncio.run(scenario())


def test_rows_of_a_restored_session_are_those_that_its_stream_gave(tmp_path: Path) -> None:
    """The same rows over the real engine: reasoning, tools, several turns, a failed one in between."""

    async def first() -> tuple[str, Transcript]:
        def add(a: int, b: int) -> int:
            if a < 0:
                raise ValueError("too small")
            return a + b

        library = library_at(tmp_path)
        conversation = library.create()
        script = agent(
            [ReasoningDelta("Hm, "), ReasoningDelta("sums."), "Let me ", "see.", ToolUse("add", {"a": 1, "b": 2}, "x"),
             ToolUse("add", {"a": -1, "b": 2}, "y"), ToolUse("nothing", {}, "z")],
            [TextDelta(" It is "), "3.\n"],
            ["Partial", OSError("gone")],
            [ReasoningDelta("Well."), "Fine."],
            tools=[add],
        )  # fmt: skip
        session = await conversation.restore(script)
        transcript = Transcript()
        await ask(conversation, session, "1 + 2, and -1 + 2?", [stored_file(library)], transcript)
        await interrupt(conversation, session, "Broken?", transcript=transcript)
        await ask(conversation, session, "How are you?", (), transcript)
        return conversation.session_id, transcript

    async def second(session_id: str) -> tuple[Any, ...]:
        conversation = await library_at(tmp_path).open(session_id)
        session = await conversation.restore(agent())
        return rows_of_history(
            session.messages, conversation.sidecar.ledger, session.run_boundaries, "chat", conversation.interrupted
        )

    session_id, transcript = asyncio.run(first())
    assert asyncio.run(second(session_id)) == transcript.rows
    assert [type(row).__name__.removesuffix("Row") for row in transcript.rows] == [
        *("Divider", "Question", "Reasoning", "Answer", "Tool", "Tool", "Tool", "Answer", "Meta"),
        *("Divider", "Interrupted"),
        *("Divider", "Question", "Reasoning", "Answer", "Meta"),
    ]


def test_a_conversation_opened_twice_is_one_object(tmp_path: Path) -> None:
    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        conversation.set_draft("x")
        await conversation.flush()

        one, other = await asyncio.gather(library.open(conversation.session_id), library.open(conversation.session_id))

        assert one is conversation
        assert other is conversation

    asyncio.run(scenario())


def test_opening_a_conversation_while_its_turn_is_shown_elsewhere_needs_no_agent(tmp_path: Path) -> None:
    """The transcript of a restored conversation goes on with the numbers of its ledger."""

    async def scenario() -> None:
        library = library_at(tmp_path)
        conversation = library.create()
        session = await conversation.restore(agent("One.", "Two."))
        transcript = Transcript()
        await ask(conversation, session, "1?", (), transcript)
        number, _ = await begin(conversation, session, "2?")
        changes = transcript.apply(QuestionAsked(number, "2?", (), "Demo"))
        assert [change.row.key for change in changes] == ["2/divider", "2/question/0", "2/status"]

    asyncio.run(scenario())
