"""What it means when a worker process ends without an answer."""

from __future__ import annotations

import logging
import signal

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import sentences
from doc_processing_toolkit.documents.protocol import EXIT_MEMORY, Request

log = logging.getLogger(__name__)

# A failed allocation aborts the PDF library; Windows calls that 0xE0000008.
_OUT_OF_MEMORY = frozenset((EXIT_MEMORY, -int(signal.SIGABRT), 0xE0000008))
_CRASHES = frozenset(
    -int(getattr(signal, name))
    for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGFPE", "SIGSYS")
    if hasattr(signal, name)
)
_OUT_OF_TIME = -int(getattr(signal, "SIGXCPU", 0)) or None
_WINDOWS_CRASH = 0xC0000000


def explain_ending(request: Request, exit_code: int | None, errors: bytes) -> DocumentError:
    """Return the error for a worker that ended by itself; ``errors`` is what it printed while it started."""
    name = request.name
    if exit_code in _OUT_OF_MEMORY:
        return DocumentError(
            f"“{name}” needs more memory to read than the {sentences.size(request.memory_bytes)} allowed. "
            "It may be damaged; if not, split it into smaller parts.",
            code="memory",
            name=name,
        )
    if exit_code is not None and exit_code == _OUT_OF_TIME:
        return timed_out(name, request.seconds)
    if exit_code in _CRASHES or (exit_code is not None and exit_code >= _WINDOWS_CRASH):
        return DocumentError(
            f"“{name}” is damaged: reading it made the PDF library crash. Get the file again, or save it anew "
            "with the program that made it.",
            code="damaged",
            name=name,
        )
    # What is printed before the request is read cannot be of the document.
    printed = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    log.warning("the document reader ended with exit code %s: %s", exit_code, printed[:500])
    return fault(name, f"it ended with exit code {exit_code}")


def timed_out(name: str, seconds: float) -> DocumentError:
    """Return the error for a document that takes too long."""
    return DocumentError(
        f"“{name}” was not read within {seconds:g} seconds. It may be damaged; if not, split it into smaller parts.",
        code="timeout",
        name=name,
    )


def fault(name: str, what: str) -> DocumentError:
    """Return the error for a reader that failed for a reason of its own."""
    return DocumentError(
        f"“{name}” was not read: the reader failed ({what}). Try again.", code="worker_died", name=name
    )
