"""What a tool's value means to the model: text, media that the row takes, or the text of an error (A04)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doc_processing_toolkit.core.jsonclean import UncleanValueError, clean, clean_text
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.dialects.view import MediaPart, TextPart, UserPart
from doc_processing_toolkit.media.policy import base64_text
from doc_processing_toolkit.media.sniff import HEAD_BYTES, human_size, sniff

_PDF = "application/pdf"
# What every dialect with pictures in tool results takes (W-A38, W-O12, W-G27).
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

Content = str | tuple[UserPart, ...]


def content_of(value: Any, row: ModelRow) -> Content:
    """Return a tool's value as the model gets it.

    A string is itself, ``None`` is empty. Bytes that are a picture or a PDF, and objects that show themselves as a
    PNG (``_repr_png_``), are media where the row takes them, also inside a list; other bytes are base64. Anything
    else is JSON, or its ``str`` where it has no JSON form.
    """
    if isinstance(value, list | tuple) and any(_media(item) for item in value):
        return tuple(part for item in value for part in _parts(item, row))
    if _media(value):
        return tuple(_parts(value, row))
    return _text(value)


def shown(content: Content) -> str:
    """Return content as text, for a reader: what is no text is named."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if isinstance(part, TextPart) else _named(part) for part in content)


def _parts(value: Any, row: ModelRow) -> Sequence[UserPart]:
    found = _media(value)
    if found is None:
        text = _text(value)
        return [TextPart(text)] if text.strip() else []
    mime_type, data = found
    if not row.takes("document" if mime_type == _PDF else "image"):
        return [TextPart(f"[{mime_type}, {human_size(len(data))}, not accepted by {row.label}]")]
    return [MediaPart(base64_text(data), mime_type, "result.pdf" if mime_type == _PDF else "")]


def _media(value: Any) -> tuple[str, bytes] | None:
    """Return type and bytes of a value that is media."""
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
    else:
        draw = getattr(value, "_repr_png_", None)
        drawn = draw() if callable(draw) and not isinstance(value, type) else None
        if not isinstance(drawn, bytes):
            return None
        data = drawn
    mime_type = sniff(data[:HEAD_BYTES])
    return (mime_type, data) if mime_type is not None and mime_type in {*_PICTURES, _PDF} else None


def _named(part: MediaPart) -> str:
    return f"[{part.mime_type}, {human_size(len(part.data) * 3 // 4)}]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return clean_text(value)
    if value is None:
        return ""
    try:
        return json.dumps(clean(value), ensure_ascii=False)
    except UncleanValueError:
        return clean_text(str(value))
