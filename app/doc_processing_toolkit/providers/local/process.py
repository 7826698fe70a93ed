"""One llama.cpp server process, from the side that owns it: start, wait until it answers, end."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from doc_processing_toolkit.providers.local.failures import StartFailure, failed_start

# By its path: as a module it would load the whole toolkit first, a fifth of the time that a start takes.
SERVER_COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("server.py")))
_TAIL_BYTES = 16 * 1024
_FAREWELL_S = 2.0
_CONNECT_S = 0.05
_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server process is told, once, on its standard input. ``batch_tokens`` also sets how fine progress is."""

    model_path: str
    template: str
    context_tokens: int
    threads: int
    api_key: str = field(repr=False)
    batch_tokens: int = 64
    cache_mib: int = 512
    fit_to_memory: bool = False


class ServerProcess:
    """A server process that was started with ``settings``. Every method may be called from any thread."""

    def __init__(self, settings: ServerSettings, *, command: tuple[str, ...] = SERVER_COMMAND) -> None:
        """Start the process (blocking for some milliseconds). Raises ``ProviderError`` when it cannot be started."""
        self.settings = settings
        self.base_url = ""
        self._tail = bytearray()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                close_fds=True,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as exc:
            raise failed_start(StartFailure("spawn", exc.strerror or str(exc)), settings.model_path) from exc
        self._reader = threading.Thread(target=self._keep_tail, name="local-model-stderr", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The last of what the process has written to its log."""
        return self._tail.decode("utf-8", "replace")

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def is_answering(self) -> bool:
        """Whether the process runs and takes connections. One that is crashing runs on for a moment, but takes none."""
        try:
            with socket.create_connection(("127.0.0.1", urlsplit(self.base_url).port or 0), _CONNECT_S):
                return self.is_alive
        except OSError:
            return False

    def wait_ready(self, timeout_s: float) -> None:
        """Hand the settings over and wait until the server answers (blocking); sets ``base_url``.

        Raises ``ProviderError`` that says why the model could not be started; the process is gone then.
        """
        overdue = threading.Event()

        def give_up() -> None:
            overdue.set()
            self.kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.daemon = True
        timer.start()
        try:
            answer = self._converse()
        finally:
            timer.cancel()
        address = answer.get("ready")
        if isinstance(address, str) and address.startswith("http://127.0.0.1:"):
            self.base_url = f"{address}/v1"
            return
        # It is about to end by itself; what it still writes to its log says why.
        returncode = self.wait(_FAREWELL_S)
        if returncode is None:
            self.kill()
            self.wait()
        failure = StartFailure(
            reason="timeout" if overdue.is_set() else str(answer.get("failed") or "died"),
            detail=str(answer.get("detail") or ""),
            log=self.log,
            returncode=returncode,
            timeout_s=timeout_s,
        )
        raise failed_start(failure, self.settings.model_path)

    def kill(self) -> None:
        """End the process at once; returns immediately, whether it still runs or not."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def wait(self, timeout_s: float = 10.0) -> int | None:
        """Reap the killed process (blocking) and close its pipes; returns its exit code, ``None`` if it still runs."""
        try:
            returncode = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(timeout_s)
        self._close_pipes()
        return returncode

    def disown(self) -> None:
        """Forget the process, in a fork of its owner: its pipes close here, so that they end with the owner."""
        self._process.returncode = 0  # Popen neither waits for it nor kills it any more
        self._close_pipes()

    def _converse(self) -> dict[str, object]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return {}
        try:
            _write_all(stdin.fileno(), json.dumps(asdict(self.settings)).encode() + b"\n")
            answer = json.loads(_read_line(stdout.fileno()) or b"{}")
        except (OSError, ValueError, RecursionError):
            return {}
        return answer if isinstance(answer, dict) else {}

    def _keep_tail(self) -> None:
        stderr = self._process.stderr
        if stderr is None:
            return
        with contextlib.suppress(OSError, ValueError):
            while block := os.read(stderr.fileno(), 4096):
                self._tail += block
                del self._tail[:-_TAIL_BYTES]

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < _ANSWER_BYTES:
        block = os.read(descriptor, 4096)
        if not block:
            break
        line += block
    return line
