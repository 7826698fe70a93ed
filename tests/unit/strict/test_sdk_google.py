"""The real Google SDK against the strict server: answers, streams, signatures, files, errors, breaks."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from support.strict import Call, Ending, Fail, StrictServer, Text, Thinking, Usage, answer, checked_server

genai = pytest.importorskip("google.genai")
errors = pytest.importorskip("google.genai.errors")
Body = dict[str, Any]
MODEL, OLD = "gemini-3.5-flash-lite", "gemini-2.5-flash"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOLS = [{"function_declarations": [{"name": "add", "description": "adds", "parameters_json_schema": SCHEMA}]}]
CONFIG = {"tools": TOOLS, "automatic_function_calling": {"disable": True}}


def run(server: StrictServer, act: Callable[[Any], Awaitable[Any]], *, key: str = "k", timeout: int = 5000) -> Any:
    async def main() -> Any:
        async with httpx2.AsyncClient(trust_env=False, verify=False) as http:
            options = {"base_url": server.url("google"), "timeout": timeout, "httpx_async_client": http}
            client = genai.Client(api_key=key, vertexai=False, http_options=options)
            try:
                return await act(client.aio)
            finally:
                client.close()

    return asyncio.run(main())


def user(*parts: Any) -> Body:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


async def streamed(aio: Any, contents: list[Body], **more: Any) -> list[Any]:
    given = {"model": MODEL, "contents": contents, "config": CONFIG, **more}
    return [chunk async for chunk in await aio.models.generate_content_stream(**given)]


def stored(content: Any) -> Body:
    kept: Body = content.model_dump(mode="json", exclude_none=True)
    return kept


def joined(chunks: list[Any]) -> Body:
    """What a careful client stores of a stream: every part as it came, empty ones without a signature left out."""
    parts = [part for chunk in chunks for part in stored(chunk.candidates[0].content)["parts"]]
    return {"role": "model", "parts": [part for part in parts if part != {"text": ""}]}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("model", [MODEL, OLD])
def test_a_tool_loop_with_signatures_goes_back_as_it_came(streams: bool, model: str) -> None:
    async def talk(aio: Any) -> list[Body]:
        contents: list[Body] = [user("1 + 2 and 3 + 4?")]
        for _ in range(2):
            if streams:
                content = joined(await streamed(aio, contents, model=model))
            else:
                response = await aio.models.generate_content(model=model, contents=contents, config=CONFIG)
                content = stored(response.candidates[0].content)
            calls = [part["function_call"] for part in content["parts"] if "function_call" in part]
            named = [{key: call[key] for key in ("id", "name") if key in call} for call in calls]
            answers = [{"function_response": {**call, "response": {"sum": 3}}} for call in named]
            contents += [content, user(*answers) if answers else user("and then?")]
        await aio.models.generate_content(model=model, contents=contents, config=CONFIG)
        return contents

    with checked_server() as server:
        server.script(
            answer(Thinking("two sums"), Call("add", {"a": 1}), Call("add", {"a": 2})),
            answer(Text("3 and 7", signed=True)),
            answer("done"),
        )
        contents = run(server, talk)
    signed = [["thought_signature" in part for part in content["parts"]] for content in (contents[1], contents[3])]
    assert signed[0] == [False, model == MODEL, False]
    assert signed[1][-1]


def test_usage_and_finish_reason_are_those_of_the_script() -> None:
    usage = Usage(input=100, output=40, cached=60, reasoning=15)
    with checked_server() as server:
        server.script(answer("a", stop="max_tokens", usage=usage))
        last = run(server, lambda aio: streamed(aio, [user("a")]))[-1]
    counted = last.usage_metadata
    assert (counted.prompt_token_count, counted.cached_content_token_count) == (100, 60)
    assert (counted.candidates_token_count, counted.thoughts_token_count, counted.total_token_count) == (25, 15, 140)
    assert last.candidates[0].finish_reason.value == "MAX_TOKENS"


@pytest.mark.parametrize("stop", ["malformed_call", "content_filter", "empty", "recitation"])
def test_a_finish_reason_without_parts_has_a_content_without_parts(stop: Any) -> None:
    with checked_server() as server:
        server.script(answer("a", stop=stop))
        response = run(server, lambda aio: aio.models.generate_content(model=MODEL, contents=[user("a")]))
    assert response.candidates[0].content.parts is None


def test_a_blocked_prompt_has_feedback_and_no_candidates() -> None:
    with checked_server() as server:
        server.script(answer("a", stop="prompt_blocked"))
        response = run(server, lambda aio: aio.models.generate_content(model=MODEL, contents=[user("a")]))
    assert not response.candidates
    assert response.prompt_feedback.block_reason.value == "PROHIBITED_CONTENT"


def test_structured_output_media_and_token_counting_are_taken() -> None:
    inline = {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG\r\n\x1a\n picture?>"}}

    async def act(aio: Any) -> tuple[Any, Any]:
        config = {"response_mime_type": "application/json", "response_json_schema": SCHEMA, "temperature": 0.1}
        response = await aio.models.generate_content(model=MODEL, contents=[user("a", inline)], config=config)
        return response, await aio.models.count_tokens(model=MODEL, contents=[user("a")])

    with checked_server() as server:
        server.script(answer('{"a": 1}'))
        response, counted = run(server, act)
    assert response.text == '{"a": 1}'
    assert counted.total_tokens > 1


def test_a_file_is_uploaded_waited_for_used_and_refused_when_it_has_expired() -> None:
    async def upload(aio: Any) -> Any:
        file = await aio.files.upload(file=io.BytesIO(b"RIFF....WAVE"), config={"mime_type": "audio/wav"})
        states = [file.state.value]
        while states[-1] == "PROCESSING":
            states.append((await aio.files.get(name=file.name)).state.value)
        return file, states

    def use(file: Any) -> Callable[[Any], Awaitable[Any]]:
        part = {"file_data": {"file_uri": file.uri, "mime_type": file.mime_type}}
        return lambda aio: aio.models.generate_content(model=MODEL, contents=[user("listen", part)])

    with StrictServer() as server:
        server.files.polls = 2
        server.script(answer("a"))
        file, states = run(server, upload)
        assert states == ["PROCESSING", "PROCESSING", "PROCESSING", "ACTIVE"]
        assert (file.size_bytes, file.mime_type) == (12, "audio/wav")
        assert run(server, use(file)).text == "a"
        with pytest.raises(errors.ClientError) as other:
            run(server, use(file), key="another")
        server.files.expire(file.uri)
        with pytest.raises(errors.ClientError) as expired:
            run(server, use(file))
        assert [(found.rule, found.status) for found in server.violations] == [("W-G24", 403)] * 2
    assert (other.value.code, expired.value.status) == (403, "PERMISSION_DENIED")
    assert file.name.split("/")[1] in expired.value.message


@pytest.mark.parametrize(
    ("fail", "kind", "status"),
    [
        (Fail(429, retry_after=48), "ClientError", "RESOURCE_EXHAUSTED"),
        (Fail(503), "ServerError", "UNAVAILABLE"),
        (Fail(500), "ServerError", "INTERNAL"),
    ],
)
def test_failures_arrive_as_the_sdk_names_them(fail: Fail, kind: str, status: str) -> None:
    with checked_server() as server:
        server.script(fail)
        with pytest.raises(getattr(errors, kind)) as caught:
            run(server, lambda aio: aio.models.generate_content(model=MODEL, contents=[user("a")]))
    assert (caught.value.code, caught.value.status) == (fail.status, status)
    assert "retry-after" not in caught.value.response.headers
    assert ("retryDelay" in str(caught.value.details)) == (fail.retry_after is not None)


def test_refused_requests_and_keys_have_googles_own_shape() -> None:
    with StrictServer() as server:
        part = {"function_response": {"name": "add", "response": {}}}
        with pytest.raises(errors.ClientError, match="function response turn comes immediately after"):
            run(server, lambda aio: aio.models.generate_content(model=MODEL, contents=[user(part)]))
        assert [found.rule for found in server.take_violations()] == ["W-G2"]
        with pytest.raises(errors.ClientError, match="API key not valid") as caught:
            run(server, lambda aio: aio.models.generate_content(model=MODEL, contents=[user("a")]), key="invalid")
        assert "API_KEY_INVALID" in str(caught.value.details)
        assert server.violations == []


@pytest.mark.parametrize(
    ("ending", "raised"),
    [
        (Ending("drop"), "RemoteProtocolError"),
        (Ending("error"), "ServerError"),
        (Ending("no_terminal"), ""),
        (Ending("stall"), "ReadTimeout"),
    ],
)
def test_broken_streams_break_as_the_sdk_is_known_to(ending: Ending, raised: str) -> None:
    async def act(aio: Any) -> str:
        try:
            chunks = await streamed(aio, [user("a")])
        except (httpx2.HTTPError, errors.APIError) as error:
            return type(error).__name__
        assert chunks[-1].candidates[0].finish_reason is None
        return ""

    with checked_server() as server:
        server.script(answer("a text of some length", ending=ending))
        assert run(server, act, timeout=300 if ending.kind == "stall" else 5000) == raised
