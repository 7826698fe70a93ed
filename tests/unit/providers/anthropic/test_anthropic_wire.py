"""The Messages API through the adapter, against the strict server: requests, answers, tools, usage, stop reasons."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import RequestFailedError, ToolSpec
from support.adapter_calls import adapter_of, ask_all, ask_once, call_of
from support.strict import Answer, Call, Ending, Native, StrictServer, Thinking, Usage, answer, checked_server

MODEL = "claude-haiku-4-5"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
ADD = ToolSpec("add", "adds", SCHEMA)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(a: int) -> int:
    """Fail."""
    raise ValueError("no such number")


def agent_at(server: StrictServer, model: str = MODEL, **settings: Any) -> Agent:
    return Agent(model, api_key="k", base_url=server.url("anthropic"), **settings)


def test_a_question_is_answered_and_the_request_holds_only_what_was_asked() -> None:
    with checked_server() as server:
        server.script(answer("Paris"))
        result = asyncio.run(agent_at(server, instructions="Be brief.").run("Capital of France?"))
    assert (result.output, result.stop_reason, result.error) == ("Paris", "end_turn", None)
    assert server.requests[0] == {
        "model": MODEL,
        "max_tokens": 64000,
        "stream": True,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Capital of France?"}],
    }


def test_nothing_of_the_environment_reaches_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Secret: 1\nX-Other: 2")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with checked_server() as server:
        server.script(answer("ok"))
        assert ask_once(call_of(MODEL, "hi"), server.url("anthropic")).text == "ok"
    headers = dict(server.exchanges[0].request.headers or {})
    assert headers["authorization"] == "Bearer k"
    assert not [name for name in headers if name.startswith(("x-secret", "x-other", "x-stainless", "x-api-key"))]


def test_key_and_address_come_from_the_environment_where_no_argument_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with checked_server() as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", " from-the-environment\n")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url("anthropic") + "/v1/")
        server.script(answer("ok"))
        assert asyncio.run(Agent(MODEL).run("hi")).output == "ok"
    assert server.exchanges[0].request.key == "from-the-environment"


def test_a_missing_key_names_its_variable_at_the_first_request_and_not_before() -> None:
    agent = Agent(MODEL)
    with pytest.raises(ProviderError, match=r"ANTHROPIC_API_KEY.*https://platform\.claude\.com") as caught:
        asyncio.run(agent.run("hi"))
    assert (caught.value.provider, caught.value.code) == ("anthropic", "missing_key")


def test_a_base_url_variable_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "localhost:8080")
    with pytest.raises(ProviderError, match="ANTHROPIC_BASE_URL is 'localhost:8080'"):
        asyncio.run(Agent(MODEL, api_key="k").run("hi"))


def test_parallel_calls_are_answered_in_order_in_one_message() -> None:
    with checked_server() as server:
        server.script(
            answer("let me", Call("add", {"a": 1, "b": 2}, id="toolu_a"), Call("fail", {"a": 1}, id="toolu_b")),
            answer("3"),
        )
        result = asyncio.run(agent_at(server, tools=[add, fail]).run("1 + 2?"))
    assert result.output == "3"
    assert server.requests[1]["messages"][-1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_a", "content": "3"},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_b",
                "content": "Error: ValueError: no such number",
                "is_error": True,
            },
        ],
    }


@pytest.mark.parametrize(
    ("sent", "arguments", "problem"),
    [
        ('{"a": 1', {"invalid_json": '{"a": 1'}, "is not valid JSON"),
        ('{"a": NaN}', {"invalid_json": '{"a": NaN}'}, "is not valid JSON"),
        ("[1, 2]", {"not_an_object": [1, 2]}, "is not a JSON object"),
        ("", {}, ""),
        ('{"a": "\\ud83d\\ude00", "b": "\\ud83d"}', {"a": "😀", "b": "\ufffd"}, ""),
    ],
)
def test_arguments_that_are_no_object_come_with_their_problem_and_can_be_sent_again(
    sent: str, arguments: dict[str, Any], problem: str
) -> None:
    with checked_server() as server:
        server.script(answer(Call("add", sent)), answer("ok"))
        first = call_of(MODEL, "go", tools=(ADD,))
        adapter = adapter_of(first, server.url("anthropic"))
        reply = ask_all(adapter, [first])[0].answered
        (call,) = reply.calls
        results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "x"}]}
        second = call_of(MODEL, "go", *reply.messages, results, tools=(ADD,))
        assert ask_all(adapter, [second])[0].text == "ok"
    assert (call.arguments, call.problem) == (arguments, problem)
    assert reply.stop_reason == "tool_use"


def test_arguments_cut_off_by_the_output_limit_say_so() -> None:
    with checked_server() as server:
        server.script(answer(Call("add", '{"a": '), stop="max_tokens"))
        reply = ask_once(call_of(MODEL, "go", tools=(ADD,)), server.url("anthropic")).answered
    assert reply.calls[0].problem == "is not valid JSON, because the answer reached its longest length"


def test_input_tokens_count_every_prompt_token_once() -> None:
    usage = Usage(input=2048 + 1800 + 248, output=931, cached=1800, cache_write=248, reasoning=12)
    with checked_server() as server:
        server.script(answer("a", usage=usage, served_model="claude-haiku-4-5-20251001"))
        outcome = ask_once(call_of(MODEL, "hi"), server.url("anthropic"))
    assert outcome.answered.usage == TokenUsage(4096, 931, 1800, 248, 12)
    assert outcome.meter.usage == outcome.answered.usage
    assert outcome.answered.served_model == outcome.meter.served_model == "claude-haiku-4-5-20251001"
    units = (4096 - 1800 - 248) + 1800 * 0.1 + 248 * 1.25
    assert units == 2538


def test_deltas_add_up_to_the_answer_and_the_blocks_are_as_the_server_gave_them() -> None:
    said, thought = "naïve 😀 text, " * 9, "hm — " * 7
    with checked_server() as server:
        server.script(answer(Thinking(thought), Thinking("x", redacted=True), said))
        outcome = ask_once(call_of("claude-opus-5-5", "hi"), server.url("anthropic"))
    content = outcome.answered.messages[0]["content"]
    assert (outcome.text, outcome.reasoning) == (said, thought)
    assert [block["type"] for block in content] == ["thinking", "redacted_thinking", "text"]
    assert content[0].keys() == {"type", "thinking", "signature"}
    assert (content[0]["thinking"], content[2]) == (thought, {"type": "text", "text": said})


def test_a_block_of_an_unknown_kind_is_kept_as_it_came() -> None:
    block = {"type": "telepathy", "waves": [1, 2, {"x": None}], "strength": "high"}
    with checked_server() as server:
        server.script(answer("a", Native(block), "b"))
        reply = ask_once(call_of(MODEL, "hi"), server.url("anthropic")).answered
    assert reply.messages[0]["content"][1] == block
    assert reply.text == "ab"


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("max_tokens", "max_tokens"),
        ("pause", "pause_turn"),
        ("context_window", "model_context_window_exceeded"),
        ("refusal", "refusal"),
    ],
)
def test_each_stop_reason_is_handed_on(stop: Any, reason: str) -> None:
    with checked_server() as server:
        server.script(answer("so far", stop=stop))
        reply = ask_once(call_of(MODEL, "hi"), server.url("anthropic")).answered
    assert (reply.stop_reason, reply.text) == (reason, "so far")


def test_an_answer_that_is_declined_before_a_word_is_an_error_with_the_reason() -> None:
    with checked_server() as server:
        server.script(Answer((), stop="refusal"))
        outcome = ask_once(call_of(MODEL, "hi"), server.url("anthropic"))
    assert isinstance(outcome.error, RequestFailedError)
    assert (outcome.error.code, outcome.error.is_retryable) == ("refusal", False)
    assert "cyber: This request was declined." in str(outcome.error)


def test_a_paused_turn_goes_on_when_it_is_sent_back_as_it_is() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    with checked_server() as server:
        server.script(answer("searching", Native(search), stop="pause"), answer("found"))
        first = call_of("claude-opus-5-5", "find it")
        adapter = adapter_of(first, server.url("anthropic"))
        paused = ask_all(adapter, [first])[0].answered
        second = call_of("claude-opus-5-5", "find it", *paused.messages)
        assert ask_all(adapter, [second])[0].text == "found"
    assert server.requests[1]["messages"][1] == paused.messages[0]
    assert paused.messages[0]["content"][1] == search


def test_container_and_transformations_of_an_answer_are_handed_on() -> None:
    with checked_server() as server:
        server.script(answer("a", container="container_1"), answer("b"))
        call = call_of(MODEL, "hi")
        adapter = adapter_of(call, server.url("anthropic"))
        first = ask_all(adapter, [call])[0].answered
        ask_all(adapter, [call_of(MODEL, "hi", container=first.container_id)])
    assert (first.container_id, first.input_transformations) == ("container_1", ())
    assert "container" not in server.requests[0]
    assert server.requests[1]["container"] == "container_1"


@pytest.mark.parametrize(
    ("choice", "parallel", "wire"),
    [
        (None, None, None),
        ("auto", None, {"type": "auto"}),
        ("none", None, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("add", None, {"type": "tool", "name": "add"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("none", False, {"type": "none"}),
    ],
)
def test_tool_choice_is_written_as_the_wire_has_it(choice: Any, parallel: Any, wire: Any) -> None:
    settings = {"tool_choice": choice} if choice else {}
    settings |= {"parallel_tool_calls": parallel} if parallel is not None else {}
    with checked_server() as server:
        server.script(answer("ok"))
        ask_once(call_of(MODEL, "hi", tools=(ADD,), settings=settings), server.url("anthropic"))
    assert server.requests[0].get("tool_choice") == wire


def test_a_model_that_cannot_be_forced_is_left_to_choose_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with checked_server() as server:
        server.always(answer("ok"))
        call = call_of("claude-opus-5-5", "hi", tools=(ADD,), settings={"tool_choice": "required"})
        ask_all(adapter_of(call, server.url("anthropic")), [call, call])
    assert [body["tool_choice"] for body in server.requests] == [{"type": "auto"}, {"type": "auto"}]
    assert [record.getMessage() for record in caplog.records if record.name.startswith("doc_")] == [
        "claude-opus-5-5: it cannot be made to call a tool; tool_choice is 'auto'"
    ]


def test_a_temperature_is_left_out() -> None:
    with checked_server() as server:
        server.script(answer("ok"))
        asyncio.run(agent_at(server, temperature=0.5).run("hi"))
    assert "temperature" not in server.requests[0]


def test_a_conversation_that_goes_on_is_cached_and_a_single_question_is_not() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    with checked_server() as server:
        server.always(answer("ok"))
        calls = [
            call_of(MODEL, "hi"),
            call_of(MODEL, "hi", is_continued=True),
            call_of(MODEL, "hi", tools=(ADD,)),
            call_of(MODEL, *said, "hi"),
        ]
        ask_all(adapter_of(calls[0], server.url("anthropic")), calls)
    marks = [body.get("cache_control") for body in server.requests]
    assert marks == [None, *[{"type": "ephemeral"}] * 3]


def test_a_stored_history_goes_out_unchanged() -> None:
    """C02, C12: what was stored is sent as it is, turn after turn."""
    with checked_server() as server:
        server.script(answer("x", Call("add", {"a": 1, "b": 2})), answer("3"), answer("b"), answer("c"))

        async def talk() -> list[dict[str, Any]]:
            session = agent_at(server, tools=[add]).session()
            for question in ("1 + 2?", "and?", "so?"):
                await session.run(question)
            return list(session.messages)

        stored = asyncio.run(talk())
    first, *_, last = server.requests
    assert last["messages"] == stored[:-1]
    assert server.requests[2]["messages"] == stored[:5]
    assert first["messages"] == stored[:1]


def test_a_long_answer_is_put_together_from_a_stream_that_stops_late() -> None:
    """The terminal event is `message_stop`; what comes after it is not waited for."""
    with checked_server() as server:
        server.script(answer("word " * 500), answer("next"))
        call = call_of(MODEL, "hi")
        outcomes = ask_all(adapter_of(call, server.url("anthropic")), [call, call])
    assert [len(outcome.text) for outcome in outcomes] == [2500, 4]


def test_an_interrupted_stream_leaves_what_it_used_on_the_meter() -> None:
    usage = Usage(input=500, output=900, cached=100)
    with checked_server() as server:
        server.script(answer("word " * 100, usage=usage, ending=Ending("drop")))
        outcome = ask_once(call_of(MODEL, "hi"), server.url("anthropic"))
    assert outcome.error is not None
    assert (outcome.meter.usage.input_tokens, outcome.meter.usage.cached_input_tokens) == (500, 100)
    assert outcome.meter.usage.output_tokens >= len(outcome.text) // 4 > 0
