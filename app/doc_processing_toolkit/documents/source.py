"""The bytes of a document as the worker gets them: from a file that really is one, or over the pipe."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from typing import IO

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents.protocol import PIECE_BYTES, Request, path_from_text

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL)
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)


class Source:
    """A document's bytes, read once from front to back; ``size`` and ``sha256`` are whole once ``read`` returns."""

    def __init__(self, name: str, read: Callable[[int], bytes], expected: int) -> None:
        self.name = name
        self.expected = expected
        self.size = 0
        self._read = read
        self._digest = hashlib.sha256()
        self._head = b""

    @property
    def sha256(self) -> str:
        """The digest, in hex, of what has been read."""
        return self._digest.hexdigest()

    def peek(self, octets: int) -> bytes:
        """Return the first ``octets`` bytes, fewer where there are no more. Nothing is lost to ``read``."""
        while len(self._head) < octets and (piece := self._take(octets - len(self._head))):
            self._head += piece
        return self._head

    def read(self, most: int, on_progress: Callable[[int, int], None]) -> bytearray:
        """Return the first ``most`` bytes; the rest is read too, for the digest and the size, and forgotten."""
        kept = bytearray(self._head[:most])
        while piece := self._take(PIECE_BYTES):
            kept += piece[: most - len(kept)]
            on_progress(self.size, max(self.size + 1, self.expected))
        on_progress(self.size, self.size)
        return kept

    def _take(self, octets: int) -> bytes:
        try:
            piece = self._read(octets)
        except OSError as exc:
            raise _unreadable(self.name, exc) from exc
        self._digest.update(piece)
        self.size += len(piece)
        return piece


def open_source(request: Request, pipe: IO[bytes], on_drained: Callable[[], None]) -> Source:
    """Return the source of ``request``; ``on_drained`` is called once nothing more of it will come over the pipe.

    Raises ``DocumentError``: ``not_found``, ``not_a_file``, ``unreadable``.
    """
    if request.path is None:
        return _piped(request, pipe, on_drained)
    on_drained()
    try:
        # Opening a named pipe would wait for a writer, and opening a device may do anything: look first.
        path = path_from_text(request.path)
        _refuse_unless_file(os.stat(path).st_mode, request.name)
        fd = os.open(path, _OPEN_FLAGS)
        status = os.fstat(fd)
        # It may have become something else in between; that is why the opening did not wait either.
        _refuse_unless_file(status.st_mode, request.name)
    except (OSError, ValueError) as exc:
        raise _unreadable(request.name, exc) from exc
    return Source(request.name, lambda octets: os.read(fd, octets), status.st_size)


def _piped(request: Request, pipe: IO[bytes], on_drained: Callable[[], None]) -> Source:
    left = request.octets

    def read(octets: int) -> bytes:
        nonlocal left
        if not left:
            return b""
        piece = pipe.read(min(octets, left))
        if not piece:
            raise EOFError("the pipe was closed")
        left -= len(piece)
        if not left:
            on_drained()
        return piece

    if not left:
        on_drained()

    return Source(request.name, read, request.octets)


def _refuse_unless_file(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((label for is_kind, label in _KINDS if is_kind(mode)), "no ordinary file")
    advice = " Choose the files in it." if stat.S_ISDIR(mode) else ""
    raise DocumentError(f"“{name}” is {kind}, not a document.{advice}", code="not_a_file", name=name)


def _unreadable(name: str, exc: OSError | ValueError) -> DocumentError:
    # A ValueError is a path with a NUL character in it: no file has such a name.
    if isinstance(exc, ValueError) or exc.errno in _MISSING:
        return DocumentError(
            f"“{name}” is not there: it may have been moved, renamed or deleted.", code="not_found", name=name
        )
    reason = os.strerror(exc.errno) if exc.errno else "unknown error"
    if exc.errno in (errno.EACCES, errno.EPERM):
        return DocumentError(
            f"“{name}” may not be read: {reason}. Change its permissions, or copy it to a place of your own.",
            code="unreadable",
            name=name,
        )
    return DocumentError(
        f"“{name}” could not be read: {reason}. Check the disk or the connection, then try again.",
        code="unreadable",
        name=name,
    )
