"""The compaction archive: what a compaction removed, the only file that a session writes by itself (L02)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.times import utc_now

_LINES = ".jsonl"
# Two sessions of a process may share one file.
_writing = threading.Lock()


def archive(path: Path, messages: Sequence[Message], *, run: int, model: str) -> Path:
    """Write a conversation as it was before a compaction, and return the file. It is no checkpoint.

    In a folder each conversation has its own file, named by run and content, so that the same one is there once; a
    ``.jsonl`` file gets one line more. Raises what the disk raises; what was there before is untouched then.
    """
    record = {"archived_at": utc_now(), "run": run, "model": model, "messages": clean(list(messages))}
    if path.suffix.lower() == _LINES:
        with _writing:
            before = path.read_bytes() if path.exists() else b""
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            write_atomically(path, [before, gap, *_encoded(record), b"\n"])
        return path
    digest = hashlib.sha256()
    for piece in _encoded(record["messages"]):
        digest.update(piece)
    target = path / f"run-{run:04d}-{digest.hexdigest()[:16]}.json"
    if not target.exists():
        write_atomically(target, _encoded(record))
    return target


def _encoded(value: Any) -> Iterator[bytes]:
    for piece in json_pieces(value):
        yield piece.encode("utf-8")
