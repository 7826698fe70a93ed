"""The real OpenAI SDK against the strict server: Responses, and chat completions at each kind of server."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.strict import Call, Ending, Fail, StrictServer, Thinking, Usage, answer, checked_server

openai = pytest.importorskip("openai")
Body = dict[str, Any]
MODEL, KIMI = "gpt-6-luna", "accounts/fireworks/models/kimi-k3"
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TOOL = {"type": "function", "name": "add", "parameters": CLOSED, "strict": True}
CHAT_TOOL = {"type": "function", "function": {"name": "add", "parameters": CLOSED}}
ASK = {"model": MODEL, "store": False, "include": ["reasoning.encrypted_content"], "tools": [TOOL]}


def run(server: StrictServer, act: Callable[[Any], Awaitable[Any]], *, at: str = "openai", key: str = "k") -> Any:
    async def main() -> Any:
        http = openai.DefaultAsyncHttpx2Client(trust_env=False, verify=False, timeout=5.0)
        client = openai.AsyncOpenAI(api_key=key, base_url=server.url(at), max_retries=0, http_client=http)
        async with client:
            return await act(client)

    return asyncio.run(main())


async def streamed(client: Any, items: list[Body], **more: Any) -> list[Any]:
    async with await client.responses.create(stream=True, input=items, **{**ASK, **more}) as stream:
        return [event async for event in stream]


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_loop_with_reasoning_goes_back_as_it_came(streams: bool) -> None:
    async def talk(client: Any) -> list[Body]:
        items: list[Body] = [user("1 + 2 and 3 + 4?")]
        for _ in range(2):
            if streams:
                response = (await streamed(client, items))[-1].response
            else:
                response = await client.responses.create(input=items, **ASK)
            done = [item.to_dict(mode="json") for item in response.output]
            items += done
            calls = [item["call_id"] for item in done if item["type"] == "function_call"]
            items += [{"type": "function_call_output", "call_id": call, "output": "3"} for call in calls]
        await client.responses.create(input=[*items, user("thanks")], **ASK)
        return items

    with checked_server() as server:
        server.script(
            answer(Thinking("two sums"), Call("add", {"a": 1}), Call("add", {"a": 2})),
            answer(Thinking("so"), "3 and 7"),
            answer("done"),
        )
        items = run(server, talk)
    kinds = [item.get("type", "user") for item in items]
    assert kinds[1:4] == ["reasoning", "function_call", "function_call"]
    assert kinds[-2:] == ["reasoning", "message"]
    assert items[1]["summary"][0]["text"] == "two sums"
    assert items[2]["arguments"] == '{"a": 1}'


def test_usage_structured_output_and_media_are_taken() -> None:
    usage = Usage(input=20212, output=931, cached=16298, reasoning=100)
    content = [{"type": "input_text", "text": "what?"}, {"type": "input_image", "image_url": PNG, "detail": "auto"}]
    form = {"format": {"type": "json_schema", "name": "n", "schema": CLOSED, "strict": True}}
    with checked_server() as server:
        server.script(answer('{"a": 1}', usage=usage))
        response = run(server, lambda c: c.responses.create(input=[user(content)], text=form, **ASK))
    assert response.output_text == '{"a": 1}'
    assert (response.usage.input_tokens, response.usage.output_tokens) == (20212, 931)
    assert response.usage.input_tokens_details.cached_tokens == 16298
    assert response.usage.output_tokens_details.reasoning_tokens == 100


@pytest.mark.parametrize(
    ("ending", "stop", "last"),
    [
        (Ending(), "end", "response.completed"),
        (Ending(), "max_tokens", "response.incomplete"),
        (Ending("error_flat"), "end", "error"),
        (Ending("failed", code="insufficient_quota"), "end", "response.failed"),
        (Ending("no_terminal"), "end", "response.output_item.done"),
        (Ending("truncate", after=5), "end", "response.output_text.delta"),
    ],
)
def test_streams_end_with_the_event_that_the_script_names(ending: Ending, stop: Any, last: str) -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=ending, stop=stop))
        events = run(server, lambda client: streamed(client, [user("a")]))
    assert events[-1].type == last
    numbers = [event.sequence_number for event in events]
    assert numbers[: len(numbers) - 2] == list(range(len(numbers) - 2))


@pytest.mark.parametrize(
    ("ending", "raised"),
    [
        (Ending("drop"), "APIConnectionError"),
        (Ending("error"), "APIError"),
        (Ending("garbage"), "JSONDecodeError"),
        (Ending("stall"), "APITimeoutError"),
    ],
)
def test_broken_streams_raise_what_the_sdk_is_known_to(ending: Ending, raised: str) -> None:
    async def act(client: Any) -> None:
        await streamed(client.with_options(timeout=0.3), [user("a")])

    with checked_server() as server:
        server.script(answer("a text of some length", ending=ending))
        with pytest.raises((openai.APIError, ValueError)) as caught:
            run(server, act)
    assert type(caught.value).__name__ == raised


def test_a_refusal_of_the_model_is_a_refusal_part() -> None:
    with checked_server() as server:
        server.script(answer("I cannot help with that.", stop="refusal"))
        response = run(server, lambda client: client.responses.create(input="a", **ASK))
    assert response.output[0].content[0].type == "refusal"


@pytest.mark.parametrize(
    ("fail", "kind", "code"),
    [
        (Fail(429, retry_after=3), "RateLimitError", "rate_limit_exceeded"),
        (Fail(429, code="insufficient_quota"), "RateLimitError", "insufficient_quota"),
        (Fail(500), "InternalServerError", "server_error"),
        (Fail(503), "InternalServerError", "server_is_overloaded"),
    ],
)
def test_failures_arrive_as_the_sdk_names_them(fail: Fail, kind: str, code: str) -> None:
    with checked_server() as server:
        server.script(fail)
        with pytest.raises(getattr(openai, kind)) as caught:
            run(server, lambda client: client.responses.create(input="a", **ASK))
    assert caught.value.code == code
    assert caught.value.request_id


def test_refused_requests_carry_code_and_param() -> None:
    with StrictServer() as server:
        with pytest.raises(openai.BadRequestError) as caught:
            run(server, lambda client: client.responses.create(input="a", model=MODEL, max_output_tokens=5))
        assert (caught.value.code, caught.value.param) == ("integer_below_min_value", "max_output_tokens")
        with pytest.raises(openai.NotFoundError):
            run(server, lambda client: client.responses.create(input=[{"type": "item_reference", "id": "rs_1"}], **ASK))
        with pytest.raises(openai.NotFoundError):
            run(server, lambda client: client.chat.completions.create(model="gpt-9-x", messages=[user("a")]))
        assert [found.rule for found in server.violations] == ["W-O26", "W-O5", "W-O27"]


async def chat(client: Any, messages: list[Body], model: str, **more: Any) -> tuple[str, str, list[Body], Any]:
    """Stream a completion; return text, reasoning, calls and the last usage."""
    text, reasoning, usage = "", "", None
    calls: dict[int, Body] = {}
    async with await client.chat.completions.create(stream=True, model=model, messages=messages, **more) as stream:
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                    call["arguments"] += part.function.arguments or ""
    return text, reasoning, list(calls.values()), usage


@pytest.mark.parametrize(("at", "model"), [("fireworks", KIMI), ("compatible", "any"), ("deepseek", "deepseek-v4")])
def test_a_streamed_tool_loop_on_the_chat_family(at: str, model: str) -> None:
    async def talk(client: Any) -> tuple[str, Any]:
        messages: list[Body] = [user("1 + 2?")]
        _, reasoning, calls, usage = await chat(client, messages, model, tools=[CHAT_TOOL])
        functions = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
        listed = [
            {"id": call["id"], "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": listed, "reasoning_content": reasoning}
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "3"} for call in calls]
        text, _, _, _ = await chat(client, [*messages, message, *results], model, tools=[CHAT_TOOL])
        return text, usage

    with checked_server() as server:
        server.script(answer(Thinking("hm"), Call("add", {"a": 1}), Call("add", {"a": 2})), answer("3"))
        text, usage = run(server, talk, at=at)
    assert text == "3"
    assert (usage is not None) == (at == "fireworks")


def test_usage_comes_on_a_chunk_of_its_own_where_it_is_asked_for() -> None:
    async def act(client: Any) -> Any:
        return (await chat(client, [user("a")], "any", stream_options={"include_usage": True}))[3]

    with checked_server() as server:
        server.script(answer("b", usage=Usage(input=10, output=5, cached=4)))
        usage = run(server, act, at="compatible")
    assert (usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens) == (10, 5, 4)


def test_fireworks_refuses_what_it_does_not_know() -> None:
    async def act(client: Any) -> None:
        await chat(client, [user("a")], KIMI, stream_options={"include_usage": True})

    with StrictServer() as server:
        with pytest.raises(openai.BadRequestError, match="Extra inputs are not permitted, field: 'stream_options'"):
            run(server, act, at="fireworks")
        assert [found.rule for found in server.violations] == ["W-F1"]


def test_an_error_inside_a_chat_stream_is_raised_by_the_sdk() -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=Ending("error", message="overloaded")))
        with pytest.raises(openai.APIError, match="overloaded"):
            run(server, lambda client: chat(client, [user("a")], KIMI), at="fireworks")


def test_models_are_listed_as_the_test_says() -> None:
    with checked_server() as server:
        server.models("compatible", [{"id": "a", "object": "model", "created": 1, "owned_by": "me"}])
        listed = run(server, lambda client: client.models.list(), at="compatible")
    assert [row.id for row in listed.data] == ["a"]
