"""Every way a Responses stream can end, and what becomes of it: an answer, a typed error, a closed connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.core.events import TextDelta
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import Meter, RequestFailedError
from doc_processing_toolkit.providers.openai import stream as stream_module
from support.strict import Call, Disconnect, Ending, Fail, Pace, Raw, StrictServer, Thinking, answer, checked_server
from unit.providers.openai.asking import ADD, MODEL, adapter_for, ask, call_of, events_of, reply_in, text_in, user


def failing(server: StrictServer, **more: Any) -> RequestFailedError:
    with pytest.raises(RequestFailedError) as caught:
        ask(server, call_of(**more))
    assert caught.value.provider == "openai"
    return caught.value


def test_an_answer_cut_off_by_the_limit_is_kept_and_taken_again() -> None:
    with checked_server() as server:
        server.script(answer("a long answer that", stop="max_tokens"), answer("bye"))
        [reply] = ask(server, call_of(tools=(ADD,), settings={"max_output_tokens": 16}))
        ask(server, call_of(user("q"), *reply.messages, user("bye"), tools=(ADD,)))
    assert (reply.stop_reason, reply.text) == ("max_tokens", "a long answer that")
    assert reply.messages[0]["status"] == "incomplete"


def test_reasoning_that_was_cut_off_is_not_stored() -> None:
    """W-O29: an incomplete reasoning item at the end would be refused in the next request."""
    with checked_server() as server:
        server.script(answer(Thinking("hm and hm"), stop="max_tokens"), answer("bye"))
        [reply] = ask(server, call_of(tools=(ADD,)))
        ask(server, call_of(user("q"), *reply.messages, user("bye"), tools=(ADD,)))
    assert reply.messages == ({"role": "assistant", "content": ""},)
    assert (reply.stop_reason, reply.text) == ("max_tokens", "")


def test_a_call_that_was_cut_off_is_not_asked_for() -> None:
    with checked_server() as server:
        server.script(answer("I add.", Call("add", '{"a": 1'), stop="max_tokens"))
        [reply] = ask(server, call_of(tools=(ADD,)))
    assert reply.calls == ()
    assert [item["type"] for item in reply.messages] == ["message"]


def test_a_filtered_answer_is_a_refusal() -> None:
    with checked_server() as server:
        server.script(answer("something", stop="content_filter"))
        [reply] = ask(server, call_of())
    assert (reply.stop_reason, reply.text) == ("refusal", "something")


def test_an_answer_without_items_is_an_empty_answer() -> None:
    with checked_server() as server:
        server.script(answer("x", stop="empty"), answer("bye"))
        [reply] = ask(server, call_of(tools=(ADD,)))
        ask(server, call_of(user("q"), *reply.messages, user("bye")))
    assert reply.messages == ({"role": "assistant", "content": ""},)


@pytest.mark.parametrize("kind", ["error", "error_flat", "failed"])
def test_an_error_inside_a_200_is_an_error_with_the_servers_words(kind: Any) -> None:
    ending = Ending(kind, code="server_error", message="the model fell over (sk-secret-key)")
    with checked_server() as server:
        server.script(answer("a text of some length", ending=ending))
        error = failing(server)
    assert error.is_retryable
    assert (error.code, error.status) == ("server_error", None)
    assert "the model fell over (…)" in str(error)


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("rate_limit_exceeded", True),
        ("server_is_overloaded", True),
        ("insufficient_quota", False),
        ("invalid_prompt", False),
    ],
)
@pytest.mark.parametrize("kind", ["error", "error_flat", "failed"])
def test_what_is_worth_another_try_is_known_by_the_code(kind: Any, code: str, retryable: bool) -> None:
    with checked_server() as server:
        server.script(answer("some text", ending=Ending(kind, code=code)))
        assert failing(server).is_retryable is retryable


def test_a_context_that_is_too_long_says_so_inside_a_stream_too() -> None:
    with checked_server() as server:
        server.script(answer("some text", ending=Ending("failed", code="context_length_exceeded", message="Too much.")))
        error = failing(server)
    assert "too long for GPT-6 Luna" in str(error)
    assert not error.is_retryable


@pytest.mark.parametrize("ending", [Ending("no_terminal"), Ending("truncate", after=5), Ending("truncate", after=0)])
def test_a_stream_without_its_terminal_event_is_no_answer(ending: Ending) -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=ending))
        error = failing(server)
    assert (error.code, error.is_retryable) == ("incomplete_stream", True)


def test_a_dropped_connection_is_an_error_that_can_be_mended() -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=Ending("drop")), Disconnect())
        for _ in range(2):
            error = failing(server)
            assert (error.code, error.is_retryable, error.status) == ("connection", True, None)


def test_a_server_that_is_not_there_is_named() -> None:
    with StrictServer() as server:
        adapter = adapter_for(server)
        server.close()
        with pytest.raises(
            RequestFailedError, match=r"the server at http://127\.0\.0\.1:\d+/openai/v1 cannot be reached"
        ) as caught:
            asyncio.run(events_of(adapter, call_of()))
    assert caught.value.code == "connection"


def test_silence_is_a_timeout() -> None:
    with checked_server() as server:
        server.script(answer("a text", ending=Ending("stall", after=3)))
        error = failing(server, read_timeout_s=0.2)
    assert (error.code, error.is_retryable) == ("timeout", True)


def test_a_line_that_is_no_json_is_an_error_and_not_a_crash() -> None:
    with checked_server() as server:
        server.script(answer("a text of some length", ending=Ending("garbage")))
        error = failing(server)
    assert (error.code, error.is_retryable) == ("unreadable_answer", True)


def test_a_line_without_end_is_given_up() -> None:
    with checked_server() as server:
        server.script(answer("a text", ending=Ending("huge_line", size=100_000_000)))
        started = time.monotonic()
        error = failing(server)
        assert time.monotonic() - started < 20
        [exchange] = server.settled()
    assert (error.code, error.is_retryable) == ("response_too_large", False)
    assert not exchange.complete


def test_a_stream_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "LONGEST_ANSWER_CHARACTERS", 20_000)
    with checked_server() as server:
        server.script(answer("a text", ending=Ending("endless")))
        error = failing(server)
        [exchange] = server.settled()
    assert (error.code, error.is_retryable) == ("unreadable_answer", False)
    assert "20,000 characters" in str(error)
    assert exchange.client_left_at is not None


def test_cancelling_closes_the_connection_at_the_server() -> None:
    async def main(adapter: Any) -> float:
        started = asyncio.Event()

        async def read() -> None:
            async with contextlib.aclosing(adapter.stream(call_of())) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        started.set()

        task = asyncio.ensure_future(read())
        await started.wait()
        task.cancel()
        cancelled_at = time.monotonic()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return cancelled_at

    with checked_server() as server:
        server.script(answer("a", ending=Ending("endless"), pace=Pace(gap_s=0.005)))
        cancelled_at = asyncio.run(main(adapter_for(server)))
        [exchange] = server.settled()
    assert exchange.client_left_at is not None
    assert exchange.client_left_at - cancelled_at < 0.1


def test_closing_the_stream_while_the_server_is_silent_closes_the_connection() -> None:
    async def main(adapter: Any) -> float:
        events = adapter.stream(call_of())
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.2)
        first.cancel()
        cancelled_at = time.monotonic()
        with contextlib.suppress(asyncio.CancelledError):
            await first
        await events.aclose()
        return cancelled_at

    with checked_server() as server:
        server.script(answer("a", pace=Pace(first_s=30)))
        cancelled_at = asyncio.run(main(adapter_for(server)))
        [exchange] = server.settled()
    assert exchange.client_left_at is not None
    assert exchange.client_left_at - cancelled_at < 0.1


def test_a_broken_request_is_metered_by_estimate() -> None:
    """A07: a stream that was closed early has its spend."""
    meter = Meter()
    with checked_server() as server:
        server.script(answer("some words of an answer", ending=Ending("drop", after=6)))
        with pytest.raises(RequestFailedError):
            ask(server, call_of(user("a question of eight words or so"), meter=meter, instructions="Be brief."))
    assert meter.usage.input_tokens > 5
    assert meter.usage.output_tokens >= 1


def test_a_refused_request_costs_nothing() -> None:
    meter = Meter()
    with checked_server() as server:
        server.script(Fail(500))
        failing(server, meter=meter)
    assert meter.usage == TokenUsage()


def test_an_answer_is_whole_although_the_server_never_hangs_up() -> None:
    """What comes after the terminal event is waited for only briefly."""
    body = b"".join(
        b"data: " + line + b"\n\n"
        for line in (
            b'{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}',
            b'{"type":"response.completed","response":{"status":"completed","model":"m","output":[{"type":"message",'
            b'"role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}}',
        )
    )
    with checked_server() as server:
        server.script(Raw(body + b": keep-alive\n\n" * 400, pace=Pace(gap_s=0.02)))
        started = time.monotonic()
        [reply] = ask(server, call_of())
    assert reply.text == "hi"
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "body", [b"", b"\n\n", b"<html>busy</html>", b"data: [1, 2]\n\ndata: 5\n\ndata: null\n\n", b'{"id": "resp_1"}']
)
def test_a_200_that_is_no_stream_is_no_answer(body: bytes) -> None:
    with checked_server() as server:
        server.script(Raw(body))
        assert failing(server).code in ("incomplete_stream", "unreadable_answer")


def test_bytes_that_are_no_text_are_an_error() -> None:
    with checked_server() as server:
        server.script(Raw(b'data: {"type": "\xff\xfe"}\n\n'))
        assert failing(server).code == "unreadable_answer"


def test_the_loop_stores_nothing_of_a_broken_turn() -> None:
    with checked_server() as server:
        server.script(answer("first"), answer("half", ending=Ending("truncate", after=6)))

        async def main() -> Any:
            session = Agent(MODEL, api_key="k", base_url=server.url("openai"), max_retries=0).session()
            await session.run("one")
            failed = await session.run("two")
            return session, failed

        session, failed = asyncio.run(main())
    assert failed.error is not None
    assert session.messages == [{"role": "user", "content": "one"}, {"role": "assistant", "content": "first"}]
    assert session.interrupted_turn["message"] == "two"


def test_a_comment_and_the_answer_after_it_are_kept_apart() -> None:
    def message(number: int, phase: str, text: str) -> str:
        content = [{"type": "output_text", "text": text}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "phase": phase, "content": content}
        return json.dumps(item)

    first, second = message(1, "commentary", "Let me see."), message(2, "final_answer", "Four.")
    lines = [
        f'{{"type":"response.output_item.added","output_index":0,"item":{first}}}',
        '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Let me see."}',
        f'{{"type":"response.output_item.added","output_index":1,"item":{second}}}',
        '{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"Four."}',
        f'{{"type":"response.completed","response":{{"status":"completed","output":[{first},{second}]}}}}',
    ]
    with checked_server() as server:
        server.script(Raw("".join(f"data: {line}\n\n" for line in lines).encode()))
        seen = asyncio.run(events_of(adapter_for(server), call_of(tools=(ADD,))))
    assert text_in(seen) == "Let me see.\n\nFour."
    assert reply_in(seen).text == "Four."
