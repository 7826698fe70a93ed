"""One worker process from start to end, driven from a thread; it may be stopped from any other at any moment."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, Literal, cast

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents.document import DocumentText
from doc_processing_toolkit.documents.endings import explain_ending, fault, timed_out
from doc_processing_toolkit.documents.limits import ExtractionProgress
from doc_processing_toolkit.documents.protocol import (
    LONGEST_LINE,
    PIECE_BYTES,
    Message,
    ProtocolError,
    Request,
    decode_message,
    write_request,
)

log = logging.getLogger(__name__)

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker_main.py")
_PIPE_BUFFER = 256 << 10


class WorkerProcess:
    """Reads one document in a process of its own. ``run`` blocks; ``stop`` does not and may come before it."""

    def __init__(
        self, request: Request, octets: bytes | None, on_progress: Callable[[ExtractionProgress], None]
    ) -> None:
        self._request = request
        self._octets = octets
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped: Literal["", "stopped", "timeout"] = ""

    def run(self) -> DocumentText:
        """Return the document. When this returns or raises, the process is gone and reaped.

        Raises ``DocumentError``, with ``worker_died`` after ``stop``.
        """
        watchdog = threading.Timer(self._request.seconds, self._end, ("timeout",))
        watchdog.daemon = True
        watchdog.start()
        try:
            process = self._started()
            try:
                return self._converse(process)
            finally:
                _dispose(process)
        finally:
            watchdog.cancel()

    def stop(self) -> None:
        """Kill the process, or keep it from starting."""
        self._end("stopped")

    def _end(self, reason: Literal["stopped", "timeout"]) -> None:
        with self._lock:
            self._stopped = self._stopped or reason
            if self._process:
                self._process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise self._explain(None, b"")
            try:
                self._process = _spawn()
            except OSError as exc:
                raise fault(self._request.name, f"it cannot be started: {exc.strerror}") from exc
            return self._process

    def _converse(self, process: subprocess.Popen[bytes]) -> DocumentText:
        inlet, outlet, errors = (cast("IO[bytes]", pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        # The worker may refuse before it has read everything; what it says about that comes below. The pipe stays
        # open: the worker lives as long as it does.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(inlet)
        try:
            answer = self._receive(outlet)
        except ProtocolError as exc:
            if self._stopped:
                # It was killed in the middle of a line.
                raise self._explain(process.wait(), b"") from exc
            raise fault(self._request.name, f"its answer makes no sense: {exc}") from exc
        if answer is None:
            raise self._explain(process.wait(), errors.read())
        return answer

    def _send(self, inlet: IO[bytes]) -> None:
        write_request(inlet, self._request)
        if self._octets is not None:
            octets = memoryview(self._octets)
            for start in range(0, len(octets), PIECE_BYTES):
                inlet.write(octets[start : start + PIECE_BYTES])
            inlet.flush()

    def _receive(self, outlet: IO[bytes]) -> DocumentText | None:
        """Return the document once it is complete, ``None`` when the worker ends without one."""
        collected = _Collected(self._request)
        while line := outlet.readline(LONGEST_LINE):
            message = decode_message(line)
            match message["type"]:
                case "progress":
                    self._on_progress(_progress_of(message))
                case "error":
                    raise DocumentError(message["message"], code=message["code"], name=self._request.name)
                case "fault":
                    raise fault(self._request.name, str(message.get("detail")))
                case "done":
                    return collected.document(message)
                case _:
                    collected.add(message)
        return None

    def _explain(self, exit_code: int | None, errors: bytes) -> DocumentError:
        if self._stopped == "timeout":
            return timed_out(self._request.name, self._request.seconds)
        if self._stopped:
            return DocumentError("Reading was stopped.", code="worker_died", name=self._request.name)
        return explain_ending(self._request, exit_code, errors)


class _Collected:
    """What has come of the document so far."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._pieces: list[str] = []
        self._characters = 0
        self._sections: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        """Keep a piece of text or a section; ``ProtocolError`` when it is more than was asked for."""
        match message:
            case {"type": "text", "text": str(text)}:
                self._pieces.append(text)
                self._characters += len(text)
            case {"type": "section", "label": str(label), "start": int(start), "end": int(end)}:
                self._sections.append({"label": label, "start": start, "end": end})
            case {"type": "ready", "memory_limit": limit}:
                if limit != "enforced":
                    log.info("this system cannot limit a process's memory; the reader watches its own instead")
            case _:
                raise ProtocolError(f"an unknown message {message['type']!r:.40}")
        if self._characters > self._request.characters or len(self._sections) > self._request.pages:
            raise ProtocolError("more than was asked for")

    def document(self, message: Message) -> DocumentText:
        """Return the whole, with what the last message says about it."""
        try:
            document = DocumentText.from_dict(
                {
                    **message,
                    "name": self._request.name,
                    "text": "".join(self._pieces),
                    "sections": self._sections,
                    "page_notes": message.get("remarks", ()),
                }
            )
        except ValueError as exc:
            raise ProtocolError(str(exc)) from exc
        document = document.with_page_notes_told()
        # Counted here, in the thread, so that nobody waits for it in the window.
        _ = document.estimated_tokens
        return document


def _spawn() -> subprocess.Popen[bytes]:
    # -P: the folder in which the application was started must not be able to lend the worker a module.
    return subprocess.Popen(
        (sys.executable, "-P", _SCRIPT),
        bufsize=_PIPE_BUFFER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _dispose(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        # What the worker no longer wanted to read is still in the buffer.
        with contextlib.suppress(OSError):
            cast("IO[bytes]", pipe).close()


def _progress_of(message: Message) -> ExtractionProgress:
    match message:
        case {"done": int(done), "total": int(total), "unit": ("pages" | "bytes") as unit}:
            return ExtractionProgress(done, total, unit)
    raise ProtocolError("a progress message without its numbers")
