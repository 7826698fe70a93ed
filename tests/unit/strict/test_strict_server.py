"""The strict server itself: scripts, records, connections, broken answers, another process."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.strict import (
    Answer,
    Call,
    Disconnect,
    Ending,
    Fail,
    Native,
    Pace,
    Raw,
    StrictProcess,
    StrictServer,
    Text,
    Thinking,
    Usage,
    answer,
    checked_server,
)
from support.strict.answers import Reply, from_json, to_json
from support.strict.routes import Route, route
from support.strict.signer import Signer

Body = dict[str, Any]
ASK: Body = {"model": "any", "messages": [{"role": "user", "content": "a"}]}
HEADERS = {"authorization": "Bearer k", "content-type": "application/json"}


@contextmanager
def connected(url: str) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)) as connection:
        yield connection


def post(
    url: str, body: Any = None, path: str = "/chat/completions", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    with connected(url) as connection:
        data = body if isinstance(body, bytes) else json.dumps(ASK if body is None else body)
        connection.request("POST", urlsplit(url).path + path, data, {**HEADERS, **headers})
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())


def text_of(data: bytes) -> str:
    return str(json.loads(data)["choices"][0]["message"]["content"])


def test_replies_come_in_order_by_server_by_wire_then_as_always() -> None:
    with checked_server() as server:
        local, other = server.url("compatible"), server.url("deepseek")
        server.script(answer("1"), answer("2"))
        server.script(answer("mine"), wire="deepseek")
        server.respond(lambda request: answer(request.model) if request.model == "named" else None)
        server.always(answer("standing"))
        said = [text_of(post(url)[1]) for url in (other, local, other, local)]
        said.append(text_of(post(local, {**ASK, "model": "named"})[1]))
    assert said == ["mine", "1", "2", "standing", "named"]


def test_a_request_that_nothing_was_scripted_for_fails_the_test() -> None:
    with StrictServer() as server:
        status, body, _ = post(server.url("compatible"))
        assert status == 500
        assert b"no reply is scripted" in body
        with pytest.raises(AssertionError, match="no reply is scripted"):
            server.assert_clean()


def test_a_reply_that_nobody_asked_for_fails_the_test() -> None:
    with StrictServer() as server:
        server.script(answer("a"))
        with pytest.raises(AssertionError, match="1 scripted replies"):
            server.assert_clean()


def test_a_refused_request_uses_up_no_reply() -> None:
    with StrictServer() as server:
        server.script(answer("a"))
        assert post(server.url("compatible"), {**ASK, "messages": []})[0] == 400
        assert text_of(post(server.url("compatible"))[1]) == "a"
        assert [found.rule for found in server.take_violations()] == ["W-F2"]
        assert server.violations == []


def test_without_checks_everything_is_taken() -> None:
    with StrictServer(checks=False) as server:
        server.always(answer("a"))
        assert post(server.url("compatible"), {"messages": "?"})[0] == 200


def test_a_missing_key_a_bad_address_and_a_body_that_is_no_json_are_refused() -> None:
    with StrictServer() as server:
        url = server.url("compatible")
        assert post(url, authorization="")[0] == 401
        assert post(url, path="/nowhere")[0] == 404
        assert post(url, b"{broken")[0] == 400
        assert [found.rule for found in server.violations] == ["W-O27", "W-F2"]


def test_one_connection_serves_many_requests_and_chunked_bodies() -> None:
    with checked_server() as server:
        server.always(answer("a"))
        with connected(server.url("compatible")) as connection:
            for _ in range(3):
                chunks = (part for part in (b'{"model": "any", "messages": ', b'[{"role": "user", "content": "a"}]}'))
                headers = {**HEADERS, "transfer-encoding": "chunked"}
                connection.request("POST", "/compatible/v1/chat/completions", chunks, headers, encode_chunked=True)
                assert text_of(connection.getresponse().read()) == "a"
            assert server.open_connections == 1
        server.wait_for(lambda: server.open_connections == 0)
        assert [exchange.complete for exchange in server.exchanges] == [True] * 3


def test_many_connections_are_served_side_by_side() -> None:
    with checked_server() as server:
        server.always(answer("a", pace=Pace(first_s=0.2)))
        started = time.monotonic()
        workers = [threading.Thread(target=post, args=(server.url("compatible"),)) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert time.monotonic() - started < 1.2
        assert len(server.settled()) == 8


def test_a_client_that_leaves_is_noticed_at_once_while_the_server_waits() -> None:
    with checked_server() as server:
        server.script(answer("a", pace=Pace(first_s=30)))
        with connected(server.url("compatible")) as connection:
            connection.request("POST", "/compatible/v1/chat/completions", json.dumps(ASK), HEADERS)
            server.wait_for(lambda: bool(server.exchanges))
        left = time.monotonic()
        exchange = server.settled()[0]
    assert exchange.client_left_at is not None
    assert exchange.client_left_at - left < 0.1
    assert exchange.status is None


def test_disconnects_drops_and_truncations_reach_the_client() -> None:
    with checked_server() as server:
        url = server.url("compatible")
        server.script(Disconnect())
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            post(url)
        server.script(answer("a text", ending=Ending("drop")))
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            post(url)
        server.script(
            answer("a text", ending=Ending("garbage")), answer("a text", ending=Ending("huge_line", size=1_000_000))
        )
        with pytest.raises(ValueError):
            json.loads(post(url)[1])
        assert len(post(url)[1]) > 1_000_000


def test_a_huge_line_is_one_line_of_that_size() -> None:
    with checked_server() as server:
        server.script(answer("a text", ending=Ending("huge_line", after=2, size=3_000_000)))
        lines = post(server.url("compatible"), {**ASK, "stream": True})[1].splitlines()
    assert 3_000_000 < max(map(len, lines)) < 3_001_000
    assert lines[-2] == b"data: [DONE]"


def test_a_slow_stream_is_slow_and_a_plain_503_is_plain() -> None:
    with checked_server() as server:
        server.script(
            answer("abcdef", pace=Pace(gap_s=0.02, piece=1)),
            Fail(503, plain=True),
            Fail(503, message="busy", plain=True),
        )
        started = time.monotonic()
        post(server.url("compatible"), {**ASK, "stream": True})
        assert time.monotonic() - started >= 0.16
        status, body, headers = post(server.url("compatible"))
        assert (status, headers["content-type"].split(";")[0]) == (503, "text/plain")
        assert body.startswith(b"upstream connect error")
        assert post(server.url("compatible"))[1] == b"busy"


def test_recorded_bodies_are_sent_as_they_are() -> None:
    recorded = b'data: {"a": 1}\n\ndata: [DONE]\n\n'
    with checked_server() as server:
        server.script(
            Raw(recorded), Raw(recorded, pace=Pace(gap_s=0.001)), Raw(b"<html>", 502, "text/html", (("x-a", "b"),))
        )
        assert [post(server.url("compatible"))[1] for _ in range(2)] == [recorded] * 2
        status, body, headers = post(server.url("compatible"))
    assert (status, body, headers["x-a"], headers["content-type"]) == (502, b"<html>", "b", "text/html")


def test_closing_the_server_ends_what_is_under_way() -> None:
    server = StrictServer()
    with server, connected(server.url("compatible")) as connection:
        server.script(answer("a", ending=Ending("stall", after=1)))
        connection.request("POST", "/compatible/v1/chat/completions", json.dumps({**ASK, "stream": True}), HEADERS)
        response = connection.getresponse()
        assert response.read(10)
        server.close()
        with pytest.raises((http.client.HTTPException, ConnectionError, socket.timeout)):
            response.read()
    assert not any(thread.name == "strict-server" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("POST", "/anthropic/v1/messages?beta=true", Route("anthropic", "generate", "anthropic")),
        ("POST", "/openai/v1/responses", Route("responses", "generate", "openai")),
        ("POST", "/fireworks/inference/v1/chat/completions", Route("chat", "generate", "fireworks")),
        ("POST", "/google/v1/models/m:streamGenerateContent", Route("google", "generate", "google", "m", stream=True)),
        ("POST", "/v1beta/models/a/b:countTokens", Route("google", "count_tokens", "google", "a/b")),
        ("POST", "/upload/v1beta/files?upload_id=7", Route("google", "upload", "google", upload_id="7")),
        ("GET", "/google/v1/files/x", Route("google", "get_file", "google", name="x")),
        ("GET", "/compatible/v1/models", Route("models", "models", "compatible")),
        ("PUT", "/openai/v1/responses", None),
        ("GET", "/", None),
    ],
)
def test_addresses_mean_what_they_say(method: str, target: str, expected: Route | None) -> None:
    assert route(method, target) == expected


REPLIES: list[Reply] = [
    answer(
        "a", Text("b", signed=True), Thinking("c", redacted=True), Call("d", {"e": [1, None]}), Native({"type": "x"})
    ),
    Answer((), stop="empty", usage=Usage(1, 2, 3), ending=Ending("drop", after=2), pace=Pace(0.1, 0.2, 3)),
    Fail(429, retry_after=1.5),
    Disconnect(),
    Raw(b"\xff\x00", headers=(("a", "b"),)),
]


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
def test_a_reply_crosses_to_another_process_unchanged(reply: Reply) -> None:
    assert from_json(json.loads(json.dumps(to_json(reply)))) == reply


def test_a_server_in_another_process_does_the_same() -> None:
    with StrictProcess() as server:
        url = server.url("compatible")
        server.script(answer("1"), Fail(503))
        server.always(answer("standing", Call("add", {"a": 1})))
        assert text_of(post(url)[1]) == "1"
        assert post(url)[0] == 503
        assert text_of(post(url)[1]) == "standing"
        server.assert_clean()
        assert [exchange.status for exchange in server.settled()] == [200, 503, 200]
        assert server.requests == [ASK] * 3
        assert post(url, {**ASK, "messages": []})[0] == 400
        assert [found.rule for found in server.violations] == ["W-F2"]
        with pytest.raises(AssertionError, match="W-F2"):
            server.assert_clean()
        server.reset()
        assert (server.violations, server.exchanges) == ([], [])
        server.wait_for(lambda: server.open_connections == 0)


def test_ids_and_tokens_are_readable_by_their_signer_only() -> None:
    signer, other = Signer(b"a"), Signer(b"b")
    token, mark = signer.seal({"a": "ü"}), signer.mark("toolu_", "0123456789ab", 3, "0f")
    assert signer.open(token) == signer.open(token.replace("+", "-").replace("/", "_").rstrip("=")) == {"a": "ü"}
    assert signer.read_mark("toolu_", mark) == ("0123456789ab", 3, "0f")
    assert (other.open(token), other.read_mark("toolu_", mark)) == (None, None)
    assert [signer.read_mark("toolu_", text) for text in ("", "toolu_", mark[:-1], mark[:-1] + "-")] == [None] * 4
    assert [signer.open(text) for text in ("", "%", "AAAA", token[4:], token[:-4])] == [None] * 5
