"""The strict server in another process, for benchmarks: its CPU time and its interpreter are not the client's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from support.strict.answers import Reply, to_json
from support.strict.control import PREFIX, read_exchange, read_violation
from support.strict.routes import BASES
from support.strict.rule import Json, Violation
from support.strict.state import Exchange

_TESTS = Path(__file__).resolve().parents[2]


class StrictProcess:
    """A `StrictServer` in a child process, with the same face as far as plain data can cross.

    There is no `respond`, and the records are copies, taken when they are asked for.
    """

    def __init__(self, *, checks: bool = True, keep_bodies: bool = True) -> None:
        self._settings = {"checks": checks, "keep_bodies": keep_bodies}
        self._child: subprocess.Popen[bytes] | None = None
        self._base = ""

    def __enter__(self) -> StrictProcess:
        path = os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "support.strict"]
        environment = {**os.environ, "PYTHONPATH": path}
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert self._child.stdout is not None
        line = self._child.stdout.readline().decode().strip()
        if not line.startswith("http://"):
            self.close()
            raise RuntimeError("the strict server's process did not start")
        self._base = line
        self._ask("settings", self._settings)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child: it leaves when its standard input ends."""
        if self._child is None:
            return
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        try:
            self._child.wait(5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child.stdout.close()

    @property
    def pid(self) -> int:
        """The child's process id."""
        assert self._child is not None
        return self._child.pid

    def url(self, name: str) -> str:
        """Return the base address, as `StrictServer.url` does."""
        return f"{self._base}{BASES[name]}"

    def script(self, *replies: Reply, wire: str = "") -> None:
        """Queue replies."""
        self._ask("script", {"replies": [to_json(reply) for reply in replies], "wire": wire})

    def always(self, reply: Reply, wire: str = "") -> None:
        """Give this reply whenever nothing is queued."""
        self._ask("always", {"reply": to_json(reply), "wire": wire})

    def models(self, name: str, rows: list[Json]) -> None:
        """Set what `GET …/models` lists for one server."""
        self._ask("models", {"name": name, "rows": rows})

    def expire_files(self, name: str | None = None) -> None:
        """Let one uploaded file, or every one, be past its 48 hours."""
        self._ask("expire", {"name": name})

    def reset(self) -> None:
        """Forget the script and the records."""
        self._ask("reset", {})

    @property
    def violations(self) -> list[Violation]:
        """Every rule broken since the start or the last `reset`."""
        return [read_violation(row) for row in self._report()["violations"]]

    @property
    def warnings(self) -> list[Violation]:
        """What was taken although a careful client would not have sent it."""
        return [read_violation(row) for row in self._report()["warnings"]]

    @property
    def exchanges(self) -> list[Exchange]:
        """Every exchange since the start or the last `reset`."""
        return [read_exchange(row) for row in self._report(bodies=True)["exchanges"]]

    @property
    def requests(self) -> list[Json]:
        """The bodies of the generation requests, in order."""
        return [exchange.body for exchange in self.exchanges if exchange.request.operation == "generate"]

    @property
    def open_connections(self) -> int:
        """How many connections clients hold open, the one that asks not counted."""
        return int(self._report()["open_connections"]) - 1

    def settled(self, timeout: float = 5.0) -> list[Exchange]:
        """Wait until no exchange is under way and return all of them."""
        self.wait_for(lambda: all(row["finished_at"] is not None for row in self._report()["exchanges"]), timeout)
        return self.exchanges

    def wait_for(self, condition: Callable[[], bool], timeout: float = 5.0) -> None:
        """Wait until a condition holds; `TimeoutError` where it does not in time."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError("the strict server did not get there in time")
            time.sleep(0.01)

    def assert_clean(self) -> None:
        """Fail with every violation, and with replies that nobody asked for."""
        report = self._report()
        broken = [str(read_violation(row)) for row in report["violations"]]
        assert not broken, "\n".join(["the server refused requests:", *broken])
        assert not report["left"], f"{report['left']} scripted replies were not asked for"

    def _report(self, *, bodies: bool = False) -> Json:
        return self._ask("report", {"bodies": bodies})

    def _ask(self, action: str, body: Any) -> Json:
        data = json.dumps({"bodies": False, **body}).encode()
        request = urllib.request.Request(f"{self._base}{PREFIX}{action}", data, {"connection": "close"})
        # An empty handler: a proxy of the environment must not stand between a test and the loopback.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            report: Json = json.loads(answer.read())
        return report
