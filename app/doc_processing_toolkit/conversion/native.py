"""What the four dialects' blocks hold, in neutral terms: text, media, calls and results."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from doc_processing_toolkit.conversion.neutral import Call, Part, Result
from doc_processing_toolkit.dialects.google_parts import is_signed, message_of, value_of
from doc_processing_toolkit.dialects.view import (
    BlockView,
    InlineMedia,
    Kind,
    Lens,
    MediaPart,
    MediaReference,
    TextPart,
)
from doc_processing_toolkit.media.sniff import HEAD_BYTES, sniff

__all__ = ["call_of", "glue_of", "is_signed", "parts_of", "result_of", "text_of"]

Lose = Callable[[str, str], None]
UNTYPED = "application/octet-stream"
_MARKER = "$media:"
_PLAIN = "text/plain"
# The keys under which a response's text stands alone.
_WRAPS = frozenset({"output", "result", "error"})
# How the adjacent texts of an answer belong together; a user's texts stay apart, but for Gemini's (K09).
_ANSWER_GLUE = {"anthropic": "", "google": "", "openai": "\n\n", "chat": "\n\n"}
_MEDIA_TYPES = frozenset(
    {"image", "document", "image_url", "video_url", "input_audio", "file", "input_image", "input_file"}
)
_URL_TYPES = {"document": "application/pdf", "input_file": "application/pdf", "video_url": "video/mp4"}


def glue_of(dialect: str, role: str) -> str | None:
    """Return what joins adjacent texts of a message, ``None`` where they stay apart."""
    if role == "assistant":
        return _ANSWER_GLUE[dialect]
    return None


def text_of(block: Any) -> str:
    """Return a text block's text; a refusal is one."""
    if isinstance(block, str):
        return block
    found = block.get("text")
    if not isinstance(found, str):
        found = block.get("refusal")
    return found if isinstance(found, str) else ""


def call_of(dialect: str, index: int, view: BlockView) -> Call:
    """Return the call that a block makes, its arguments as they stand: an object or JSON text."""
    block = view.block
    arguments: Any
    match dialect:
        case "anthropic":
            arguments = block.get("input")
        case "google":
            arguments = value_of(message_of(block, "function_call") or {}, "args")
        case "openai" if block.get("type") == "custom_tool_call":
            arguments = {"input": block.get("input")}
        case "openai":
            arguments = block.get("arguments")
        case _:
            function = block.get("function") if isinstance(block, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
    return Call(index, view.call_id, view.name, arguments)


def result_of(lens: Lens, index: int, view: BlockView, lose: Lose) -> Result:
    """Return the result that a block holds; ``lose(artefact, what)`` is told what of it cannot cross."""
    block = view.block
    if lens.name == "google":
        return _google_result(lens, index, view, lose)
    content = block.get("output" if lens.name == "openai" else "content")
    parts: list[Part] = []
    for each in content if isinstance(content, list) else [content]:
        is_text = each is None or isinstance(each, str)
        found: list[Part] | None = [TextPart(each or "")] if is_text else parts_of(lens, each, lose)
        if found is None:
            lose("unknown", str(each.get("type")) if isinstance(each, dict) else type(each).__name__)
        else:
            parts += found
    return Result(index, view.call_id, view.name, parts, is_error=block.get("is_error") is True)


def _google_result(lens: Lens, index: int, view: BlockView, lose: Lose) -> Result:
    inner = message_of(view.block, "function_response") or {}
    response = value_of(inner, "response")
    is_error = isinstance(response, dict) and list(response) == ["error"]
    nested = inner.get("parts")
    if nested is None and isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in _WRAPS and type(value) is str:
            return Result(index, view.call_id, view.name, [TextPart(value)], is_error=is_error)
    parts: list[Part] = [TextPart(lens.result_text(view))]
    for each in nested if isinstance(nested, list) else ():
        found = parts_of(lens, each, lose)
        if found is None:
            lose("unknown", "function response part")
        else:
            # Its plain texts are part of the result's text.
            parts += [part for part in found if not (isinstance(part, MediaPart) and part.mime_type == _PLAIN)]
    return Result(index, view.call_id, view.name, parts, is_error=is_error)


def parts_of(lens: Lens, block: Any, lose: Lose) -> list[Part] | None:
    """Return the text and media that a block comes to, ``None`` for a kind that nobody knows."""
    if not isinstance(block, dict):
        return None
    kind = str(block.get("type"))
    if lens.name == "google" or kind in _MEDIA_TYPES:
        held = lens.media(BlockView(Kind.MEDIA, block, ()))
        if isinstance(held, InlineMedia):
            return [_inline(held, _name_of(block))]
        if isinstance(held, MediaReference):
            return [_typed(held, kind)]
    if kind == "document":
        return _nested_document(lens, block, lose)
    if kind == "search_result":
        return _search_result(block)
    if kind in ("text", "input_text", "output_text", "refusal"):
        return [TextPart(text_of(block))]
    return None


def _nested_document(lens: Lens, block: Mapping[str, Any], lose: Lose) -> list[Part] | None:
    """Return the parts of a document that is a list of blocks, or one text."""
    source = block.get("source")
    content = source.get("content") if isinstance(source, dict) else None
    if isinstance(content, str):
        return [TextPart(content)]
    if not isinstance(content, list):
        return None
    parts: list[Part] = []
    for each in content:
        found = parts_of(lens, each, lose)
        if found is None:
            lose("unknown", "block of a document")
        else:
            parts += found
    return parts


def _search_result(block: Mapping[str, Any]) -> list[Part]:
    """Return a search result, which the client's own tool gave, as text under its title and source."""
    content = block.get("content")
    texts = [text_of(each) for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    heads = [str(block[key]) for key in ("title", "source") if block.get(key)]
    return [TextPart("\n".join([*heads, *texts]))]


def _inline(held: InlineMedia, name: str) -> MediaPart:
    """Return the part with its true type: what the bytes show goes before what was declared (W-A43)."""
    declared = (held.mime_type or "").partition(";")[0].strip().lower()
    if not declared:
        declared = mimetypes.guess_type(name)[0] or UNTYPED
    shown = None if held.data.startswith(_MARKER) else _shown_type(held.data)
    is_picture = declared.startswith("image/") or declared == UNTYPED
    if shown is not None and is_picture:
        declared = shown
    return MediaPart(held.data, declared, name)


def _shown_type(data: str) -> str | None:
    head = data[: (HEAD_BYTES + 2) // 3 * 4]
    try:
        return sniff(base64.b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return None


def _typed(held: MediaReference, kind: str) -> MediaReference:
    if held.mime_type is not None or held.kind != "url":
        return held
    guessed = mimetypes.guess_type(held.uri.partition("?")[0])[0]
    fallback = _URL_TYPES.get(kind, "image/jpeg")
    family = fallback.partition("/")[0]
    is_likely = guessed is not None and (family == "application" or guessed.startswith(family))
    return replace(held, mime_type=guessed if is_likely else fallback)


def _name_of(block: Mapping[str, Any]) -> str:
    """Return a file's name, wherever the dialect keeps it."""
    blob = message_of(block, "inline_data")
    file = block.get("file")
    names = (
        block.get("title"),
        block.get("filename"),
        file.get("filename") if isinstance(file, dict) else None,
        value_of(blob, "display_name") if blob is not None else None,
    )
    return next((name for name in names if isinstance(name, str) and name), "")
