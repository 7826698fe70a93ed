"""Fireworks over the chat adapter: only fields that it knows, reasoning sent back, its own key and address."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit import Agent, ProviderError
from doc_processing_toolkit.core.events import ReasoningDelta, TextDelta
from doc_processing_toolkit.providers.base import (
    Access,
    AdapterEvent,
    ModelCall,
    Reply,
    RequestFailedError,
    ToolSpec,
    make_adapter,
)
from doc_processing_toolkit.providers.fireworks.request import fitted
from doc_processing_toolkit.registry import find, rows
from support.recorded import recorded_dir
from support.strict import Call, Fail, Raw, StrictServer, Thinking, Usage, WireRequest, answer, checked_server
from support.strict.chat import check
from support.strict.recordings import exchanges

KIMI = "fireworks/accounts/fireworks/models/kimi-k3"
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
FIREWORKS_ROWS = [row for row in rows() if row.provider == "fireworks"]
PNG = "data:image/png;base64,iVBORw0KGgo="


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call_of(*messages: dict[str, Any], model: str = KIMI, **more: Any) -> ModelCall:
    return ModelCall(find(model), messages or (user("q"),), **{"read_timeout_s": 5.0, **more})


def ask(server: StrictServer, call: ModelCall) -> list[AdapterEvent]:
    async def main() -> list[AdapterEvent]:
        adapter = make_adapter(call.row, Access(server.url("fireworks"), "fw-secret-key"))
        async with contextlib.aclosing(adapter.stream(call)) as events:
            return [event async for event in events]

    return asyncio.run(main())


def reply_in(events: list[AdapterEvent]) -> Reply:
    assert isinstance(events[-1], Reply)
    return events[-1]


def refused(body: dict[str, Any]) -> list[str]:
    return [
        str(found) for found in check(WireRequest("chat", body, body["model"], profile="fireworks")) if found.status
    ]


def test_an_answer_with_reasoning_and_usage_needs_no_stream_options() -> None:
    """W-F1, W-F14."""
    with checked_server() as server:
        server.script(answer(Thinking("hm"), "four", usage=Usage(100, 20, cached=60, reasoning=5)))
        events = ask(server, call_of())
    reply = reply_in(events)
    assert [type(event) for event in events[:-1]] == [ReasoningDelta, TextDelta]
    assert "stream_options" not in server.requests[0]
    assert (reply.usage.input_tokens, reply.usage.cached_input_tokens) == (100, 60)
    assert reply.messages == ({"role": "assistant", "content": "four", "reasoning_content": "hm"},)


def test_the_reasoning_of_an_open_round_goes_back() -> None:
    """W-F6, W-F7."""

    def add(a: int) -> int:
        """Add."""
        return a

    with checked_server() as server:
        server.script(answer(Thinking("hm"), Call("add", {"a": 1}, id="functions.add:0")), answer("one"), answer("bye"))

        async def main() -> Any:
            session = Agent(KIMI, tools=[add], api_key="k", base_url=server.url("fireworks"), max_retries=0).session()
            await session.run("q")
            await session.run("bye")
            return session.messages

        messages = asyncio.run(main())
    assert server.requests[1]["messages"][1] == messages[1]
    assert messages[1]["reasoning_content"] == "hm"
    # W-F13: its own ids stay, whatever they look like.
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == "functions.add:0"


@pytest.mark.parametrize(
    ("settings", "effort"),
    [
        ({}, None),
        ({"effort": "high"}, "high"),
        ({"thinking": True}, "medium"),
        ({"thinking": False}, "none"),
        ({"thinking": 2048}, 2048),
        ({"thinking": True, "effort": "low"}, "low"),
    ],
)
def test_thinking_and_effort_never_go_together(settings: dict[str, Any], effort: Any) -> None:
    """W-F8."""
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, call_of(settings=settings))
    assert server.requests[0].get("reasoning_effort") == effort
    assert "thinking" not in server.requests[0]


@pytest.mark.parametrize("row", FIREWORKS_ROWS, ids=lambda row: row.label)
def test_every_row_gets_a_request_that_it_takes(row: Any) -> None:
    settings = {
        "temperature": 0.5,
        "max_output_tokens": 64,
        "effort": "low",
        "tool_choice": "add",
        "parallel_tool_calls": False,
    }
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, call_of(model=row.id, settings=settings, tools=(ADD,), schema={"type": "object"}))


def test_what_another_server_left_in_a_history_does_not_reach_it() -> None:
    """W-F1, W-F3, W-F10."""
    foreign = [
        {"role": "developer", "content": "Be brief."},
        user([{"type": "text", "text": "look", "cache_control": {}}, {"type": "input_audio", "input_audio": {}}]),
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "no"}],
            "refusal": None,
            "audio": None,
            "annotations": [],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}, "extra": 1}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image_url", "image_url": {"url": PNG}}]},
        user([{"type": "image_url", "image_url": {"url": PNG}}]),
    ]
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, call_of(*foreign))
    sent = server.requests[0]["messages"]
    assert sent[0]["role"] == "system"
    assert sent[1]["content"][1]["text"] == "[input_audio, not accepted by Fireworks]"
    assert sent[2]["content"] == [{"type": "text", "text": "no"}]
    assert sent[4] == foreign[4]


def test_a_schema_that_only_restricts_is_understood_as_anything() -> None:
    """W-F11."""
    schema = {
        "type": "object",
        "properties": {"a": {"description": "anything"}, "b": {"anyOf": [{"required": ["x"]}, {"type": "string"}]}},
    }
    with checked_server() as server:
        server.script(answer("ok"))
        ask(server, call_of(tools=(ToolSpec("t", "", schema),)))
    sent = server.requests[0]["tools"][0]["function"]["parameters"]["properties"]
    assert sent == {"a": {}, "b": {"anyOf": [{}, {"type": "string"}]}}
    assert schema["properties"]["a"] == {"description": "anything"}


def test_its_own_key_and_address_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-secret")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/stolen")
    monkeypatch.setenv("FIREWORKS_API_KEY", "fw-key")
    with checked_server() as server:
        monkeypatch.setenv("FIREWORKS_BASE_URL", server.url("fireworks"))
        server.script(answer("ok"))
        assert asyncio.run(Agent(KIMI, max_retries=0).run("q")).output == "ok"
        [exchange] = server.exchanges
    headers = json.dumps(dict(exchange.request.headers or {}))
    assert "secret" not in headers
    assert "Bearer fw-key" in headers


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(ProviderError, match="set FIREWORKS_API_KEY, or give api_key"):
        asyncio.run(Agent(KIMI).run("q"))


def test_an_error_says_what_the_server_said_without_the_key() -> None:
    with checked_server() as server:
        server.script(Fail(402, "Account suspended; key fw-secret-key"))
        with pytest.raises(RequestFailedError) as caught:
            ask(server, call_of())
    assert "Account suspended" in str(caught.value)
    assert "fw-secret-key" not in str(caught.value)
    assert (caught.value.status, caught.value.is_retryable, caught.value.provider) == (402, False, "fireworks")


def test_a_prompt_that_is_too_long_says_so() -> None:
    """W-F12."""
    with checked_server() as server:
        server.script(Fail(400, "The prompt is too long: 203557, model maximum context length: 196607"))
        with pytest.raises(RequestFailedError, match="too long for Kimi K3"):
            ask(server, call_of())


def test_recorded_answers_of_fireworks_come_out_right() -> None:
    found = 0
    for exchange in exchanges(recorded_dir(), "fireworks"):
        chunks = exchange["resp"]["body"]
        if "chat/completions" not in exchange["url"] or not exchange["req"].get("stream"):
            continue
        found += 1
        data = [chunk["__data__"] for chunk in chunks]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in data) + "data: [DONE]\n\n"
        deltas = [choice["delta"] for chunk in data for choice in chunk["choices"]]
        names = [call["function"]["name"] for delta in deltas for call in delta.get("tool_calls") or () if call["id"]]
        usage = next(chunk["usage"] for chunk in reversed(data) if chunk.get("usage"))
        with StrictServer() as server:
            server.script(Raw(body.encode()))
            reply = reply_in(ask(server, call_of(tools=(ADD,))))
        assert reply.text == "".join(delta.get("content") or "" for delta in deltas)
        assert [call.name for call in reply.calls] == names
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )
    assert found >= 4


PARTS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "x"},
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "file", "file": {}},
            {"type": "odd"},
            {"type": "text", "text": "x", "cache_control": None},
        ]
    ),
    min_size=1,
    max_size=3,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "developer"]), "content": st.text(max_size=5) | PARTS},
    optional={"name": st.just("n"), "id": st.just("i"), "audio": st.none()},
)


@given(st.lists(MESSAGES, min_size=1, max_size=4))
def test_any_message_is_made_to_fit_without_being_changed(messages: list[dict[str, Any]]) -> None:
    before = json.dumps(messages)
    body = fitted({"model": "accounts/fireworks/models/kimi-k3", "messages": messages})
    assert refused(body) == []
    assert json.dumps(messages) == before
    assert fitted(body)["messages"] == body["messages"]
