"""The strict server as a test uses it: in a thread of its own, on a free loopback port."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from support.strict.answers import Reply
from support.strict.connection import Connection
from support.strict.google.files import FileStore
from support.strict.routes import BASES
from support.strict.rule import Json, Violation
from support.strict.serving import Serving
from support.strict.signer import Signer
from support.strict.state import Exchange, Responder, State

_LOOPBACK = "127.0.0.1"


class StrictServer:
    """A loopback server for the four APIs that refuses what the real ones refuse.

    Use it as a context manager. `script` the replies, give `url(name)` to the client, then read `violations`,
    `exchanges` and `requests`. Two servers with one `secret` accept each other's signatures and ids.
    """

    def __init__(self, *, checks: bool = True, secret: bytes | None = None, keep_bodies: bool = True) -> None:
        signer = Signer() if secret is None else Signer(secret)
        self.state = State(signer=signer, checks=checks, keep_bodies=keep_bodies)
        self._connections: set[Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="strict-server", daemon=True)
        self._stop: asyncio.Event | None = None
        self.port = 0

    def __enter__(self) -> StrictServer:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the strict server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every connection and the thread."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    def url(self, name: str) -> str:
        """Return the base address for `anthropic`, `openai`, `google`, `fireworks`, `deepseek` or `compatible`."""
        return f"{self.state.base_url}{BASES[name]}"

    def script(self, *replies: Reply, wire: str = "") -> None:
        """Queue replies, for any request, or for one wire or server (`wire="anthropic"`, `"fireworks"`, …)."""
        with self.state.lock:
            self.state.script.queues.setdefault(wire, deque()).extend(replies)

    def always(self, reply: Reply, wire: str = "") -> None:
        """Give this reply whenever nothing is queued."""
        with self.state.lock:
            self.state.script.standing[wire] = reply

    def respond(self, responder: Responder, wire: str = "") -> None:
        """Ask this function (in the server's thread) when nothing is queued; `None` passes on to `always`."""
        with self.state.lock:
            self.state.script.responders[wire] = responder

    @property
    def violations(self) -> list[Violation]:
        """Every rule broken so far; a test asserts that it is empty."""
        with self.state.lock:
            return list(self.state.violations)

    @property
    def warnings(self) -> list[Violation]:
        """What was taken although a careful client would not have sent it."""
        with self.state.lock:
            return list(self.state.warnings)

    def take_violations(self) -> list[Violation]:
        """Return the violations and forget them, for tests that provoke some."""
        with self.state.lock:
            found, self.state.violations = self.state.violations, []
        return found

    @property
    def exchanges(self) -> list[Exchange]:
        """Every exchange so far, files and token counts included."""
        with self.state.lock:
            return list(self.state.exchanges)

    @property
    def requests(self) -> list[Json]:
        """The bodies of the generation requests, in order."""
        return [exchange.body for exchange in self.exchanges if exchange.request.operation == "generate"]

    @property
    def files(self) -> FileStore:
        """The uploads of the Files API: make them expire, or stay PROCESSING."""
        return self.state.files

    @property
    def open_connections(self) -> int:
        """How many connections clients hold open right now."""
        return len(self._connections)

    def models(self, name: str, rows: list[Json]) -> None:
        """Set what `GET …/models` lists for one server."""
        self.state.models[name] = rows

    def settled(self, timeout: float = 5.0) -> list[Exchange]:
        """Wait until no exchange is under way and return all of them."""
        self.wait_for(lambda: all(exchange.finished_at is not None for exchange in self.exchanges), timeout)
        return self.exchanges

    def wait_for(self, condition: Callable[[], bool], timeout: float = 5.0) -> None:
        """Wait until a condition on the server's records holds; `TimeoutError` where it does not in time."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError("the strict server did not get there in time")
            time.sleep(0.002)

    def assert_clean(self) -> None:
        """Fail with every violation, and with replies that nobody asked for."""
        assert not self.violations, "\n".join(["the server refused requests:", *map(str, self.violations)])
        left = self.state.script.left
        assert not left, f"{left} scripted replies were not asked for"

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        serving = Serving(self.state, self._connections)
        server = await self._loop.create_server(
            lambda: Connection(serving.serve, self._connections), _LOOPBACK, self.port
        )
        self.port = server.sockets[0].getsockname()[1]
        self.state.base_url = f"http://{_LOOPBACK}:{self.port}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in list(self._connections):
            connection.stop()
        await asyncio.sleep(0)


@contextmanager
def checked_server(*, secret: bytes | None = None) -> Iterator[StrictServer]:
    """Run a server for a `with` block and fail at its end on any violation or unused reply."""
    with StrictServer(secret=secret) as server:
        yield server
        server.assert_clean()
