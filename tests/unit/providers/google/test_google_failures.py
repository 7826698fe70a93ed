"""How requests to Gemini end badly: typed errors with the next step, nothing half stored, no connection left open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import time
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import TextDelta
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import RequestFailedError
from support.adapter_calls import Outcome, adapter_of, ask_once, call_of
from support.strict import (
    Answer,
    Call,
    Disconnect,
    Ending,
    Fail,
    Pace,
    Raw,
    StrictServer,
    Text,
    Thinking,
    Usage,
    answer,
    checked_server,
)

NEW = "gemini-3.5-flash-lite"
KEY = "AIzaSyA-key-of-the-usual-length-0123456789"


def failed(server: StrictServer, *messages: Any, **details: Any) -> RequestFailedError:
    outcome = ask(server, *messages, **details)
    assert isinstance(outcome.error, RequestFailedError), repr(outcome)
    assert outcome.error.provider == "google"
    return outcome.error


def ask(server: StrictServer, *messages: Any, key: str = "k", **details: Any) -> Outcome:
    return ask_once(call_of(NEW, *(messages or ("hi",)), **details), server.url("google"), key)


def chunk(**candidate: Any) -> bytes:
    return f"data: {json.dumps({'candidates': [{'index': 0, **candidate}]})}\r\n\r\n".encode()


def ended(reason: str, *parts: Any, message: str = "") -> Raw:
    more = {"finishMessage": message} if message else {}
    content = {"parts": list(parts), "role": "model"} if parts else {"role": "model"}
    return Raw(chunk(content=content, finishReason=reason, **more))


@pytest.mark.parametrize(
    ("fail", "retryable", "code", "wait", "step"),
    [
        (Fail(429, retry_after=48), True, "RESOURCE_EXHAUSTED", 48.0, "asks to wait 48 s"),
        (Fail(429), True, "RESOURCE_EXHAUSTED", None, "wait a little"),
        (Fail(503), True, "UNAVAILABLE", None, "send again in a moment"),
        (Fail(500), True, "INTERNAL", None, "send again"),
        (Fail(504), True, "DEADLINE_EXCEEDED", None, "ask for less at once"),
        (Fail(403), False, "PERMISSION_DENIED", None, "another key"),
        (Fail(404, "models/x is not found"), False, "NOT_FOUND", None, "the model's name"),
        (Fail(400, "Please ensure that"), False, "INVALID_ARGUMENT", None, "Please ensure that"),
        (Fail(503, plain=True), True, "http_503", None, "upstream connect error"),
        (Fail(413, "Request payload size exceeds the limit: 1"), False, "request_too_large", None, "attach less"),
        (Fail(400, "The input token count (1250060) exceeds the maximum number of tokens allowed (1048575)."),
         False, "context_length_exceeded", None, "go back to an earlier turn"),
        (Fail(400, "Function call is missing a thought_signature in functionCall parts."),
         False, "thought_signature", None, "new conversation"),
        (Fail(403, "You do not have permission to access the File abc or it may not exist."),
         False, "file_unavailable", None, "attach it again"),
        (Fail(400, "The File files/abc is not in an ACTIVE state and usage is not allowed."),
         False, "file_unavailable", None, "attach it again"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_it_is_and_what_next(fail: Fail, retryable: bool, code: str, wait: Any, step: str) -> None:
    with checked_server() as server:
        server.script(fail)
        error = failed(server)
    assert (error.status, error.is_retryable, error.code, error.retry_after) == (fail.status, retryable, code, wait)
    assert step in str(error)


def test_a_bad_key_names_the_variable_and_is_never_quoted() -> None:
    with checked_server() as server:
        server.script(Fail(400, f"API key {KEY} not valid, see https://x/?key={KEY}&a=1 or AIza{'0' * 35}"))
        error = failed(server, key=KEY)
        bad = failed(server, key="invalid")
    assert KEY not in str(error)
    assert "AIza" not in str(error)
    assert (bad.code, bad.is_retryable) == ("API_KEY_INVALID", False)
    assert "GEMINI_API_KEY" in str(bad)


def test_a_quota_of_the_day_is_not_waited_for() -> None:
    quota = {
        "@type": "x/QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
    }
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [quota]}}
    with checked_server() as server:
        server.script(Raw(json.dumps(body).encode(), 429, "application/json"))
        error = failed(server)
    assert not error.is_retryable
    assert "tomorrow" in str(error)


@pytest.mark.parametrize(
    ("details", "headers", "wait"),
    [
        ([{"@type": "x/RetryInfo", "retryDelay": "48.9s"}], (), 48.9),
        ([], (("retry-after", "7"),), 7.0),
        ([{"@type": "x/RetryInfo", "retryDelay": "odd"}], (), None),
    ],
)
def test_the_wait_that_is_asked_for_is_found_in_body_and_header(details: Any, headers: Any, wait: Any) -> None:
    body = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": details}}
    with checked_server() as server:
        server.script(Raw(json.dumps(body).encode(), 429, "application/json", headers))
        assert failed(server).retry_after == wait


@pytest.mark.parametrize(
    "body", ["[]", '"odd"', "7", "null", '{"error": "odd"}', "[1, 2]", '{"error": [1]}', "", "<html>"]
)
@pytest.mark.parametrize("status", [400, 503])
def test_an_error_body_of_any_shape_is_a_typed_error(body: str, status: int) -> None:
    with checked_server() as server:
        server.script(Raw(body.encode(), status, "application/json"))
        error = failed(server)
    assert error.code
    assert error.status in (status, None)


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>not an API</body></html>",
        b"data: [1, 2]\n\n",
        b'data: "odd"\n\n',
        b"data: {\n\n",
        b'data: {"candidates": "odd"}\n\n',
        b'data: {"candidates": [{"content": {"parts": ["odd", null, 5]}}]}\n\n',
        b"\xff\xfe\x00",
        b"",
        b"\n\n\n",
        b"data:\n\n",
        b": a comment\n\nevent: x\n\n",
    ],
)
def test_an_answer_that_is_none_is_a_typed_error(body: bytes) -> None:
    with checked_server() as server:
        server.script(Raw(body))
        assert failed(server).code in ("unreadable_answer", "incomplete_stream")


def test_an_error_that_comes_as_plain_json_inside_a_200_is_read() -> None:
    body = json.dumps({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, indent=1)
    with checked_server() as server:
        for sent in (body, f"[{body}]", f"data: {json.dumps(json.loads(body))}\n\n"):
            server.script(Raw(sent.encode()))
            error = failed(server)
            assert (error.status, error.code, error.is_retryable) == (503, "UNAVAILABLE", True)
            assert "overloaded" in str(error)


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_events_are_read_whatever_ends_a_line_and_wherever_they_are_cut(separator: str, size: int) -> None:
    from doc_processing_toolkit.providers.google.events import events

    text = "".join(f'data: {{"n": {n},{separator}data: "t": "\u2028ü"}}{separator}{separator}' for n in range(3))
    body = (f": hello{separator}" + text).encode() + b'data: {"n": 3}'

    class Response:
        async def aiter_bytes(self) -> Any:
            for start in range(0, len(body), size):
                yield body[start : start + size]

    async def main() -> list[Any]:
        return [value async for value in events(Response())]  # type: ignore[arg-type]

    assert asyncio.run(main()) == [*({"n": n, "t": "\u2028ü"} for n in range(3)), {"n": 3}]


@pytest.mark.parametrize(
    ("reason", "retryable", "says"),
    [
        ("MALFORMED_FUNCTION_CALL", True, "tool call that cannot be read"),
        ("UNEXPECTED_TOOL_CALL", True, "not given"),
        ("MALFORMED_RESPONSE", True, "cannot be read"),
        ("CONTINUATION", True, "in the middle"),
        ("TOO_MANY_TOOL_CALLS", False, "too many tools"),
        ("MISSING_THOUGHT_SIGNATURE", False, "thought signature"),
        ("SAFETY", False, "may be harmful"),
        ("RECITATION", False, "recite"),
        ("PROHIBITED_CONTENT", False, "prohibited"),
        ("BLOCKLIST", False, "blocked word"),
        ("SPII", False, "personal data"),
        ("MAX_TOKENS", False, "raise max_output_tokens"),
        ("STOP", True, "empty answer"),
        ("OTHER", True, "empty answer"),
        ("SOMETHING_OF_TOMORROW", False, "SOMETHING_OF_TOMORROW"),
    ],
)
@pytest.mark.parametrize("thinks", [False, True])
def test_a_finish_reason_without_an_answer_is_an_error(reason: str, retryable: bool, says: str, thinks: bool) -> None:
    """W-G31: such an answer must not be stored; the request after it would be refused."""
    parts = [{"text": "hm", "thought": True}] if thinks else []
    with checked_server() as server:
        server.script(ended(reason, *parts, message="the server's words"))
        error = failed(server)
    assert error.is_retryable is retryable
    assert error.code in (reason, "empty_answer")
    assert says in str(error)
    assert "the server's words" in str(error)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("SAFETY", "refusal"), ("RECITATION", "refusal"), ("MAX_TOKENS", "max_tokens"), ("STOP", "end_turn"),
     ("OTHER", "OTHER"), ("SOMETHING_OF_TOMORROW", "SOMETHING_OF_TOMORROW")],
)  # fmt: skip
def test_what_was_said_before_an_ending_is_kept(reason: str, stop: str) -> None:
    with checked_server() as server:
        server.script(ended(reason, {"text": "so far"}))
        reply = ask(server).answered
    assert (reply.text, reply.stop_reason) == ("so far", stop)


def test_a_call_beside_an_unreadable_one_is_not_run() -> None:
    with checked_server() as server:
        server.script(ended("MALFORMED_FUNCTION_CALL", {"functionCall": {"name": "add", "args": {}}}))
        assert failed(server).code == "MALFORMED_FUNCTION_CALL"


@pytest.mark.parametrize("stop", ["malformed_call", "content_filter", "recitation", "empty", "prompt_blocked"])
def test_after_an_answer_without_content_the_conversation_goes_on(stop: Any) -> None:
    with checked_server() as server:
        server.script(answer("a", stop=stop), answer("fine"))
        session = Agent(NEW, api_key="k", base_url=server.url("google"), max_retries=0).session()

        async def main() -> tuple[Any, Any]:
            return await session.run("first"), await session.run("second")

        first, second = asyncio.run(main())
    assert first.error is not None
    assert first.output is None
    assert (second.output, second.error) == ("fine", None)
    assert "first" not in json.dumps(session.messages)


def test_a_blocked_prompt_says_why() -> None:
    with checked_server() as server:
        server.script(answer("a", stop="prompt_blocked", usage=Usage(50, 0)))
        outcome = ask(server)
    assert isinstance(outcome.error, RequestFailedError)
    assert (outcome.error.code, outcome.error.is_retryable) == ("PROHIBITED_CONTENT", False)
    assert outcome.meter.usage.input_tokens == 50


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (Ending("drop", 2), "connection"),
        (Ending("truncate", 2), "incomplete_stream"),
        (Ending("no_terminal"), "incomplete_stream"),
        (Ending("error", 2), "UNAVAILABLE"),
        (Ending("garbage", 2), "unreadable_answer"),
        (Ending("stall", 2), "timeout"),
    ],
)
def test_a_stream_that_breaks_is_a_retryable_error_with_what_it_has_cost(ending: Ending, code: str) -> None:
    with checked_server() as server:
        usage = Usage(input=100, output=10)
        server.script(answer("a text of some length, in pieces", ending=ending, usage=usage))
        outcome = ask(server, read_timeout_s=0.5 if ending.kind == "stall" else 5.0)
        server.settled()
    assert isinstance(outcome.error, RequestFailedError)
    assert (outcome.error.code, outcome.error.is_retryable) == (code, True)
    assert outcome.text.startswith("a text of so")
    assert outcome.meter.usage == TokenUsage(100, 10)


def test_a_broken_stream_without_an_account_is_estimated() -> None:
    with checked_server() as server:
        server.script(Raw(chunk(content={"parts": [{"text": "x" * 400}]})))
        outcome = ask(server)
    assert outcome.meter.usage.output_tokens == 100


def test_a_server_that_hangs_up_or_is_not_there_is_a_connection_error() -> None:
    with checked_server() as server:
        server.script(Disconnect())
        assert (failed(server).code, failed_at("http://127.0.0.1:9/google").code) == ("connection", "connection")


def failed_at(url: str) -> RequestFailedError:
    outcome = ask_once(call_of(NEW, "hi"), url)
    assert isinstance(outcome.error, RequestFailedError)
    return outcome.error


def test_a_line_of_100_mb_is_cut_off_and_not_asked_for_again() -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=Ending("huge_line", 1)))
        error = failed(server, read_timeout_s=60.0)
        server.settled()
    assert (error.code, error.is_retryable) == ("response_too_large", False)


def test_an_answer_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.google.stream.LONGEST_ANSWER", 1000)
    with checked_server() as server:
        server.script(answer("words", ending=Ending("endless", 1)))
        error = failed(server)
        server.wait_for(lambda: server.open_connections == 0)
    assert (error.code, error.is_retryable) == ("unreadable_answer", False)
    assert "1,000 characters" in str(error)


def test_calls_without_end_are_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.google.stream.LONGEST_ANSWER", 1000)
    call = chunk(content={"parts": [{"functionCall": {"name": "add", "args": {"a": "x" * 100}}}]})
    with checked_server() as server:
        server.script(Raw(call * 50))
        assert not failed(server).is_retryable


@pytest.mark.parametrize("how", ["cancel in the body", "cancel while waiting", "aclose", "before the headers"])
def test_a_stream_that_is_left_is_closed_on_the_servers_side_within_100_ms(how: str) -> None:
    with checked_server() as server:
        first = Pace(first_s=10.0) if how == "before the headers" else Pace(gap_s=0.02)
        ending = Ending() if how == "before the headers" else Ending("endless", 1)
        server.script(Answer((Text("words and words"),), pace=first, ending=ending))

        async def main() -> float:
            call = call_of(NEW, "hi")
            adapter = adapter_of(call, server.url("google"))
            started = asyncio.Event()

            async def read() -> None:
                async with contextlib.aclosing(adapter.stream(call)) as events:
                    async for event in events:
                        assert isinstance(event, TextDelta)
                        started.set()
                        if how == "aclose":
                            return
                        if how == "cancel in the body":
                            await asyncio.sleep(10)

            task = asyncio.ensure_future(read())
            if how == "before the headers":
                while not server.exchanges:
                    await asyncio.sleep(0.01)
            else:
                await started.wait()
            left = time.monotonic()
            if how != "aclose":
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            while not server.exchanges[0].client_left_at:
                assert time.monotonic() < left + 5
                await asyncio.sleep(0.005)
            return server.exchanges[0].client_left_at - left

        assert asyncio.run(main()) < 0.1
        server.wait_for(lambda: server.open_connections == 0)
    gc.collect()


def test_an_answered_request_leaves_its_connection_to_the_next() -> None:
    with checked_server() as server:
        server.always(answer("ok"))

        async def main() -> None:
            call = call_of(NEW, "hi")
            adapter = adapter_of(call, server.url("google"))
            for _ in range(3):
                async with contextlib.aclosing(adapter.stream(call)) as events:
                    assert [type(event).__name__ async for event in events][-1] == "Reply"
            assert len(asyncio.all_tasks()) == 1

        asyncio.run(main())
        server.wait_for(lambda: server.open_connections == 0)


def test_a_failed_request_is_sent_again_by_the_agent_and_billed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.retry.FIRST_DELAY_S", 0.01)
    with checked_server() as server:
        broken = answer("half an answer, to begin with", ending=Ending("no_terminal"), usage=Usage(40, 4))
        server.script(Fail(503), broken, answer(Thinking("hm"), "whole", usage=Usage(40, 10)))
        result = asyncio.run(Agent(NEW, api_key="k", base_url=server.url("google")).run("hi"))
    assert (result.output, result.error, result.retry_count) == ("whole", None, 2)
    assert (result.input_tokens, result.output_tokens) == (80, 14)


def test_a_tool_round_after_a_broken_request_is_whole() -> None:
    def add(a: int) -> int:
        return a

    with checked_server() as server:
        server.script(
            answer(Call("add", {"a": 1})), answer("x", ending=Ending("drop", 0)), answer(Call("add", {"a": 2}))
        )
        server.script(answer("done"))
        result = asyncio.run(Agent(NEW, api_key="k", base_url=server.url("google"), tools=[add]).run("hi"))
    assert result.output == "done"


def test_a_missing_http_client_of_the_environment_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    outcome = ask_once(call_of(NEW, "hi"), "http://127.0.0.1:9/google")
    assert isinstance(outcome.error, ProviderError)
    assert "GOOGLE_GENAI_HTTP_CLIENT" in str(outcome.error)
