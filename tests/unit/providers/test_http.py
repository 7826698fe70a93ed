"""The HTTP clients that adapters share: one per loop, closed with it, and what bounds a response."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from doc_processing_toolkit.providers import http, http_guard

pytest.importorskip("httpx2")
EVENTS, JSON = "text/event-stream; charset=utf-8", "application/json"


@contextmanager
def server_of(pieces: list[bytes], content_type: str = EVENTS) -> Iterator[str]:
    """Serve these pieces, each in a chunk of its own, to every request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for piece in [*pieces, b""]:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            """Tests need no access log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda request, address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("is_loopback", [True, False])
def test_a_loop_has_one_client_for_each_kind_of_address_and_closes_it_at_its_end(is_loopback: bool) -> None:
    async def main() -> object:
        first, second = await asyncio.gather(
            http.shared_client(is_loopback=is_loopback), http.shared_client(is_loopback=is_loopback)
        )
        other = await http.shared_client(is_loopback=not is_loopback)
        assert first is second
        assert first is not other
        assert (await first.get(address)).content == b"data: a\n\n"
        return first

    with server_of([b"data: a\n\n"]) as address:
        one, two = asyncio.run(main()), asyncio.run(main())
    assert one is not two
    assert one.is_closed  # type: ignore[attr-defined]
    assert two.is_closed  # type: ignore[attr-defined]
    assert not http._shared


def test_loops_in_other_threads_have_their_own_clients() -> None:
    found: list[object] = []

    def work() -> None:
        found.append(asyncio.run(http.shared_client(is_loopback=True, is_encrypted=False)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 4


def test_a_loop_that_was_closed_without_its_generators_is_forgotten() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(http.shared_client(is_loopback=True, is_encrypted=False))
    loop.close()
    asyncio.run(http.shared_client(is_loopback=True, is_encrypted=False))
    assert loop not in http._shared


def test_making_a_client_never_blocks_the_loop_with_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_tls", None)
    threads: list[int] = []
    httpx2 = sys.modules["httpx2"]
    make = httpx2.create_ssl_context

    def noted(*arguments: object, **named: object) -> object:
        threads.append(threading.get_ident())
        return make(*arguments, **named)

    monkeypatch.setattr(httpx2, "create_ssl_context", noted)

    async def main() -> None:
        await http.shared_client(is_loopback=True, is_encrypted=False)
        assert threads == []
        await http.shared_client(is_loopback=False)

    asyncio.run(main())
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_responses_are_kept_for_a_caller_who_asks() -> None:
    async def main() -> None:
        client = await http.shared_client(is_loopback=True, is_encrypted=False)
        with http.kept_responses() as kept:
            response = await client.send(client.build_request("GET", address), stream=True)
        await client.get(address)
        assert kept == [response]
        await kept[0].aclose()
        assert response.is_closed

    with server_of([b"data: a\n\n"] * 50) as address:
        asyncio.run(main())


@pytest.mark.parametrize(
    ("pieces", "content_type", "is_refused"),
    [
        ([b"x" * 600, b"x" * 600], EVENTS, True),
        ([b"data: " + b"x" * 600 + b"\n\n", b"x" * 600], EVENTS, False),
        ([b"data: " + b"x" * 600 + b"\n", b"\n", b"x" * 600], EVENTS, False),
        ([b"x" * 600 + b"\r\n\r", b"\n" + b"x" * 600], EVENTS, False),
        ([b"x" * 600 + b"\r\r", b"x" * 600], EVENTS, False),
        ([b"x" * 600 + b"\n"] * 3, EVENTS, True),
        ([b"x" * 600] * 3, JSON, False),
        ([b"x" * 600] * 9, JSON, True),
        ([b"data: x\n\n" * 100] * 9, EVENTS, True),
    ],
)
def test_an_event_or_a_body_without_end_is_broken_off(
    pieces: list[bytes], content_type: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_guard, "LONGEST_EVENT_BYTES", 1000)
    monkeypatch.setattr(http_guard, "LONGEST_BODY_BYTES", 5000)

    async def main() -> bytes | None:
        client = await http.shared_client(is_loopback=True, is_encrypted=False)
        try:
            return (await client.get(address)).content
        except http_guard.ResponseTooLargeError:
            return None

    with server_of(pieces, content_type) as address:
        body = asyncio.run(main())
    assert body == (None if is_refused else b"".join(pieces))
