"""The real Anthropic SDK against the strict server: answers, streams, thinking, media, errors, breaks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from support.strict import Call, Ending, Fail, StrictServer, Thinking, Usage, answer, checked_server

anthropic = pytest.importorskip("anthropic")
Body = dict[str, Any]
MODEL = "claude-opus-5-5"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (8).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0").decode()
QUESTION: list[Body] = [{"role": "user", "content": "a"}]
TOOL = {"name": "add", "description": "adds", "input_schema": {"type": "object", "properties": {}}}
ASK = {"model": MODEL, "max_tokens": 1000, "thinking": {"type": "adaptive"}, "tools": [TOOL]}


def run(server: StrictServer, act: Callable[[Any], Awaitable[Any]], key: str = "k") -> Any:
    async def main() -> Any:
        http = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False, timeout=5.0)
        address = server.url("anthropic")
        client = anthropic.AsyncAnthropic(api_key=key, base_url=address, max_retries=0, http_client=http)
        async with client:
            return await act(client)

    return asyncio.run(main())


async def streamed(client: Any, messages: list[Body], **more: Any) -> Any:
    async with client.messages.stream(messages=messages, **{**ASK, **more}) as stream:
        async for _ in stream:
            pass
        return await stream.get_final_message()


@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_loop_with_thinking_goes_back_as_it_came(streams: bool) -> None:
    async def talk(client: Any) -> list[Body]:
        messages: list[Body] = [{"role": "user", "content": "1 + 2 and 3 + 4?"}]
        for _ in range(2):
            if streams:
                message = await streamed(client, messages)
            else:
                message = await client.messages.create(messages=messages, **ASK)
            content = message.to_dict(mode="json")["content"]
            messages.append({"role": "assistant", "content": content})
            calls = [block for block in content if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "3"} for call in calls]
            messages.append({"role": "user", "content": results or "and then?"})
        await client.messages.create(messages=messages, **ASK)
        return messages

    with checked_server() as server:
        server.script(
            answer(Thinking("two sums"), Thinking("x", redacted=True), "well", Call("add", {"a": 1}), Call("add")),
            answer(Thinking("so"), "3 and 7"),
            answer("done"),
        )
        messages = run(server, talk)
    kinds = [block["type"] for block in messages[1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert messages[1]["content"][0]["thinking"] == "two sums"
    assert messages[1]["content"][3]["input"] == {"a": 1}
    assert messages[3]["content"][1]["text"] == "3 and 7"


def test_usage_stop_reason_container_and_model_are_those_of_the_script() -> None:
    usage = Usage(input=2048 + 1800 + 248, output=931, cached=1800, cache_write=248, reasoning=12)
    with checked_server() as server:
        dated = "claude-opus-5-5-20260901"
        server.script(answer("a", stop="max_tokens", usage=usage, served_model=dated, container="c1"))
        message = run(server, lambda client: streamed(client, [{"role": "user", "content": "hi"}]))
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (2048, 1800)
    assert (message.usage.cache_creation_input_tokens, message.usage.output_tokens) == (248, 931)
    assert (message.stop_reason, message.model) == ("max_tokens", dated)
    assert message.container.id == "c1"


def test_structured_output_media_and_token_counting_are_taken() -> None:
    closed = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    messages = [{"role": "user", "content": [image, {"type": "text", "text": "what?"}]}]

    async def act(client: Any) -> tuple[Any, Any]:
        config = {"format": {"type": "json_schema", "schema": closed}}
        message = await client.messages.create(model=MODEL, max_tokens=100, messages=messages, output_config=config)
        return message, await client.messages.count_tokens(model=MODEL, messages=messages)

    with checked_server() as server:
        server.script(answer('{"a": 1}'))
        message, counted = run(server, act)
    assert message.content[0].text == '{"a": 1}'
    assert counted.input_tokens > 1


def test_the_binding_beta_reports_dropped_thinking() -> None:
    beta = ["thinking-binding-controls-2026-08-01"]
    thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

    async def act(client: Any) -> Any:
        first = await client.messages.create(messages=[{"role": "user", "content": "one"}], **ASK)
        history = [
            {"role": "user", "content": "uno"},
            {"role": "assistant", "content": first.to_dict(mode="json")["content"]},
            {"role": "user", "content": "two"},
        ]
        return await client.beta.messages.create(messages=history, betas=beta, **{**ASK, "thinking": thinking})

    with checked_server() as server:
        server.script(answer(Thinking("hm"), "1"), answer("2"))
        message = run(server, act)
    assert [entry.reason for entry in message.input_transformations] == ["prefix_binding_mismatch"]


@pytest.mark.parametrize(
    ("fail", "kind", "error_type"),
    [
        (Fail(429, retry_after=8), "RateLimitError", "rate_limit_error"),
        (Fail(529), "OverloadedError", "overloaded_error"),
        (Fail(500), "InternalServerError", "api_error"),
        (Fail(413), "RequestTooLargeError", "request_too_large"),
        (Fail(503, plain=True), "ServiceUnavailableError", None),
    ],
)
def test_failures_arrive_as_the_sdk_names_them(fail: Fail, kind: str, error_type: str | None) -> None:
    with checked_server() as server:
        server.script(fail)
        with pytest.raises(getattr(anthropic, kind)) as caught:
            run(server, lambda client: client.messages.create(messages=QUESTION, **ASK))
    assert caught.value.type == error_type
    assert caught.value.request_id == caught.value.response.headers["request-id"]
    assert caught.value.response.headers.get("retry-after") == ("8" if fail.retry_after else None)


def test_a_refused_request_is_a_400_with_the_rule_in_the_records() -> None:
    with StrictServer() as server:
        with pytest.raises(anthropic.BadRequestError, match="non-empty content"):
            run(server, lambda client: client.messages.create(messages=[{"role": "user", "content": ""}], **ASK))
        assert [found.rule for found in server.take_violations()] == ["W-A16"]
        with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
            run(server, lambda client: client.messages.create(messages=QUESTION, **ASK), key="invalid")
        assert server.violations == []


@pytest.mark.parametrize(
    ("ending", "raised", "stop"),
    [
        (Ending("drop"), "RemoteProtocolError", ""),
        (Ending("truncate"), "", None),
        (Ending("no_terminal"), "", None),
        (Ending("error", code="overloaded_error"), "APIStatusError", ""),
        (Ending("garbage"), "JSONDecodeError", ""),
        (Ending("huge_line", size=300_000), "", "end_turn"),
        (Ending("stall"), "ReadTimeout", ""),
    ],
)
def test_broken_streams_break_as_the_sdk_is_known_to(ending: Ending, raised: str, stop: str | None) -> None:
    async def act(client: Any) -> str | None:
        try:
            return str((await streamed(client.with_options(timeout=0.3), QUESTION)).stop_reason)
        except (httpx2.HTTPError, anthropic.APIError, ValueError) as error:
            return type(error).__name__

    with checked_server() as server:
        server.script(answer("a text of some length that is sent in pieces", ending=ending))
        assert run(server, act) == (raised or str(stop))
        exchange = server.settled()[0]
    assert exchange.status == 200
    if ending.kind != "garbage":  # at which the client leaves, before or after the last byte
        assert exchange.complete == (ending.kind not in ("drop", "stall"))


def test_an_endless_stream_ends_when_the_client_leaves_and_the_server_knows_when() -> None:
    async def act(client: Any) -> None:
        async with client.messages.stream(messages=QUESTION, **ASK) as stream:
            async for count, _ in aenumerate(stream):
                if count > 200:
                    break

    with checked_server() as server:
        server.script(answer("a text", ending=Ending("endless", after=3)))
        run(server, act)
        exchange = server.settled()[0]
        server.wait_for(lambda: server.open_connections == 0)
    assert exchange.client_left_at is not None
    assert not exchange.complete


async def aenumerate(stream: Any) -> Any:
    count = 0
    async for event in stream:
        yield count, event
        count += 1
