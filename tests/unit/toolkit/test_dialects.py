"""The loop and the session on every dialect, against servers that refuse what the real ones refuse."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession, ProviderError, events
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Kind
from doc_processing_toolkit.history.config import MODES
from doc_processing_toolkit.testing import PIXEL
from support.strict import Call, Ending, Pace, StrictServer, Thinking, answer, checked_server
from unit.documents.pdf_making import pdf_of
from unit.toolkit.dialect_agents import DIALECTS, MODELS, agent_of

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


async def ask(session: AgentSession, text: str, *, streams: bool = False, **given: Any) -> Any:
    """Run one turn, streamed or not, and return its result."""
    if not streams:
        return await session.run(text, **given)
    async for event in session.stream(text, **given):
        last = event
    assert isinstance(last, events.Complete)
    return last.result


def script_three_turns(server: StrictServer) -> None:
    """Queue a turn with two parallel calls, one with a comment before its call, and a plain one."""
    server.script(
        answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
        answer(Thinking("so"), "3 and 7"),
        answer(Thinking("yes"), "Let me add.", Call("add", {"a": 5, "b": 2})),
        answer("7"),
        answer(Thinking("good"), "fine"),
    )


@every_dialect
@pytest.mark.parametrize(
    ("mode", "streams"), [*((mode, False) for mode in MODES), ("full", True), ("no_reasoning", True)]
)
def test_every_mode_keeps_to_the_servers_rules_over_tool_rounds(dialect: str, mode: str, streams: bool) -> None:
    """C02–C07, C14 and B04, with what each dialect stores of reasoning."""
    with checked_server() as server:
        script_three_turns(server)
        agent = agent_of(dialect, server, session_history_config={"mode": mode}, stream_history="native", thinking=True)
        session = agent.session()

        async def main() -> list[Any]:
            files = [("d.txt", b"a document")]
            return [await ask(session, text, streams=streams, files=files) for text in ("first?", "second?", "third?")]

        results = asyncio.run(main())
    assert [result.error for result in results] == [None, None, None]
    assert [result.output for result in results] == ["3 and 7", "7", "fine"]
    assert len(session.run_boundaries) == 3


@every_dialect
def test_d06_every_cut_of_a_history_is_taken_by_the_server(dialect: str) -> None:
    with checked_server() as server:
        script_three_turns(server)
        session = agent_of(dialect, server, thinking=True).session()

        async def main() -> None:
            for text in ("first?", "second?", "third?"):
                await session.run(text, files=[("a.png", PIXEL)])
            saved = session.to_json()
            for count in range(len(session.messages) + 1):
                server.script(answer("ok"))
                again = AgentSession.from_json(saved, agent=session.agent)
                kept = again.truncate_to(count)
                assert kept <= count
                assert again.messages == session.messages[:kept]
                assert (await again.run("go on")).error is None

        asyncio.run(main())


@every_dialect
@pytest.mark.parametrize("mode", ["full", "no_tool_results", "compact_tool_results"])
def test_c12_completed_turns_are_sent_as_the_same_values_on_every_later_turn(dialect: str, mode: str) -> None:
    with checked_server() as server:
        script_three_turns(server)
        agent = agent_of(dialect, server, session_history_config={"mode": mode}, thinking=True)
        session = agent.session()

        async def main() -> None:
            for text in ("first?", "second?", "third?"):
                await session.run(text)

        asyncio.run(main())
        first_requests = [server.requests[index] for index in (0, 2, 4)]
    lists = [request.get("messages", request.get("input", request.get("contents"))) for request in first_requests]
    for earlier, later in itertools.pairwise(lists):
        assert later[: len(earlier)] == earlier


@every_dialect
def test_c08_as_many_messages_are_skipped_as_were_sent(dialect: str) -> None:
    """C08: no question is deleted and no turn stored twice, also when a mode sends fewer messages than are stored."""
    for mode in MODES:
        with checked_server() as server:
            script_three_turns(server)
            session = agent_of(dialect, server, session_history_config={"mode": mode}).session()

            async def main(session: AgentSession = session) -> None:
                for text in ("first?", "second?", "third?"):
                    await session.run(text)

            asyncio.run(main())
        lens = lens_of(session.agent.row.dialect)
        views = [(lens.role(message), lens.views(message)) for message in session.messages]
        asked = [view.block for role, found in views if role == "user" for view in found if view.kind is Kind.TEXT]
        assert [block if isinstance(block, str) else block["text"] for block in asked] == [
            "first?",
            "second?",
            "third?",
        ]
        calls = [view for _, found in views for view in found if view.kind is Kind.CALL]
        assert len(calls) == 3


@every_dialect
@pytest.mark.parametrize("mode", ["no_reasoning", "messages_only"])
def test_c13_reasoning_is_gone_from_what_is_stored(dialect: str, mode: str) -> None:
    with checked_server() as server:
        script_three_turns(server)
        agent = agent_of(dialect, server, session_history_config={"mode": mode}, thinking=True)
        session = agent.session()

        async def main() -> None:
            for text in ("first?", "second?", "third?"):
                await session.run(text)

        asyncio.run(main())
    lens = lens_of(agent.row.dialect)
    assert not [view for message in session.messages for view in lens.views(message) if view.kind is Kind.REASONING]


@every_dialect
def test_a_history_saved_in_one_mode_is_filtered_under_another(dialect: str) -> None:
    """C14: what a restored history holds more than its mode lets through does not leave."""
    with checked_server() as server:
        script_three_turns(server)
        session = agent_of(dialect, server, thinking=True).session()

        async def main() -> None:
            for text in ("first?", "second?", "third?"):
                await session.run(text)
            for mode in MODES:
                server.script(answer("ok"))
                saved = {**session.to_dict(), "session_history_config": {"mode": mode, "preserve_media": True}}
                again = AgentSession.from_dict(saved, agent=session.agent)
                assert (await again.run("go on")).error is None

        asyncio.run(main())


@every_dialect
def test_parallel_results_go_back_in_the_order_of_the_calls(dialect: str) -> None:
    """A04: whichever tool ends first."""

    async def slow(name: str) -> str:
        await asyncio.sleep(0.05 if name == "first" else 0)
        return f"it is {name}"

    with checked_server() as server:
        server.script(answer(*(Call("slow", {"name": name}) for name in ("first", "second", "third"))), answer("done"))
        session = agent_of(dialect, server, tools=[slow]).session()
        asyncio.run(session.run("q"))
    lens = lens_of(session.agent.row.dialect)
    views = [view for message in session.messages for view in lens.views(message) if view.kind is Kind.RESULT]
    assert [lens.result_text(view) for view in views] == ["it is first", "it is second", "it is third"]


@every_dialect
def test_a_tool_that_shows_a_picture_is_taken_by_the_server_now_and_later(dialect: str) -> None:
    def draw() -> list[Any]:
        """Draw a pixel."""
        return ["a pixel", PIXEL, {"size": 1}]

    with checked_server() as server:
        server.script(answer(Call("draw")), answer("nice"), answer("still nice"))
        session = agent_of(dialect, server, tools=[draw]).session()

        async def main() -> list[Any]:
            return [(await session.run(text)).error for text in ("draw", "and now?")]

        assert asyncio.run(main()) == [None, None]
    lens = lens_of(session.agent.row.dialect)
    media = [view for message in session.messages for view in lens.media_views(message)]
    assert len(media) == 1


@every_dialect
def test_a10_a_structured_answer_is_repaired_once_and_stored_as_json(dialect: str) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), '{"nome": "A"}'), answer(Thinking("oh"), '{"name": "A"}'), answer("and that is it")
        )
        session = agent_of(dialect, server, tools=[], thinking=True).session()

        async def main() -> Any:
            result = await session.run("who?", output_schema=schema)
            assert (await session.run("thanks")).error is None
            return result

        result = asyncio.run(main())
    assert (result.output, result.error) == ({"name": "A"}, None)
    assert len(result.cost_records) == 2
    lens = lens_of(session.agent.row.dialect)
    said = [lens.views(message)[-1].block for message in session.messages if lens.role(message) == "assistant"]
    assert next(text if isinstance(text, str) else text["text"] for text in said) == '{"name": "A"}'


@every_dialect
def test_a_forced_tool_call_is_asked_for_once(dialect: str) -> None:
    with checked_server() as server:
        server.script(answer(Call("add", {"a": 1, "b": 2})), answer("3"))
        agent = agent_of(dialect, server, tool_choice="required", parallel_tool_calls=False)
        assert asyncio.run(agent.run("1 + 2?")).output == "3"
    assert MODELS[dialect]


@every_dialect
def test_b10_j11_files_are_sent_as_the_row_takes_them_and_stored_with_the_turn(dialect: str) -> None:
    """A PDF stays one where the row reads documents, and is text elsewhere; the next turn sends it again."""
    with checked_server() as server:
        server.script(answer("seen"), answer("still seen"), answer("streamed"))
        session = agent_of(dialect, server, tools=[]).session()
        files = [("paper.pdf", pdf_of("The answer is 42.")), ("a.png", PIXEL), ("notes.txt", b"a note")]

        async def main() -> list[Any]:
            first = await session.run("what is it?", files=files)
            return [first, await session.run("and?"), await ask(session, "again", streams=True, files=files[:1])]

        assert [result.error for result in asyncio.run(main())] == [None, None, None]
    lens, row = lens_of(session.agent.row.dialect), session.agent.row
    [first, streamed] = [session.messages[0], session.messages[4]]
    kinds = [getattr(lens.media(view), "mime_type", None) for view in lens.media_views(first)]
    assert kinds == (["application/pdf", "image/png"] if row.takes("document") else ["image/png"])
    assert len(lens.media_views(streamed)) == row.takes("document")
    assert ("The answer is 42." in str(first)) is not row.takes("document")
    assert "a note" in str(first)


@every_dialect
def test_b11_a_plain_stream_stores_question_and_answer_and_is_taken_again(dialect: str) -> None:
    with checked_server() as server:
        script_three_turns(server)
        session = agent_of(dialect, server, thinking=True).session()

        async def main() -> list[Any]:
            return [await ask(session, text, streams=True) for text in ("first?", "second?", "third?")]

        results = asyncio.run(main())
    assert [result.output for result in results] == ["3 and 7", "7", "fine"]
    lens = lens_of(session.agent.row.dialect)
    assert [lens.role(message) for message in session.messages] == ["user", "assistant"] * 3
    assert session.run_boundaries[1] == {"run": 2, "start": 2, "end": 4}


@every_dialect
@pytest.mark.parametrize("kind", ["no_terminal", "drop", "garbage"])
def test_i01_a_stream_that_breaks_is_an_interrupted_turn(dialect: str, kind: Any) -> None:
    with StrictServer() as server:
        server.script(answer("some words to stream " * 10, ending=Ending(kind)), answer("whole"))
        session = agent_of(dialect, server, timeout=5.0).session()

        async def main() -> None:
            with pytest.raises(ProviderError):
                async for _ in session.stream("q"):
                    pass
            assert session.interrupted_turn is not None
            assert session.messages == []
            assert not session.turn_in_flight
            assert (await session.run("again")).output == "whole"

        asyncio.run(main())


@every_dialect
def test_a_stream_that_is_closed_leaves_the_server_at_once_and_is_accounted_for(dialect: str) -> None:
    """A07 and I01."""
    with StrictServer() as server:
        server.script(answer("word " * 2_000, pace=Pace(gap_s=0.01)))
        agent = agent_of(dialect, server)
        session = agent.session()

        async def main() -> float:
            stream = session.stream("q")
            async for event in stream:
                if isinstance(event, events.TextDelta):
                    break
            closed = time.monotonic()
            await stream.aclose()
            return closed

        closed = asyncio.run(main())
        left = server.settled()[0].client_left_at
    assert left is not None
    assert left - closed < 0.1
    assert agent.last_abandoned_stream is not None
    assert agent.last_abandoned_stream.output_tokens > 0
    assert session.metadata["total_output_tokens"] == agent.last_abandoned_stream.output_tokens
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "StreamAbandoned"


@pytest.mark.skipif("google" not in DIALECTS, reason="no Google adapter")
@pytest.mark.parametrize("mode", ["full", "text_summary"])
def test_j10_j12_what_google_takes_as_a_file_is_reported_and_stored_as_its_address(mode: str) -> None:
    audio = b"ID3\x04" + bytes(2_000)
    with checked_server() as server:
        server.script(answer("heard"), answer("heard it before"))
        session = agent_of("google", server, tools=[], session_history_config={"mode": mode}).session()

        async def main() -> list[Any]:
            return [await session.run("first"), await session.run("listen", files=[("a.mp3", audio)])]

        _, result = asyncio.run(main())
    [upload] = result.media_uploads
    assert (upload.mime_type, upload.size) == ("audio/mpeg", len(audio))
    assert upload.uri in str(session.messages[2])
    assert "first" not in str(session.messages[2])
    assert "listen" in str(session.messages[2])
