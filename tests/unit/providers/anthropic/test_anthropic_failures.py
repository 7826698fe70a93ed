"""What Anthropic's failures come to: refusals, broken and odd streams, cancellation. Nothing is left open."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.providers import http_guard
from doc_processing_toolkit.providers.base import RequestFailedError
from support.adapter_calls import adapter_of, ask, ask_once, call_of
from support.strict import Disconnect, Ending, Fail, Pace, Raw, StrictServer, answer, checked_server

MODEL = "claude-haiku-4-5"


def failure(server: StrictServer, **details: Any) -> RequestFailedError:
    error = ask_once(call_of(MODEL, "hi", **details), server.url("anthropic")).error
    assert isinstance(error, RequestFailedError), repr(error)
    assert error.provider == "anthropic"
    return error


@pytest.mark.parametrize(
    ("fail", "code", "retryable", "says"),
    [
        (Fail(400, "messages: odd"), "invalid_request_error", False, "messages: odd"),
        (Fail(401), "authentication_error", False, "ANTHROPIC_API_KEY"),
        (Fail(402), "billing_error", False, "settings/billing"),
        (Fail(403), "permission_error", False, "another key"),
        (Fail(404), "not_found_error", False, "check the model's name"),
        (Fail(409), "conflict_error", True, "409"),
        (Fail(413), "request_too_large", False, "attach less"),
        (Fail(429, retry_after=8), "rate_limit_error", True, "it asks to wait 8 s"),
        (Fail(429, should_retry=False), "rate_limit_error", False, "450,000 input tokens"),
        (Fail(500), "api_error", False, "Internal server error"),
        (Fail(503, plain=True, should_retry=True), "http_503", True, "upstream connect error"),
        (Fail(504), "timeout_error", False, "ask for less"),
        (Fail(529), "overloaded_error", True, "Overloaded"),
    ],
)
def test_each_refusal_has_its_code_the_servers_words_and_the_next_step(
    fail: Fail, code: str, retryable: bool, says: str
) -> None:
    """A09: what is retried is what the server's status and its `x-should-retry` say."""
    with checked_server() as server:
        server.script(fail)
        error = failure(server)
    assert (error.status, error.code, error.is_retryable, error.retry_after) == (
        fail.status,
        code,
        retryable,
        fail.retry_after,
    )
    assert says in str(error)


def test_a_spend_limit_is_not_retried() -> None:
    details = {"error_code": "enforced_spend_limit_reached"}
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "spent", "details": details}}
    with checked_server() as server:
        server.script(Raw(str(body).replace("'", '"').encode(), status=429, content_type="application/json"))
        error = failure(server)
    assert (error.code, error.is_retryable) == ("enforced_spend_limit_reached", False)


@pytest.mark.parametrize(
    ("header", "seconds"), [("Wed, 29 Nov 2000 12:00:00 GMT", 0.0), ("12.5", 12.5), ("soon", None)]
)
def test_a_retry_after_may_be_seconds_or_a_date(header: str, seconds: float | None) -> None:
    with checked_server() as server:
        server.script(Raw(b"{}", status=529, content_type="application/json", headers=(("retry-after", header),)))
        assert failure(server).retry_after == seconds


def test_a_prompt_that_is_too_long_is_told_apart() -> None:
    with checked_server() as server:
        server.script(Fail(400, "prompt is too long: 250000 tokens > 200000 maximum"))
        error = failure(server)
    assert (error.code, error.is_retryable) == ("context_length_exceeded", False)
    assert "go back to an earlier turn" in str(error)


def test_keys_never_stand_in_an_error() -> None:
    key = "sk-ant-api03-abc_DEF-123"
    with checked_server() as server:
        server.script(Fail(400, f"bad {key} and the-key-in-use"))
        outcome = ask_once(call_of(MODEL, "hi"), server.url("anthropic"), key="the-key-in-use")
    assert "bad … and …" in str(outcome.error)


@pytest.mark.parametrize(
    ("ending", "code", "retryable"),
    [
        (Ending("drop"), "connection", True),
        (Ending("truncate"), "incomplete_stream", True),
        (Ending("truncate", after=0), "incomplete_stream", True),
        (Ending("no_terminal"), "incomplete_stream", True),
        (Ending("error"), "overloaded_error", True),
        (Ending("error", code="api_error", message="Internal server error"), "api_error", True),
        (Ending("error", code="invalid_request_error", message="no"), "invalid_request_error", False),
        (Ending("garbage"), "invalid_stream", True),
    ],
)
def test_a_stream_that_ends_badly_is_an_error_and_never_an_answer(ending: Ending, code: str, retryable: bool) -> None:
    with checked_server() as server:
        server.script(answer("word " * 40, ending=ending))
        error = failure(server)
        server.settled()
    assert (error.code, error.is_retryable) == (code, retryable)


def test_a_stream_cut_just_before_its_terminal_event_is_incomplete() -> None:
    with checked_server() as server:
        # message_start, block start, ping, 1 delta, block stop, message_delta: only message_stop is missing.
        server.script(answer("short", ending=Ending("truncate", after=6)))
        error = failure(server)
    assert error.code == "incomplete_stream"


def test_a_silent_server_times_out() -> None:
    with checked_server() as server:
        server.script(answer("word " * 40, ending=Ending("stall")))
        error = failure(server, read_timeout_s=0.2)
        server.wait_for(lambda: server.open_connections == 0)
    assert (error.code, error.is_retryable) == ("timeout", True)


def test_a_server_that_hangs_up_or_is_not_there_is_a_connection_error() -> None:
    with checked_server() as server:
        server.script(Disconnect())
        assert (failure(server).code, failure_at("http://127.0.0.1:9").code) == ("connection", "connection")


def failure_at(address: str) -> RequestFailedError:
    error = ask_once(call_of(MODEL, "hi"), address).error
    assert isinstance(error, RequestFailedError)
    return error


def test_a_huge_event_is_broken_off_and_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "LONGEST_EVENT_BYTES", 1 << 20)
    with checked_server() as server:
        server.script(answer("word", ending=Ending("huge_line", size=100_000_000)))
        error = failure(server)
        server.settled()
        (exchange,) = server.exchanges
    assert (error.code, error.is_retryable) == ("response_too_large", False)
    assert exchange.client_left_at is not None


def test_an_endless_answer_is_broken_off_and_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doc_processing_toolkit.providers.anthropic.stream.LONGEST_ANSWER", 20_000)
    with checked_server() as server:
        server.script(answer("word", ending=Ending("endless")))
        error = failure(server)
        server.settled()
    assert (error.code, error.is_retryable) == ("response_too_large", False)


@pytest.mark.parametrize("moment", ["before the answer", "between deltas", "in the body of the loop"])
def test_cancelling_closes_the_connection_within_100_ms(moment: str) -> None:
    slow = Pace(first_s=30) if moment == "before the answer" else Pace(gap_s=0.01 if "body" in moment else 30)

    async def main(server: StrictServer) -> float:
        call = call_of(MODEL, "hi")
        adapter = adapter_of(call, server.url("anthropic"))
        if moment == "in the body of the loop":
            async with contextlib.aclosing(adapter.stream(call)) as events:
                async for _ in events:
                    break
                left_at = time.monotonic()
        else:
            task = asyncio.create_task(ask(adapter, call))
            # The first SDK import is slow, so the request is waited for first.
            while not server.exchanges:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            left_at = time.monotonic()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        while server.exchanges[0].client_left_at is None and time.monotonic() < left_at + 2:
            await asyncio.sleep(0.001)
        seen = server.exchanges[0].client_left_at
        assert seen is not None
        return seen - left_at

    with checked_server() as server:
        server.script(answer("word " * 200, pace=slow))
        assert asyncio.run(main(server)) < 0.1


def test_a_retry_is_counted_and_the_answer_is_whole() -> None:
    """A09: an overload and a dropped stream are sent again under `run()`."""
    with checked_server() as server:
        server.script(Fail(529, retry_after=0), answer("word " * 40, ending=Ending("drop")), answer("done"))
        result = asyncio.run(Agent(MODEL, api_key="k", base_url=server.url("anthropic")).run("hi"))
    assert (result.output, result.retry_count) == ("done", 2)
    assert [record.is_retry for record in result.cost_records] == [True, False]
