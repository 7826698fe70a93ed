"""The Anthropic Messages shape (content blocks), seen through its lens."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

from doc_processing_toolkit.core.errors import UnsupportedPartError
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import (
    BlockView,
    InlineMedia,
    Kind,
    MediaPart,
    MediaReference,
    TextPart,
    ToolOutcome,
    UserPart,
)

PDF = "application/pdf"
PLAIN_TEXT = "text/plain"
# W-A38.
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
LONGEST_IMAGE_BASE64 = 10 * 1024 * 1024
_ROLES = frozenset({"user", "assistant", "system"})
_KINDS = {
    "text": Kind.TEXT,
    "image": Kind.MEDIA,
    "document": Kind.MEDIA,
    "thinking": Kind.REASONING,
    "redacted_thinking": Kind.REASONING,
    "tool_use": Kind.CALL,
    "tool_result": Kind.RESULT,
    "mcp_tool_listing": Kind.PROVIDER_TOOL,
    "container_upload": Kind.PROVIDER_TOOL,
}
_PROVIDER_TOOL_ENDINGS = ("_tool_use", "_tool_result")
# Parts that only another dialect has; any other kind may be one of tomorrow's.
_FOREIGN = frozenset(
    {
        *("image_url", "video_url", "input_audio", "file", "refusal"),
        *("input_text", "output_text", "input_image", "input_file", "summary_text", "reasoning_text"),
    }
)
_MARKER = "$media:"


class AnthropicLens:
    """The lens of the Anthropic dialect."""

    name = "anthropic"

    def sniff(self, message: Message) -> bool:
        """Whether the message has an Anthropic role and nothing that only another dialect has."""
        if str(message.get("role")) not in _ROLES:
            return False
        if any(value is not None and key not in ("role", "content") for key, value in message.items()):
            return False
        content = message.get("content")
        if isinstance(content, str):
            return True
        return isinstance(content, list) and all(_is_own(block) for block in content)

    def role(self, message: Message) -> str:
        """Return ``user``, ``assistant`` or ``system``; tool results are a user's."""
        role = message.get("role")
        return role if isinstance(role, str) and role in _ROLES else "other"

    def views(self, message: Message) -> list[BlockView]:
        """Return the message's blocks in order; a message of plain text is one block."""
        content = message.get("content")
        if isinstance(content, str):
            return [BlockView(Kind.TEXT, content, ("content",))]
        if not isinstance(content, list):
            return []
        return [_view(block, ("content", index)) for index, block in enumerate(content)]

    def rebuild(self, message: Message, kept: Sequence[BlockView]) -> Message | None:
        """Return the message with these blocks: the same object when nothing changed, ``None`` when nothing is left."""
        before = self.views(message)
        if len(before) == len(kept) and all(
            old.path == new.path and old.block is new.block for old, new in zip(before, kept, strict=True)
        ):
            return message
        if not kept:
            return None
        if len(kept) == 1 and isinstance(kept[0].block, str):
            return {**message, "content": kept[0].block}
        return {**message, "content": [_as_block(view.block) for view in kept]}

    def result_text(self, view: BlockView) -> str:
        """Return a tool result's text; media in it is left out."""
        content = view.block.get("content")
        if isinstance(content, list):
            return "\n".join(block["text"] for block in content if _is_text(block))
        return "" if content is None else str(content)

    def with_result(self, view: BlockView, content: str) -> BlockView:
        """Return a tool result with other content, in the shape that its content had."""
        # An empty text block would be refused (W-A17); an empty string is not.
        in_blocks = isinstance(view.block.get("content"), list) and content
        return view.with_block({**view.block, "content": [{"type": "text", "text": content}] if in_blocks else content})

    def media_views(self, message: Message) -> list[BlockView]:
        """Return every media block of a message, those inside tool results and documents too."""
        content = message.get("content")
        return list(_media_in(content, ("content",))) if isinstance(content, list) else []

    def media(self, view: BlockView) -> InlineMedia | MediaReference | None:
        """Return what a media block holds: its base64 text, or where it points."""
        source = _source(view)
        if source is None:
            return None
        match source.get("type"):
            case "base64":
                return InlineMedia(str(source.get("data") or ""), _text_or_none(source.get("media_type")))
            case "text":
                return InlineMedia(_encoded(str(source.get("data") or "")), PLAIN_TEXT)
            case "url":
                return MediaReference("url", str(source.get("url")))
            case "file":
                return MediaReference("provider_file", str(source.get("file_id")))
        return None

    def with_media(self, view: BlockView, data: str) -> BlockView:
        """Return a media block with other base64 text (or a marker) in the place of its own."""
        source = view.block["source"]
        held = _decoded(data) if source["type"] == "text" else data
        return view.with_block({**view.block, "source": {**source, "data": held}})

    def text_block(self, view: BlockView, text: str) -> BlockView:
        """Return a text block in the place of a media block."""
        return BlockView(Kind.TEXT, {"type": "text", "text": text}, view.path)

    def user_message(self, parts: Sequence[UserPart]) -> Message:
        """Return a user message; a single text part becomes plain text, which every dialect reads.

        Text without a letter is left out beside other parts: the server refuses it (W-A17). Raises
        ``UnsupportedPartError`` for audio, video, and files that are no PDF.
        """
        if len(parts) == 1 and isinstance(parts[0], TextPart):
            return {"role": "user", "content": parts[0].text}
        said = [part for part in parts if not _is_blank(part)]
        return {"role": "user", "content": [_native_part(part) for part in said]}

    def assistant_message(self, text: str) -> Message:
        """Return an assistant message that carries plain text."""
        return {"role": "assistant", "content": text}

    def result_messages(self, results: Sequence[ToolOutcome]) -> list[Message]:
        """Return one user message with all results: the server wants them together and first (W-A1, W-A3)."""
        return [{"role": "user", "content": [_native_result(result) for result in results]}] if results else []

    def system_text(self, message: Message) -> str | None:
        """Return a system message's text, ``None`` for any other message."""
        return text_of(message) if self.role(message) == "system" else None


def text_of(message: Message) -> str:
    """Return the text of a message, its text blocks joined as they stand."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(block["text"] for block in content if _is_text(block))
    return content if isinstance(content, str) else ""


def type_of(block: Any) -> str:
    """Return a block's type, ``""`` for what is no block."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def _is_own(block: Any) -> bool:
    return bool(type_of(block)) and type_of(block) not in _FOREIGN


def _is_text(block: Any) -> bool:
    return type_of(block) == "text" and isinstance(block.get("text"), str)


def _view(block: Any, path: tuple[str | int, ...]) -> BlockView:
    name = type_of(block)
    kind = _KINDS.get(name)
    if kind is None:
        kind = Kind.PROVIDER_TOOL if name.endswith(_PROVIDER_TOOL_ENDINGS) else Kind.OTHER
    if kind is Kind.CALL:
        return BlockView(kind, block, path, _text_or_none(block.get("id")), _text_or_none(block.get("name")))
    if kind is Kind.RESULT:
        return BlockView(kind, block, path, _text_or_none(block.get("tool_use_id")))
    return BlockView(kind, block, path)


def _as_block(block: Any) -> Any:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def _media_in(blocks: list[Any], path: tuple[str | int, ...]) -> Iterator[BlockView]:
    for index, block in enumerate(blocks):
        view = _view(block, (*path, index))
        if view.kind is Kind.MEDIA:
            yield view
            source = block.get("source")
            nested = source.get("content") if isinstance(source, dict) else None
            if isinstance(nested, list):
                yield from _media_in(nested, (*path, index, "source", "content"))
        elif view.kind is Kind.RESULT and isinstance(block.get("content"), list):
            yield from _media_in(block["content"], (*path, index, "content"))


def _source(view: BlockView) -> dict[str, Any] | None:
    source = view.block.get("source") if view.kind is Kind.MEDIA and isinstance(view.block, dict) else None
    return source if isinstance(source, dict) else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _encoded(text: str) -> str:
    if text.startswith(_MARKER):
        return text
    return base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")


def _decoded(data: str) -> str:
    if data.startswith(_MARKER):
        return data
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _native_part(part: UserPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if part.kind == "image":
        return {"type": "image", "source": _base64_source(part)}
    if part.mime_type == PDF:
        block: dict[str, Any] = {"type": "document", "source": _base64_source(part)}
    elif part.mime_type.startswith("text/"):
        text = _decoded(part.data)
        block = {"type": "document", "source": {"type": "text", "media_type": PLAIN_TEXT, "data": text}}
    else:
        raise UnsupportedPartError(f"Claude does not take {part.mime_type}; it takes text, images and PDF documents")
    return {**block, "title": part.name} if part.name else block


def _base64_source(part: MediaPart) -> dict[str, Any]:
    return {"type": "base64", "media_type": part.mime_type, "data": part.data}


def _native_result(result: ToolOutcome) -> dict[str, Any]:
    content: Any = result.content
    if not isinstance(content, str):
        content = [_native_part(part) for part in map(_taken, content) if not _is_blank(part)]
    if result.is_error:
        # Beside an error the server takes text alone (W-A8).
        texts = content if isinstance(content, str) else [block for block in content if _is_text(block)]
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": texts, "is_error": True}
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": content}


def _taken(part: UserPart) -> UserPart:
    """Return a tool's part as it may stand in a result; what the server takes nowhere is told in its place."""
    if isinstance(part, TextPart):
        return part
    if part.kind == "image":
        is_taken = part.mime_type in IMAGE_TYPES and len(part.data) <= LONGEST_IMAGE_BASE64
    else:
        is_taken = part.mime_type == PDF or part.mime_type.startswith("text/")
    return part if is_taken else TextPart(f"[{part.mime_type}, {len(part.data) * 3 // 4:,} bytes, cannot be shown]")


def _is_blank(part: UserPart) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()
