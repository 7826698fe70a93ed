"""The Gemini API through the adapter, against the strict server: requests, answers, tools, usage."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.dialects.google import GoogleLens
from doc_processing_toolkit.dialects.view import MediaPart, TextPart, ToolOutcome
from doc_processing_toolkit.providers.base import CallAsked, ToolSpec
from doc_processing_toolkit.testing import PIXEL
from support.adapter_calls import Outcome, adapter_of, ask_all, ask_once, call_of
from support.strict import Answer, Call, Native, Raw, StrictServer, Text, Thinking, Usage, answer, checked_server

NEW, OLD = "gemini-3.5-flash-lite", "gemini-2.5-flash"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = ToolSpec("add", "adds", SCHEMA)
LENS = GoogleLens()
PNG = base64.b64encode(PIXEL).decode()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(a: int) -> int:
    """Fail."""
    raise ValueError("no such number")


def agent_at(server: StrictServer, model: str = NEW, **settings: Any) -> Agent:
    return Agent(model, api_key="k", base_url=server.url("google"), **settings)


def ask(server: StrictServer, *messages: Any, model: str = NEW, **details: Any) -> Outcome:
    return ask_once(call_of(model, *messages, **details), server.url("google"))


def answered_round(server: StrictServer, *replies: Any, results: Any = "3", model: str = NEW) -> list[Outcome]:
    """Ask, answer the calls with these results, ask again."""
    server.script(*replies)
    first = call_of(model, "go", tools=(ADD,))
    adapter = adapter_of(first, server.url("google"))
    outcome = ask_all(adapter, [first])[0]
    outcomes = [ToolOutcome(call.id, call.name, results) for call in outcome.answered.calls]
    messages = [*first.messages, *outcome.answered.messages, *LENS.result_messages(outcomes)]
    return [outcome, ask_all(adapter, [call_of(model, *messages, tools=(ADD,))])[0]]


def test_a_question_is_answered_and_the_request_holds_only_what_was_asked() -> None:
    with checked_server() as server:
        server.script(answer("Paris"))
        result = asyncio.run(agent_at(server, instructions="Be brief.").run("Capital of France?"))
    assert (result.output, result.stop_reason, result.error) == ("Paris", "end_turn", None)
    assert server.requests[0] == {
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "generation_config": {"max_output_tokens": 65536},
        "contents": [{"role": "user", "parts": [{"text": "Capital of France?"}]}],
    }
    path = server.exchanges[0].request.path
    assert path == f"/google/v1/models/{NEW}:streamGenerateContent?alt=sse"


def test_nothing_of_the_environment_reaches_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "l",
        "GOOGLE_API_KEY": "another",
        "GEMINI_API_KEY": "another",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_GENAI_API_VERSION": "v7",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
    }.items():
        monkeypatch.setenv(name, value)
    with checked_server() as server:
        server.script(answer("ok"))
        assert ask(server, "hi").text == "ok"
    request = server.exchanges[0].request
    assert request.key == "k"
    assert request.path.startswith("/google/v1/models/")


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_key_and_address_come_from_the_environment_where_no_argument_is_given(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with checked_server() as server:
        monkeypatch.setenv(variable, " from-the-environment\n")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url("google") + "/v1beta/")
        server.script(answer("ok"))
        assert asyncio.run(Agent(NEW).run("hi")).output == "ok"
    assert server.exchanges[0].request.key == "from-the-environment"
    assert server.exchanges[0].request.path.startswith("/google/v1beta/models/")


def test_a_missing_key_names_its_variables_at_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    agent = Agent(NEW)
    with pytest.raises(
        ProviderError, match=r"GEMINI_API_KEY or GOOGLE_API_KEY.*https://aistudio\.google\.com"
    ) as caught:
        asyncio.run(agent.run("hi"))
    assert (caught.value.provider, caught.value.code) == ("google", "missing_key")


def test_a_key_that_the_sdk_refuses_is_an_error_that_says_so() -> None:
    outcome = ask_once(call_of(NEW, "hi"), "http://127.0.0.1:9/google", key="auth_tokens/x")
    assert isinstance(outcome.error, ProviderError)
    assert "phemeral" in str(outcome.error)


@pytest.mark.parametrize("model", [NEW, OLD])
def test_parallel_calls_are_answered_in_order_in_one_content_with_their_ids(model: str) -> None:
    calls = (Call("add", {"a": 1, "b": 2}), Call("fail", {"a": 1}), Call("add", {"a": 3, "b": 4}))
    with checked_server() as server:
        server.script(answer(Thinking("two sums"), "let me see", *calls), answer("3 and 7"))
        result = asyncio.run(agent_at(server, model, tools=[add, fail]).run("1 + 2, 3 + 4?"))
    assert result.output == "3 and 7"
    *_, asked, answered = server.requests[1]["contents"]
    assert answered["role"] == "user"
    given = [part["function_response"] for part in answered["parts"]]
    assert [each["response"] for each in given] == [
        {"output": "3"},
        {"error": "Error: ValueError: no such number"},
        {"output": "7"},
    ]
    called = [part["function_call"] for part in asked["parts"] if "function_call" in part]
    assert [(each["name"], each.get("id")) for each in given] == [(each["name"], each.get("id")) for each in called]


def test_a_signed_answer_is_stored_as_it_came_and_replays_byte_for_byte() -> None:
    """B07, B03: the signature of streamed text rides on a part of its own, and is never merged into another."""
    with checked_server() as server:
        server.script(answer(Thinking("hm, let me think"), Text("Paris is the capital", signed=True)), answer("ok"))
        first = call_of(NEW, "hi", settings={"thinking": True})
        adapter = adapter_of(first, server.url("google"))
        (outcome,) = ask_all(adapter, [first])
        (content,) = outcome.answered.messages
        ask_all(adapter, [call_of(NEW, "hi", content, "and now?")])
    assert (outcome.text, outcome.reasoning) == ("Paris is the capital", "hm, let me think")
    thought, text, signed = content["parts"]
    assert (thought, text) == ({"text": "hm, let me think", "thought": True}, {"text": "Paris is the capital"})
    assert signed.keys() == {"text", "thought_signature"}
    assert signed["text"] == ""
    assert server.requests[1]["contents"][1] == content
    assert json.loads(json.dumps(content)) == content


def test_calls_without_an_id_are_answered_without_one() -> None:
    with checked_server() as server:
        calls = (Call("add", {"a": 1}, signed=False), Call("add", {"a": 2}, signed=False))
        first, second = answered_round(server, answer(*calls), answer("ok"), model=OLD)
    assert second.text == "ok"
    ids = [call.id for call in first.answered.calls]
    assert len(set(ids)) == 2
    assert "id" not in json.dumps(server.requests[1]["contents"])


@pytest.mark.parametrize(("model", "moves"), [(NEW, False), (OLD, True)])
def test_media_in_results_goes_where_the_model_takes_it(model: str, moves: bool) -> None:
    """W-G27: on older models it goes into a content of its own behind the responses."""
    with checked_server() as server:
        results = (TextPart("a picture"), MediaPart(PNG, "image/png"))
        answered_round(server, answer(Call("add", {"a": 1})), answer("ok"), results=results, model=model)
    contents = server.requests[1]["contents"]
    blob = {"inline_data": {"mime_type": "image/png", "data": PNG}}
    response = contents[2]["parts"][0]["function_response"]
    assert response["response"] == {"output": "a picture"}
    assert response.get("parts") == (None if moves else [blob])
    assert contents[3:] == ([{"role": "user", "parts": [blob]}] if moves else [])


def test_arguments_that_are_no_object_come_with_their_problem_and_can_be_sent_again() -> None:
    odd = Native({"functionCall": {"name": "add", "args": [1, 2]}})
    with checked_server() as server:
        first, second = answered_round(server, answer(odd), answer("ok"), model=OLD)
    (call,) = first.answered.calls
    assert (call.arguments, call.problem) == ({"not_an_object": [1, 2]}, "is not a JSON object")
    assert second.text == "ok"


def test_input_counts_every_prompt_token_once_and_thinking_is_output() -> None:
    usage = Usage(input=20_212, output=931, cached=16_298, reasoning=400)
    with checked_server() as server:
        server.script(answer("a", usage=usage, served_model="gemini-3.5-flash-lite-001"))
        outcome = ask(server, "hi")
    assert outcome.answered.usage == TokenUsage(20_212, 931, 16_298, 0, 400)
    assert outcome.meter.usage == outcome.answered.usage
    assert outcome.answered.served_model == outcome.meter.served_model == "gemini-3.5-flash-lite-001"


def test_tokens_of_the_servers_own_tools_are_input() -> None:
    chunk = {
        "candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "toolUsePromptTokenCount": 90, "candidatesTokenCount": 3},
    }
    with checked_server() as server:
        server.script(Raw(f"data: {json.dumps(chunk)}\n\n".encode()))
        assert ask(server, "hi").answered.usage == TokenUsage(100, 3)


@pytest.mark.parametrize(
    ("model", "settings", "config"),
    [
        (NEW, {}, None),
        (NEW, {"thinking": True}, {"include_thoughts": True}),
        (NEW, {"thinking": True, "effort": "high"}, {"include_thoughts": True, "thinking_level": "HIGH"}),
        (NEW, {"effort": "medium"}, {"thinking_level": "MEDIUM"}),
        (NEW, {"thinking": False}, {"thinking_level": "MINIMAL"}),
        (NEW, {"thinking": 2048}, {"include_thoughts": True}),
        ("gemini-3.1-pro-preview", {"thinking": False}, {"thinking_level": "LOW"}),
        (OLD, {"thinking": True}, {"include_thoughts": True, "thinking_budget": -1}),
        (OLD, {"thinking": 2048}, {"include_thoughts": True, "thinking_budget": 2048}),
        (OLD, {"thinking": False}, {"thinking_budget": 0}),
        (OLD, {"effort": "low"}, {"thinking_budget": 1024}),
        ("gemini-2.5-pro", {"thinking": False}, {"thinking_budget": 1024}),
    ],
)
def test_thinking_is_asked_for_as_the_row_takes_it(model: str, settings: Any, config: Any) -> None:
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, "hi", model=model, settings=settings)
    assert server.requests[0].get("generation_config", {}).get("thinking_config") == config


def test_a_thinking_budget_that_the_row_does_not_take_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with checked_server() as server:
        server.script(answer("a"), answer("b"))
        call = call_of(NEW, "hi", settings={"thinking": 2048})
        ask_all(adapter_of(call, server.url("google")), [call, call])
    warned = [record.getMessage() for record in caplog.records if "no thinking budget" in record.getMessage()]
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("add", {"mode": "ANY", "allowed_function_names": ["add"]}),
    ],
)
def test_a_choice_of_tools_is_told(choice: str, config: Any) -> None:
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, "hi", tools=(ADD,), settings={"tool_choice": choice})
    request = server.requests[0]
    assert request["tool_config"] == {"function_calling_config": config}
    (declared,) = request["tools"][0]["function_declarations"]
    assert declared == {"name": "add", "description": "adds", "parameters_json_schema": SCHEMA}


def test_a_tool_without_arguments_declares_none() -> None:
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, "hi", tools=(ToolSpec("now", "tells the time", {"type": "object", "properties": {}}),))
    assert server.requests[0]["tools"][0]["function_declarations"] == [{"name": "now", "description": "tells the time"}]


@pytest.mark.parametrize(
    ("model", "has_tools", "is_native"), [(NEW, True, True), (OLD, False, True), (OLD, True, False)]
)
def test_a_form_for_the_answer_is_asked_for_natively_or_in_words(model: str, has_tools: bool, is_native: bool) -> None:
    """A10, W-G23: beside tools the older models take no form."""
    with checked_server() as server:
        server.script(answer('{"a": 1}'))
        tools = (ADD,) if has_tools else ()
        ask(server, "hi", model=model, tools=tools, schema=SCHEMA, instructions="Be brief.")
    request = server.requests[0]
    config = request.get("generation_config", {})
    told = request["system_instruction"]["parts"][0]["text"]
    assert (config.get("response_json_schema") == SCHEMA) is is_native
    assert (config.get("response_mime_type") == "application/json") is is_native
    assert (json.dumps(SCHEMA) in told) is not is_native
    assert told.startswith("Be brief.")


def test_settings_and_neutral_messages_reach_the_wire_in_its_own_form() -> None:
    history = [
        {"role": "system", "content": "Speak French."},
        {"role": "user", "content": [{"type": "text", "text": "Document: x"}, {"type": "text", "text": "Question: y"}]},
        {"role": "assistant", "content": "oui"},
    ]
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, *history, "et puis?", settings={"temperature": 0.5, "max_output_tokens": 100}, instructions="Now.")
    assert server.requests[0] == {
        "system_instruction": {"parts": [{"text": "Speak French.\n\nNow."}]},
        "generation_config": {"temperature": 0.5, "max_output_tokens": 100},
        "contents": [
            {"role": "user", "parts": [{"text": "Document: x"}, {"text": "Question: y"}]},
            {"role": "model", "parts": [{"text": "oui"}]},
            {"role": "user", "parts": [{"text": "et puis?"}]},
        ],
    }


def test_parts_with_every_field_and_empty_ones_are_sent_without_what_holds_nothing() -> None:
    types = pytest.importorskip("google.genai.types")
    dump = types.Part(text="hi").model_dump
    assert len(dump()) >= 20
    call = types.Part(function_call=types.FunctionCall(name="add", args={"a": None})).model_dump(mode="json")
    response = types.FunctionResponse(name="add", response={"output": None})
    history = [
        {"role": "user", "parts": [dump(mode="json"), {}, {"thought": None}], "id": None},
        {"role": "model", "parts": []},
        {"role": "model", "parts": [{"text": None}, call]},
        {"role": "user", "parts": [types.Part(function_response=response).model_dump(mode="json")]},
    ]
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, *history, model=OLD)
    assert server.requests[0]["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"function_call": {"name": "add", "args": {"a": None}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "add", "response": {"output": None}}}]},
    ]


def test_a_picture_that_google_does_not_take_is_told_as_text_and_stays_stored(caplog: pytest.LogCaptureFixture) -> None:
    gif = {"inline_data": {"mime_type": "image/gif", "data": base64.b64encode(b"GIF89a....").decode()}}
    message = {"role": "user", "parts": [gif, {"text": "what is it?"}]}
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, message)
    said, question = server.requests[0]["contents"][0]["parts"]
    assert said == {"text": "[image/gif, 10 B, not accepted by Gemini 3.5 Flash-Lite]"}
    assert question == {"text": "what is it?"}
    assert message["parts"][0] is gif
    assert "does not take image/gif" in caplog.text


def test_a_part_of_a_kind_that_nobody_knows_is_stored_as_it_came() -> None:
    with checked_server() as server:
        server.script(answer("see", Native({"holoGram": {"camelCase": [1]}}), "here"))
        outcome = ask(server, "hi")
    assert outcome.text == "seehere"
    assert outcome.answered.messages[0]["parts"] == [
        {"text": "see"},
        {"holoGram": {"camelCase": [1]}},
        {"text": "here"},
    ]


def test_an_answer_that_stops_at_the_limit_of_a_request_is_asked_to_go_on() -> None:
    def part(text: str, **more: Any) -> Raw:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5}
        return Raw(f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\n\n".encode())

    with StrictServer() as server:
        server.script(
            part("one ", finishReason="CONTINUATION", continuationToken="dG9r"), part("two", finishReason="STOP")
        )
        outcome = ask(server, "count")
    assert (outcome.text, outcome.answered.text, outcome.answered.stop_reason) == ("one two", "one two", "end_turn")
    assert outcome.answered.messages == ({"role": "model", "parts": [{"text": "one two"}]},)
    assert outcome.answered.usage == TokenUsage(20, 10)
    assert server.requests[1] == {**server.requests[0], "generation_config": {"continuation_token": "dG9r"}}


def test_half_a_surrogate_pair_waits_for_its_other_half_and_never_reaches_a_history() -> None:
    call = {"functionCall": {"name": "add", "args": {"a": "b\ud83d"}}}
    parts = [[{"text": "a\ud83d"}], [{"text": "\ude00"}], [{"text": " \ude00", "thoughtSignature": "AA=="}, call]]
    chunks = [{"candidates": [{"content": {"parts": each}}]} for each in parts]
    chunks.append({"candidates": [{"finishReason": "STOP"}]})
    with checked_server() as server:
        server.script(Raw("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()))
        outcome = ask(server, "hi", model=OLD, tools=(ADD,))
    assert outcome.text == outcome.answered.text == "a😀 \ufffd"
    assert outcome.answered.calls[0].arguments == {"a": "b\ufffd"}
    json.dumps(outcome.answered.messages, ensure_ascii=False).encode()


def test_two_event_loops_may_use_one_agent() -> None:
    with checked_server() as server:
        server.script(answer("one"), answer("two"))
        agent = agent_at(server)
        assert [asyncio.run(agent.run("hi")).output for _ in range(2)] == ["one", "two"]


def test_a_call_and_its_arguments_arrive_as_they_were_sent() -> None:
    with checked_server() as server:
        server.script(answer("let me", Call("add", {"a": 1, "deep": {"list": [None, 1.5, "x"]}}, id="abc")))
        reply = ask(server, "hi", tools=(ADD,)).answered
    assert reply.calls == (CallAsked("abc", "add", {"a": 1, "deep": {"list": [None, 1.5, "x"]}}),)
    assert reply.stop_reason == "tool_use"


def test_a_model_may_be_named_with_its_collection() -> None:
    with checked_server() as server:
        server.script(Answer((Text("ok"),)))
        call = call_of(NEW, "hi")
        named = type(call)(
            row=type(call.row)(**{**_fields(call.row), "model": f"models/{NEW}"}), messages=call.messages
        )
        assert ask_once(named, server.url("google")).text == "ok"
    assert f"/v1/models/{NEW}:stream" in server.exchanges[0].request.path


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}
