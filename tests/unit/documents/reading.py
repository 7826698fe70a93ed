"""How the tests read a document: the whole way through a process, or the reader alone in this one."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import (
    HEAD_BYTES,
    DocumentText,
    ExtractionLimits,
    ExtractionProgress,
    extract,
    identify,
)
from doc_processing_toolkit.documents.formats import reader_of
from doc_processing_toolkit.documents.protocol import Message, Request
from doc_processing_toolkit.documents.source import open_source
from doc_processing_toolkit.documents.writer import Reading, Writer


def read(
    source: Path | bytes,
    name: str | None = None,
    on_progress: Callable[[ExtractionProgress], None] | None = None,
    **limits: Any,
) -> DocumentText:
    """Extract a document as an application does."""
    return asyncio.run(extract(source, name=name, limits=ExtractionLimits(**limits), on_progress=on_progress))


def refused(source: Path | bytes, name: str | None = None, **limits: Any) -> DocumentError:
    """Return the error with which reading a document ends."""
    with pytest.raises(DocumentError) as caught:
        read(source, name, **limits)
    return caught.value


def read_here(data: bytes, name: str = "file.txt", *, characters: int = 1_000_000) -> tuple[str, Reading]:
    """Read bytes with their reader in this process: fast enough for many inputs."""
    messages: list[Message] = []
    writer = Writer(messages.append, characters)
    request = Request(
        name=name,
        file_name=name,
        path=None,
        octets=len(data),
        seconds=10,
        memory_bytes=1 << 30,
        source_bytes=1 << 28,
        pages=1000,
        characters=characters,
    )
    source = open_source(request, io.BytesIO(data), lambda: None)
    kind = identify(source.peek(HEAD_BYTES), name)
    reading = reader_of(kind).read(source, kind, writer, request)
    writer.flush()
    return "".join(message["text"] for message in messages if message["type"] == "text"), reading
