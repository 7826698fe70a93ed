"""Writes small GGUF files, whole or broken in a chosen way."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

UINT32, FLOAT32, BOOL, STRING, ARRAY, UINT64 = 4, 6, 7, 8, 9, 10


def text(value: str | bytes) -> bytes:
    """Return a string as the format writes it."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, payload: bytes) -> bytes:
    """Return one entry of the header."""
    return text(key) + struct.pack("<I", kind) + payload


def array(kind: int, count: int, payload: bytes) -> bytes:
    """Return a list as the format writes it; ``count`` need not be true."""
    return struct.pack("<IQ", kind, count) + payload


def header(*entries: bytes, count: int | None = None, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    """Return a file without tensors; ``count`` is the number of entries that it claims."""
    return magic + struct.pack("<IQQ", version, 0, len(entries) if count is None else count) + b"".join(entries)


def plain_model(*, template: str | None = "{{ messages }}", context: int = 4096, **more: Any) -> bytes:
    """Return a plausible header: name, architecture, window, a small vocabulary and, unless ``None``, a template."""
    entries = [
        entry("general.architecture", STRING, text("llama")),
        entry("general.name", STRING, text(more.get("name", "Tiny"))),
        entry("llama.context_length", UINT32, struct.pack("<I", context)),
        entry("tokenizer.ggml.tokens", ARRAY, array(STRING, 3, text("a") + text("b") + text(b"\xff\xfe"))),
        entry("tokenizer.ggml.scores", ARRAY, array(FLOAT32, 3, struct.pack("<fff", 1, 2, 3))),
    ]
    if template is not None:
        entries.append(entry("tokenizer.chat_template", STRING, text(template)))
    return header(*entries)


def model_file(folder: Path, file_name: str = "tiny.gguf", **facts: Any) -> Path:
    """Write a plausible header to a file and return its path."""
    path = folder / file_name
    path.write_bytes(plain_model(**facts))
    return path
