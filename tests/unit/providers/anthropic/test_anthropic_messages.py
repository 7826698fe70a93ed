"""What of a stored history goes out: everything but what the server refuses; pictures and sizes are checked first."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.providers.anthropic.messages import Omission, sent_messages, tokens_from
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.registry import find
from support.adapter_calls import adapter_of, ask, ask_once, call_of
from support.strict import WireRequest, answer, checked_server
from support.strict.anthropic import check

MODEL = "claude-haiku-4-5"
ROW = find(MODEL)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (8).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0").decode()
EMPTY = {"type": "text", "text": ""}
BLANK = {"type": "text", "text": " \n"}
CALL = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
NOTHING = Omission()


def picture(media_type: str = "image/png", data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def result(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ({"role": "user", "content": ""}, None),
        ({"role": "user", "content": "  "}, None),
        ({"role": "assistant", "content": []}, None),
        ({"role": "assistant", "content": None}, None),
        (assistant(EMPTY), None),
        (assistant(BLANK), None),
        (assistant(BLANK, EMPTY), None),
        (assistant(EMPTY, CALL), assistant(CALL)),
        (user(result([EMPTY, picture()])), user(result([picture()]))),
        (user(result([EMPTY])), user(result([]))),
        ({"role": "user", "content": "a", "name": "Bob"}, user("a")),
        ({**assistant(CALL), "id": "msg_1", "usage": None}, assistant(CALL)),
    ],
)
def test_what_the_server_refuses_is_left_out(message: dict[str, Any], sent: dict[str, Any] | None) -> None:
    assert sent_messages([message], ROW, NOTHING) == ([] if sent is None else [sent])


@pytest.mark.parametrize(
    "message",
    [
        user("a"),
        user(result("")),
        user(result([picture()]), {"type": "text", "text": "b"}),
        assistant({"type": "thinking", "thinking": "", "signature": "s"}, BLANK, CALL),
        assistant({"type": "telepathy", "waves": None}),
    ],
)
def test_what_the_server_takes_goes_out_as_the_same_object(message: dict[str, Any]) -> None:
    """C02: a history under `full` is sent as it is stored."""
    assert sent_messages([message], ROW, NOTHING)[0] is message


texts = st.text(alphabet=" \nab", max_size=3)
inner = st.builds(lambda text: {"type": "text", "text": text}, texts)
rounds = st.builds(
    lambda said, call, given: [assistant(*said, CALL), user(result(given))] if call else [assistant(*said)],
    st.lists(inner, max_size=3),
    st.booleans(),
    texts | st.lists(inner, max_size=3),
)
histories = st.lists(st.builds(lambda text, round_: [{"role": "user", "content": text}, *round_], texts, rounds))


@settings(deadline=None, max_examples=60)
@given(histories)
def test_no_history_with_empty_texts_is_refused(history: list[list[dict[str, Any]]]) -> None:
    messages = [*(message for turn in history for message in turn), user("the question")]
    sent = sent_messages(messages, ROW, NOTHING)
    body = {"model": MODEL, "max_tokens": 10, "messages": sent}
    assert [str(violation) for violation in check(WireRequest("anthropic", body, model=MODEL))] == []
    assert sent_messages(sent, ROW, NOTHING) == sent
    assert "".join(json.dumps(sent)).count("tool_use") == "".join(json.dumps(messages)).count("tool_use")


def test_bound_thinking_is_invalid_from_the_named_block_to_the_end_of_the_finished_turns() -> None:
    def thought(*tokens: str) -> dict[str, Any]:
        return assistant(*({"type": "thinking", "thinking": "", "signature": token} for token in tokens))

    open_round = [user("c"), assistant({"type": "redacted_thinking", "data": "5"}, CALL), user(result("3"))]
    messages = [user("a"), thought("1", "2"), user("b"), thought("3", "4"), *open_round]
    assert tokens_from(messages, 1, 1) == {"2", "3", "4"}
    assert tokens_from(messages, 3, 0) == {"3", "4"}
    assert tokens_from(messages, 5, 0) == {"5"}


def test_a_leading_system_message_becomes_part_of_the_system_prompt() -> None:
    system = {"role": "system", "content": "You are old."}
    with checked_server() as server:
        server.script(answer("ok"))
        ask_once(call_of(MODEL, system, "hi", instructions="Be brief."), server.url("anthropic"))
    assert server.requests[0]["system"] == "You are old.\n\nBe brief."
    assert server.requests[0]["messages"] == [user("hi")]


def test_pictures_and_pdfs_are_taken_also_inside_results() -> None:
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}}
    messages = [user(picture(), pdf, {"type": "text", "text": "?"}), assistant(CALL), user(result([picture()]))]
    with checked_server() as server:
        server.script(answer("ok"))
        assert ask_once(call_of(MODEL, *messages), server.url("anthropic")).text == "ok"


@pytest.mark.parametrize(
    ("messages", "code", "says"),
    [
        ([user(picture("image/tiff"))], "unsupported_media", "image/tiff; it takes JPEG, PNG, GIF and WebP"),
        ([user(picture(data="A" * 10485764))], "media_too_large", "7.5 MiB"),
        ([assistant(CALL), user(result([picture("image/bmp")]))], "unsupported_media", "image/bmp"),
        ([user({"type": "text", "text": "x" * 33_600_000})], "request_too_large", "takes 32 MiB; attach less"),
    ],
)
def test_what_would_be_refused_for_its_kind_or_size_is_not_sent(messages: Any, code: str, says: str) -> None:
    error = ask_once(call_of(MODEL, *messages), "http://127.0.0.1:9").error
    assert isinstance(error, RequestFailedError)
    assert (error.code, error.is_retryable) == (code, False)
    assert says in str(error)


def test_a_large_attachment_arrives_whole() -> None:
    data = PNG.rstrip("=")[:40] + "A" * 9_000_000
    with checked_server() as server:
        server.script(answer("ok"))
        assert ask_once(call_of(MODEL, user(picture(data=data))), server.url("anthropic")).text == "ok"
    assert server.requests[0]["messages"][0]["content"][0]["source"]["data"] == data


def test_many_requests_share_connections_safely() -> None:
    with checked_server() as server:
        server.always(answer("ok " * 50))
        call = call_of(MODEL, "hi")
        adapter = adapter_of(call, server.url("anthropic"))

        async def main() -> list[str]:
            return [outcome.text for outcome in await asyncio.gather(*(ask(adapter, call) for _ in range(12)))]

        assert asyncio.run(main()) == ["ok " * 50] * 12
        # Another loop gets clients of its own.
        assert asyncio.run(main()) == ["ok " * 50] * 12
        server.wait_for(lambda: server.open_connections == 0)
