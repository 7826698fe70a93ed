"""Sessions on Gemini against a server that checks every signature: modes, cuts, saving, the final answer (B07)."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

from doc_processing_toolkit import Agent, AgentSession
from doc_processing_toolkit.history.config import MODES
from doc_processing_toolkit.testing import PIXEL
from support.strict import Call, StrictServer, Text, Thinking, answer, checked_server

NEW, OLD = "gemini-3.5-flash-lite", "gemini-2.5-flash"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Sum(pydantic.BaseModel):
    """A sum."""

    total: int


def agent_for(server: StrictServer, model: str = NEW, **settings: Any) -> Agent:
    defaults = {"max_retries": 0, "tools": [add], "thinking": True, "stream_history": "native"}
    return Agent(model, base_url=server.url("google"), api_key="k", **{**defaults, **settings})


async def ask(session: AgentSession, text: str, *, streams: bool = False, **details: Any) -> Any:
    if not streams:
        return await session.run(text, **details)
    async for _ in session.stream(text, **details):
        pass
    return session.last_turn_results[-1]


@pytest.mark.parametrize("model", [NEW, OLD])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("streams", [False, True])
def test_every_mode_keeps_to_the_servers_rules_over_tool_rounds(model: str, mode: str, streams: bool) -> None:
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer(Thinking("so"), Text("3 and 7", signed=True)),
            answer("Let me add.", Call("add", {"a": 5, "b": 2})),
            answer(Text("7", signed=True)),
            answer("fine"),
        )
        session = agent_for(server, model, session_history_config={"mode": mode}).session()

        async def main() -> list[Any]:
            files = [("d.txt", b"a document"), ("p.png", PIXEL)]
            return [await ask(session, text, streams=streams, files=files) for text in ("one?", "two?", "three?")]

        results = asyncio.run(main())
    assert [(result.output, result.error) for result in results] == [("3 and 7", None), ("7", None), ("fine", None)]
    assert len(session.run_boundaries) == 3


def test_d06_every_cut_of_a_history_is_taken_by_the_server() -> None:
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer(Text("3 and 7", signed=True)),
            answer(Call("add", {"a": 5, "b": 2})),
            answer("7"),
        )
        session = agent_for(server).session()

        async def main() -> None:
            for text in ("first?", "second?"):
                await session.run(text, files=[("a.png", PIXEL)])
            saved = session.to_json()
            for count in range(len(session.messages) + 1):
                server.script(answer("ok"))
                again = AgentSession.from_json(saved, agent=session.agent)
                again.truncate_to(count)
                assert (await again.run("go on")).error is None

        asyncio.run(main())
    assert len(server.requests) == 4 + 9


def test_b07_the_final_answer_is_stored_as_the_api_gave_it_and_replays_after_a_restore(tmp_path: Path) -> None:
    with checked_server() as server:
        server.script(answer(Thinking("hm"), Text("Paris", signed=True)), answer("still Paris"), answer("and here"))
        session = agent_for(server).session()
        asyncio.run(session.run("Capital?", files=[("a.png", PIXEL)]))
        saved = session.to_json(tmp_path / "s.json", media_store=tmp_path / "media")
        again = AgentSession.from_json(saved, agent=session.agent, media_store=tmp_path / "media")
        assert again.messages == session.messages
        asyncio.run(again.run("Sure?"))
        asyncio.run(session.run("Sure?"))
    final = session.messages[1]
    assert [sorted(part) for part in final["parts"]] == [["text", "thought"], ["text"], ["text", "thought_signature"]]
    assert server.requests[1]["contents"][:2] == server.requests[2]["contents"][:2]
    assert server.requests[1]["contents"][:2] == session.messages[:2]
    assert json.loads(json.dumps(session.messages)) == session.messages


def test_b07_with_the_switch_off_the_final_answer_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_GOOGLE_RETAIN_FINAL_TURN", "off")
    with checked_server() as server:
        server.script(answer(Thinking("hm"), Text("Paris", signed=True)), answer("yes"))
        session = agent_for(server).session()
        asyncio.run(session.run("Capital?"))
        asyncio.run(session.run("Sure?"))
    assert session.messages[1] == {"role": "assistant", "content": "Paris"}
    assert server.requests[1]["contents"][1] == {"role": "model", "parts": [{"text": "Paris"}]}


def test_c12_full_sends_completed_turns_as_the_same_bytes() -> None:
    with checked_server() as server:
        for number in range(4):
            server.script(answer(Thinking("hm"), Call("add", {"a": number, "b": 2})), answer(Text("ok", signed=True)))
        session = agent_for(server).session()
        for number in range(4):
            asyncio.run(session.run(f"question {number}", files=[("a.png", PIXEL)]))
    firsts = [json.dumps(request["contents"][:-1]) for request in server.requests[::2]]
    for earlier, later in itertools.pairwise(firsts):
        assert later.startswith(earlier[:-1])


@pytest.mark.parametrize("model", [NEW, OLD])
@pytest.mark.parametrize("streams", [False, True])
def test_a10_a_structured_answer_comes_with_and_without_tools(model: str, streams: bool) -> None:
    with checked_server() as server:
        server.script(
            answer(Call("add", {"a": 1, "b": 2})), answer('{"total": 3}'), answer("no idea"), answer('{"total": 4}')
        )
        session = agent_for(server, model).session()
        bare = agent_for(server, model, tools=[]).session()
        first = asyncio.run(ask(session, "1 + 2", streams=streams, output_schema=Sum))
        second = asyncio.run(ask(bare, "2 + 2", streams=streams, output_schema=Sum.model_json_schema()))
    assert first.output == Sum(total=3)
    assert second.output == {"total": 4}


def test_a_session_without_a_key_fails_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    session = Agent(NEW).session()
    with pytest.raises(Exception, match="GEMINI_API_KEY"):
        asyncio.run(session.run("hi"))
    assert session.messages == []


@pytest.mark.parametrize("streams", [False, True])
def test_j10_j12_a_sound_is_stored_as_a_reference_and_uploaded_once_in_a_whole_session(streams: bool) -> None:
    wave = b"RIFF\x10\x00\x00\x00WAVEfmt some sound"
    with checked_server() as server:
        server.script(answer(Call("add", {"a": 1, "b": 2})), answer("a bell"), answer("a loud one"))
        session = agent_for(server).session()

        async def main() -> list[Any]:
            first = await ask(session, "what is it?", streams=streams, files=[("bell.wav", wave, "audio/wav")])
            return [first, await ask(session, "loud?", streams=streams)]

        first, second = asyncio.run(main())
        assert len(server.files.files) == 1
    (upload,) = first.media_uploads
    assert (first.output, second.output, second.media_uploads) == ("a bell", "a loud one", [])
    reference = {"file_data": {"file_uri": upload.uri, "mime_type": "audio/wav"}}
    assert reference in session.messages[0]["parts"]
    assert all(reference in request["contents"][0]["parts"] for request in server.requests)
    assert "inline_data" not in json.dumps(session.messages)
