"""The chat-completions message shape (Fireworks, local, OpenAI-compatible servers), seen through its lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system", "developer": "system"}
_PART_KINDS = {
    "text": Kind.TEXT,
    "refusal": Kind.TEXT,
    "image_url": Kind.MEDIA,
    "video_url": Kind.MEDIA,
    "input_audio": Kind.MEDIA,
    "file": Kind.MEDIA,
}
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class ChatLens:
    """The lens of the chat-completions dialect."""

    name = "chat"

    def sniff(self, message: Message) -> bool:
        """Whether the message has a chat role and nothing that only another dialect has."""
        if str(message.get("role")) not in _ROLES or message.get("type") not in (None, "message"):
            return False
        content = message.get("content")
        if content is None:
            return message["role"] == "assistant" and message.get("parts") is None
        if isinstance(content, str):
            return message.get("parts") is None
        return isinstance(content, list) and all(_is_chat_part(part) for part in content)

    def role(self, message: Message) -> str:
        """Return ``user``, ``assistant``, ``tool`` or ``system``."""
        return _ROLES.get(str(message.get("role")), "other")

    def views(self, message: Message) -> list[BlockView]:
        """Return the message's blocks: reasoning, content, then calls."""
        views: list[BlockView] = []
        if message.get("reasoning_content") is not None:
            views.append(BlockView(Kind.REASONING, message["reasoning_content"], ("reasoning_content",)))
        content = message.get("content")
        if message.get("role") == "tool":
            return [BlockView(Kind.RESULT, message, (), _id(message.get("tool_call_id")), _id(message.get("name")))]
        if isinstance(content, str) and (content or message.get("tool_calls") is None):
            views.append(BlockView(Kind.TEXT, content, ("content",)))
        elif isinstance(content, list):
            views.extend(BlockView(_kind(part), part, ("content", index)) for index, part in enumerate(content))
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            views.extend(_call_view(call, index) for index, call in enumerate(calls))
        return views

    def rebuild(self, message: Message, kept: Sequence[BlockView]) -> Message | None:
        """Return the message with these blocks: the same object when nothing changed, ``None`` when nothing is left."""
        before = self.views(message)
        if len(before) == len(kept) and all(
            old.path == new.path and old.block is new.block for old, new in zip(before, kept, strict=True)
        ):
            return message
        if not kept:
            return None
        if kept[0].path == ():
            return dict(kept[0].block)
        return _assembled(message, kept)

    def result_text(self, view: BlockView) -> str:
        """Return a tool result's text; media in it is left out."""
        content = view.block.get("content")
        if isinstance(content, list):
            return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
        return "" if content is None else str(content)

    def with_result(self, view: BlockView, content: str) -> BlockView:
        """Return a tool result with other content, in the shape that its content had."""
        if isinstance(view.block.get("content"), list):
            return view.with_block({**view.block, "content": [{"type": "text", "text": content}]})
        return view.with_block({**view.block, "content": content})

    def media_views(self, message: Message) -> list[BlockView]:
        """Return every media block of a message, those inside tool results too."""
        content = message.get("content")
        if not isinstance(content, list):
            return []
        views = (BlockView(_kind(part), part, ("content", index)) for index, part in enumerate(content))
        return [view for view in views if view.kind is Kind.MEDIA]

    def media(self, view: BlockView) -> InlineMedia | MediaReference | None:
        """Return what a media block holds: its base64 text, or where it points."""
        part = view.block
        if view.kind is not Kind.MEDIA or not isinstance(part, dict):
            return None
        match part.get("type"):
            case "image_url" | "video_url":
                return _url_media(_inner(part, part["type"]).get("url"))
            case "input_audio":
                audio = _inner(part, "input_audio")
                return InlineMedia(str(audio.get("data") or ""), _AUDIO_TYPES.get(str(audio.get("format"))))
            case "file":
                file = _inner(part, "file")
                if file.get("file_id") is not None:
                    return MediaReference("provider_file", str(file["file_id"]))
                return _url_media(file.get("file_data"))
        return None

    def with_media(self, view: BlockView, data: str) -> BlockView:
        """Return a media block with other base64 text (or a marker) in the place of its own."""
        part = view.block
        kind = part["type"]
        if isinstance(part.get(kind), str):
            return view.with_block({**part, kind: _with_data(part[kind], data)})
        inner = dict(_inner(part, kind))
        if kind == "input_audio":
            inner["data"] = data
        else:
            field = "file_data" if kind == "file" else "url"
            inner[field] = _with_data(str(inner[field]), data)
        return view.with_block({**part, kind: inner})

    def text_block(self, view: BlockView, text: str) -> BlockView:
        """Return a text block in the place of a media block."""
        return BlockView(Kind.TEXT, {"type": "text", "text": text}, view.path)

    def user_message(self, parts: Sequence[UserPart]) -> Message:
        """Return a user message; a single text part becomes plain text, which every dialect reads."""
        if len(parts) == 1 and isinstance(parts[0], TextPart):
            return {"role": "user", "content": parts[0].text}
        return {"role": "user", "content": [_native_part(part) for part in parts]}

    def assistant_message(self, text: str) -> Message:
        """Return an assistant message that carries plain text."""
        return {"role": "assistant", "content": text}

    def result_messages(self, results: Sequence[ToolOutcome]) -> list[Message]:
        """Return one tool message per call; the dialect has no mark for an error, so the text says it.

        A tool message holds text only (W-F3): media goes into a user message behind the round.
        """
        answers: list[Message] = []
        shown: list[UserPart] = []
        for result in results:
            parts = () if isinstance(result.content, str) else result.content
            media = [part for part in parts if isinstance(part, MediaPart)]
            text = _said(result.content, len(media))
            answers.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
            if media:
                shown += [TextPart(f"Result of {result.name}:"), *media]
        return [*answers, self.user_message(shown)] if shown else answers

    def system_text(self, message: Message) -> str | None:
        """Return a system message's text, ``None`` for any other message."""
        return text_of(message) if self.role(message) == "system" else None


def text_of(message: Message) -> str:
    """Return the text of a chat message, its text parts joined with a blank line."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n\n".join(str(part["text"]) for part in content if isinstance(part, dict) and _is_text(part))
    return "" if content is None else str(content)


def _said(content: str | Sequence[UserPart], media: int) -> str:
    """Return a tool's outcome as text that says how much media follows."""
    if isinstance(content, str):
        return content
    texts = [part.text for part in content if isinstance(part, TextPart)]
    return "\n".join([*texts, f"[{media} file(s) in the next message]"] if media else texts)


def _is_text(part: dict[str, Any]) -> bool:
    return part.get("type") == "text" and part.get("text") is not None


def _is_chat_part(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _PART_KINDS


def _kind(part: Any) -> Kind:
    return _PART_KINDS.get(str(part.get("type")), Kind.OTHER) if isinstance(part, dict) else Kind.OTHER


def _call_view(call: Any, index: int) -> BlockView:
    fields = call if isinstance(call, dict) else {}
    name = _id(_inner(fields, "function").get("name"))
    return BlockView(Kind.CALL, call, ("tool_calls", index), _id(fields.get("id")), name)


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _inner(part: dict[str, Any], key: str) -> dict[str, Any]:
    value = part.get(key)
    if isinstance(value, dict):
        return value
    return {"url": value} if isinstance(value, str) and key.endswith("_url") else {}


def _url_media(url: Any) -> InlineMedia | MediaReference | None:
    if not isinstance(url, str):
        return None
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:"):
        return InlineMedia(data, head[5:].partition(";")[0] or None)
    return MediaReference("url", url)


def _with_data(url: str, data: str) -> str:
    return url.partition(",")[0] + "," + data


def _native_part(part: UserPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case MediaPart():
            url = f"data:{part.mime_type};base64,{part.data}"
            match part.kind:
                case "image":
                    return {"type": "image_url", "image_url": {"url": url}}
                case "video":
                    return {"type": "video_url", "video_url": {"url": url}}
                case "audio":
                    kind = "mp3" if part.mime_type == "audio/mpeg" else part.mime_type.rpartition("/")[2]
                    return {"type": "input_audio", "input_audio": {"data": part.data, "format": kind}}
            return {"type": "file", "file": {"filename": part.name, "file_data": url}}


def _assembled(message: Message, kept: Sequence[BlockView]) -> Message:
    """Return a message whose reasoning, content and calls are those of ``kept``."""
    built = {key: value for key, value in message.items() if key not in ("reasoning_content", "content", "tool_calls")}
    content: list[Any] = []
    calls: list[Any] = []
    text: str | None = None
    for view in kept:
        match view.path[0]:
            case "reasoning_content":
                built["reasoning_content"] = view.block
            case "tool_calls":
                calls.append(view.block)
            case _ if len(view.path) == 1:
                text = view.block
            case _:
                content.append(view.block)
    built["content"] = content or text
    if calls:
        built["tool_calls"] = calls
    elif built["content"] is None:
        built["content"] = ""
    return built
