"""The chat-completions adapter on a real socket: what leaves, what comes back, and what every failure becomes."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import Agent, ProviderError, events
from doc_processing_toolkit.core.events import Event
from support.chat_server import Asked, ChatServer, Drop, Status, Stream, Wait, chunk, line, tool_call


def agent_for(server: ChatServer, **settings: Any) -> Agent:
    return Agent("openai-compatible/some-model", base_url=server.base_url, **{"max_retries": 0, **settings})


async def collect(stream: Any) -> list[Event]:
    async with stream as events_of_stream:
        return [event async for event in events_of_stream]


def ask(server: ChatServer, prompt: str = "q", **settings: Any) -> Any:
    return asyncio.run(agent_for(server, **settings).run(prompt))


def test_a_plain_question_leaves_as_one_chat_request() -> None:
    with ChatServer(["Hello"]) as server:
        result = ask(server, "Grüße ✓", instructions="Be brief.", temperature=0.5, max_output_tokens=7)
    asked: Asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "some-model",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße ✓"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 7,
    }
    assert (result.output, result.stop_reason, result.error) == ("Hello", "end_turn", None)


def test_nothing_of_the_environment_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "OPENAI_API_KEY": "sk-user-secret",
        "OPENAI_ADMIN_KEY": "admin-secret",
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_WEBHOOK_SECRET": "hook-secret",
        "OPENAI_CUSTOM_HEADERS": "X-Own: own-secret\nAuthorization: Bearer other-secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/stolen",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with ChatServer(["fine"]) as server:
        assert ask(server).output == "fine"
    sent = json.dumps(server.asked[0].headers)
    assert "secret" not in sent
    assert server.asked[0].headers["authorization"] == "Bearer none"


def test_the_key_given_is_the_key_sent_and_never_shown() -> None:
    with ChatServer([Status(401, {"error": {"message": "bad key sk-abcdef123456"}})]) as server:
        agent = agent_for(server, api_key="sk-abcdef123456")
        result = asyncio.run(agent.run("q"))
    assert server.asked[0].headers["authorization"] == "Bearer sk-abcdef123456"
    assert "sk-abcdef123456" not in f"{result.error} {agent!r} {agent.access!r} {agent.to_config()}"
    assert "refused the key" in str(result.error)
    assert (result.error_status, result.output) == (401, None)


def test_usage_and_served_model_come_from_the_last_chunk() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    with ChatServer([Stream(["ok"], usage=usage)]) as server:
        result = ask(server)
    assert (result.input_tokens, result.output_tokens, result.total_tokens) == (100, 20, 120)
    assert (result.cached_input_tokens, result.reasoning_tokens) == (60, 5)
    [record] = result.cost_records
    assert (record.model, record.provider, record.cost, record.cost_known) == (
        "served-model",
        "openai-compatible",
        0.0,
        False,
    )


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": None, "completion_tokens": "7"}, {"prompt_tokens": -3}])
def test_a_server_without_usable_usage_does_not_break_the_answer(usage: Any) -> None:
    with ChatServer([Stream(["some words of an answer"], usage=usage)]) as server:
        result = ask(server)
    assert result.output == "some words of an answer"
    assert result.input_tokens >= 0


def test_reasoning_is_its_own_event_and_is_stored_beside_the_answer() -> None:
    pieces = [chunk({"reasoning_content": "hm"}), chunk({"reasoning": "mm"}), "So: 4"]
    with ChatServer([Stream(pieces)]) as server:

        async def main() -> tuple[list[Event], Any]:
            agent = agent_for(server)
            return await collect(agent.stream("2+2?")), await agent.run("2+2?")

        seen, result = asyncio.run(main())
    assert [event for event in seen if isinstance(event, events.ReasoningDelta | events.TextDelta)] == [
        events.ReasoningDelta("hm"),
        events.ReasoningDelta("mm"),
        events.TextDelta("So: 4"),
    ]
    assert result.messages[-1] == {"role": "assistant", "content": "So: 4", "reasoning_content": "hmmm"}


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("eos", "eos")],
)
def test_the_finish_reason_becomes_the_stop_reason(finish: str, reason: str) -> None:
    with ChatServer([Stream(["x"], finish=finish)]) as server:
        assert ask(server).stop_reason == reason


def test_half_a_surrogate_pair_waits_for_its_other_half() -> None:
    smile = "😀"
    high, low = (json.dumps(smile)[1:-1][0:6], json.dumps(smile)[1:-1][6:12])
    raw = [
        b'data: {"choices":[{"delta":{"content":"a%s"}}]}\n\n' % high.encode(),
        b'data: {"choices":[{"delta":{"content":"%sb"}}]}\n\n' % low.encode(),
    ]
    with ChatServer([Stream(raw)]) as server:
        result = ask(server)
    assert result.output == f"a{smile}b"


def test_chunks_of_a_strange_shape_are_passed_over() -> None:
    strange: list[Any] = [
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None, "finish_reason": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": "x"}}]},
        {"object": "ping"},
        [1, 2],
        b": comment\n\n",
    ]
    with ChatServer([Stream([*strange, "ok"])]) as server:
        assert ask(server).output == "ok"


def test_a_stream_without_its_terminal_event_is_no_answer() -> None:
    with ChatServer([Stream(["half an ans"], finish=None)]) as server:
        result = ask(server)
    assert result.output is None
    assert "before it was complete" in str(result.error)
    assert result.messages == []


def test_a_streamed_answer_that_breaks_after_a_delta_raises() -> None:
    with ChatServer([Stream(["half"], finish=None), Stream(["half", Drop()])]) as server:

        async def main() -> None:
            agent = agent_for(server, max_retries=3)
            for _ in range(2):
                with pytest.raises(ProviderError):
                    await collect(agent.stream("q"))

        asyncio.run(main())
    assert len(server.asked) == 2


def test_a_run_whose_stream_broke_is_asked_again() -> None:
    with ChatServer([Stream(["half", Drop()]), "whole"]) as server:
        result = ask(server, max_retries=2)
    assert (result.output, result.retry_count) == ("whole", 1)
    assert [record.is_retry for record in result.cost_records] == [True, False]


def test_an_error_chunk_inside_a_200_is_an_error() -> None:
    error = {"error": {"message": "Provider returned error", "code": 502}}
    with ChatServer([Stream([error], finish=None)]) as server:
        result = ask(server)
    assert "Provider returned error" in str(result.error)
    assert result.error_status == 502


def test_garbage_inside_a_stream_is_an_error_and_not_a_crash() -> None:
    with ChatServer([Stream([b"data: {not json\n\n"])]) as server:
        assert ask(server).error is not None


def test_a_plain_text_error_body_is_quoted() -> None:
    body = "upstream connect error or disconnect/reset before headers"
    with ChatServer([Status(503, body)]) as server:
        result = ask(server)
    assert body in str(result.error)


@pytest.mark.parametrize(
    ("status", "retried"), [(400, 0), (401, 0), (404, 0), (422, 0), (408, 1), (429, 1), (500, 1), (503, 1), (529, 1)]
)
def test_a09_what_can_be_mended_by_asking_again_is_asked_again(status: int, retried: int) -> None:
    answers = [Status(status, {"error": {"message": "no"}}, {"retry-after": "0.01"}), "ok"]
    with ChatServer(answers) as server:
        result = ask(server, max_retries=3)
    assert result.retry_count == retried
    assert (result.output == "ok") is bool(retried)


def test_a09_retry_after_is_waited_for_and_shown() -> None:
    with ChatServer([Status(429, {"error": {"message": "slow"}}, {"Retry-After": "0.2"}), "ok"]) as server:
        seen = asyncio.run(collect(agent_for(server, max_retries=1).stream("q")))
    [retry] = [event for event in seen if isinstance(event, events.Retry)]
    assert (retry.attempt, retry.delay_s) == (2, 0.2)
    assert server.asked[1].at - server.asked[0].at >= 0.2


def test_a09_retries_exhausted_are_an_error_shaped_result() -> None:
    with ChatServer([Status(503, {"error": {"message": "busy"}}, {"retry-after": "0"})]) as server:
        result = ask(server, max_retries=2)
    assert (len(server.asked), result.retry_count) == (3, 2)
    assert "busy" in str(result.error)
    assert result.output is None


def test_a09_a_spent_quota_is_not_asked_for_again() -> None:
    error = {"error": {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
    with ChatServer([Status(429, error)]) as server:
        assert ask(server, max_retries=3).error_code == "insufficient_quota"
    assert len(server.asked) == 1


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    with ChatServer([Status(429, {"error": {"message": "later"}}, {"retry-after": "3600"})]) as server:
        started = time.monotonic()
        result = ask(server, max_retries=3)
    assert result.error is not None
    assert time.monotonic() - started < 5


def test_a_server_that_is_not_there_is_named() -> None:
    result = asyncio.run(Agent("openai-compatible/m", base_url="http://127.0.0.1:9/v1", max_retries=0).run("q"))
    assert "http://127.0.0.1:9/v1" in str(result.error)
    assert result.error_code == "connection"


def test_too_long_for_the_server_names_both_numbers_and_what_to_do() -> None:
    error = {
        "error": {
            "code": 400,
            "message": "request exceeds the available context size",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 20731,
            "n_ctx": 16384,
        }
    }
    with ChatServer([Status(400, error)]) as server:
        result = ask(server, max_retries=3)
    assert "20,731" in str(result.error)
    assert "16,384" in str(result.error)
    assert "attach less" in str(result.error)
    assert result.error_code == "exceed_context_size_error"
    assert len(server.asked) == 1


def test_no_address_is_said_at_the_first_request_not_before() -> None:
    agent = Agent("openai-compatible/m")
    with pytest.raises(ProviderError, match="base_url"):
        asyncio.run(agent.run("q"))


def test_a_turn_that_takes_too_long_raises() -> None:
    with ChatServer([Stream([Wait(5), "late"])]) as server:
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"longer than 0\.3 s"):
            ask(server, timeout=0.3)
        assert time.monotonic() - started < 2


async def stop_waiting_request(server: ChatServer, *, cancels: bool) -> float:
    """Return when a request that waits for its server was stopped, by closing its stream or cancelling its task."""
    before = len(server.asked)
    agent = agent_for(server)
    stream = agent.stream("q")
    task = asyncio.ensure_future(agent.run("q") if cancels else collect(stream))
    while len(server.asked) == before:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    at = time.monotonic()
    if cancels:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        await stream.aclose()
        await task
    return at


@pytest.mark.parametrize("cancels", [False, True])
@pytest.mark.parametrize("pieces", [[Wait(30)], ["begun", Wait(30)]])
def test_stopping_closes_the_connection_within_100_ms(pieces: list[Any], cancels: bool) -> None:
    with ChatServer([Stream(pieces)]) as server:
        latencies = []
        for _ in range(3):
            stopped_at = asyncio.run(stop_waiting_request(server, cancels=cancels))
            latencies.append(server.wait_closed() - stopped_at)
    # The best of three: a machine that is busy with something else may be late once.
    assert min(latencies) < 0.1


def test_one_agent_serves_one_event_loop_after_another() -> None:
    with ChatServer(["a", "b", "c"]) as server:
        agent = agent_for(server)
        assert [asyncio.run(agent.run("q")).output for _ in range(3)] == ["a", "b", "c"]


def test_a_large_request_holds_the_loop_only_in_short_steps(tmp_path: Path) -> None:
    picture = tmp_path / "large.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(12_000_000))
    with ChatServer(["seen"]) as server:

        async def main() -> tuple[float, Any]:
            agent = agent_for(server)
            await agent.run("load everything first")
            gaps: list[float] = []
            watch = asyncio.ensure_future(_watch(gaps))
            result = await agent.run("look", files=[picture])
            watch.cancel()
            return max(gaps), result

        worst, result = asyncio.run(main())
    assert result.output == "seen"
    [text, image] = sorted(server.asked[1].body["messages"][0]["content"], key=lambda part: part["type"], reverse=True)
    assert text == {"type": "text", "text": "look"}
    assert len(image["image_url"]["url"]) > 16_000_000
    # 12 MB at once is 50 ms and more in each of three steps.
    assert worst < 0.2


async def _watch(gaps: list[float]) -> None:
    last = time.monotonic()
    while True:
        await asyncio.sleep(0.005)
        now = time.monotonic()
        gaps.append(now - last)
        last = now


def test_tool_calls_merge_by_index_and_are_stored_in_the_chat_shape() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    first = Stream(
        [
            chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a":'}}]}),
            chunk({"tool_calls": [{"index": 0, "id": None, "function": {"arguments": '1,"b":2}'}}]}),
            tool_call("add", '{"a":3,"b":4}', id="c2", index=1),
        ],
        finish="tool_calls",
    )
    with ChatServer([first, "3 and 7"]) as server:
        result = ask(server, tools=[add])
    assert result.output == "3 and 7"
    assert server.asked[1].body["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}},
                {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a": 3, "b": 4}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "7"},
    ]
    [tool] = server.asked[0].body["tools"]
    assert tool["function"]["name"] == "add"
    assert tool["function"]["parameters"]["required"] == ["a", "b"]


def test_arguments_that_are_no_json_are_answered_with_an_error_and_stored_as_json() -> None:
    def look(name: str) -> str:
        """Look something up."""
        return name

    broken = Stream([tool_call("look", '{"name": "x')], finish="tool_calls")
    with ChatServer([broken, "sorry"]) as server:
        result = ask(server, tools=[look])
    call, answer = server.asked[1].body["messages"][1:]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"invalid_json": '{"name": "x'}
    assert "not valid JSON" in answer["content"]
    assert result.output == "sorry"


def test_the_bytes_of_a_stream_may_be_cut_anywhere() -> None:
    whole = line(chunk({"content": "Straße 😀"}))
    with ChatServer([Stream([whole[:7], Wait(0.01), whole[7:41], Wait(0.01), whole[41:]])]) as server:
        assert ask(server).output == "Straße 😀"
