"""Gemini contents, seen through their lens: a role and parts, each part one kind of data."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.google_parts import (
    Part,
    kind_of,
    message_of,
    spelling_in,
    value_of,
)
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

# Calls that the server gave no id get one with this beginning; it never goes back, for a response must have the id
# that its call had (W-G10).
UNNUMBERED = "unnumbered-"
_ROLES = {"user": "user", "function": "user", "model": "assistant"}
_NEUTRAL_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_WRAPS = ("output", "result", "error")
_UPLOADED = re.compile(r"(\A|/)files/[^/?#]+\Z")
_PLAIN = "text/plain"


class GoogleLens:
    """The lens of the Gemini dialect. Fields are told by value: a field that is there without one is not there."""

    name = "google"

    def sniff(self, message: Message) -> bool:
        """Whether the message is a content with parts, or plain text with a role."""
        parts = message.get("parts")
        if parts is not None:
            has_role = message.get("role") is None or _role_in(_ROLES, message) is not None
            is_foreign = message.get("content") is not None or message.get("type") is not None
            return isinstance(parts, list) and has_role and not is_foreign and all(map(_is_own, parts))
        if _role_in(_NEUTRAL_ROLES, message) is None or message.get("type") not in (None, "message"):
            return False
        if any(message.get(key) is not None for key in ("tool_calls", "reasoning_content")):
            return False
        content = message.get("content")
        return isinstance(content, str) or (isinstance(content, list) and all(map(_is_neutral_text, content)))

    def role(self, message: Message) -> str:
        """Return ``user``, ``assistant`` or ``system``; function responses are a user's (W-G7)."""
        if message.get("parts") is not None and message.get("role") is None:
            return "user"
        return _role_in(_ROLES, message) or _role_in(_NEUTRAL_ROLES, message) or "other"

    def views(self, message: Message) -> list[BlockView]:
        """Return the message's parts in order; plain text is one block."""
        parts = message.get("parts")
        if isinstance(parts, list):
            return [_view(part, ("parts", index)) for index, part in enumerate(parts)]
        content = message.get("content")
        if isinstance(content, str):
            return [BlockView(Kind.TEXT, content, ("content",))]
        if isinstance(content, list):
            return [BlockView(Kind.TEXT, part, ("content", index)) for index, part in enumerate(content)]
        return []

    def rebuild(self, message: Message, kept: Sequence[BlockView]) -> Message | None:
        """Return the message with these blocks: the same object when nothing changed, ``None`` when nothing is left."""
        before = self.views(message)
        if len(before) == len(kept) and all(
            old.path == new.path and old.block is new.block for old, new in zip(before, kept, strict=True)
        ):
            return message
        if not kept:
            return None
        if kept[0].path == ("content",):
            return {**message, "content": kept[0].block}
        return {**message, str(kept[0].path[0]): [view.block for view in kept]}

    def result_text(self, view: BlockView) -> str:
        """Return a tool result's text: what it was wrapped in an object for, else the object as JSON."""
        inner = message_of(view.block, "function_response") or {}
        texts = [_said(value_of(inner, "response")), *_plain_texts(inner.get("parts"))]
        return "\n".join(text for text in texts if text)

    def with_result(self, view: BlockView, content: str) -> BlockView:
        """Return a tool result with other content, under the key that its content had; media in it goes."""
        field = spelling_in(view.block, "function_response")
        inner = {name: value for name, value in view.block[field].items() if name != "parts"}
        before = inner.get("response")
        only = next(iter(before)) if isinstance(before, Mapping) and len(before) == 1 else None
        inner["response"] = {only if only in _WRAPS else _WRAPS[0]: content}
        return view.with_block({**view.block, field: inner})

    def media_views(self, message: Message) -> list[BlockView]:
        """Return every media part of a message, those inside function responses too."""
        parts = message.get("parts")
        return list(_media_in(parts)) if isinstance(parts, list) else []

    def media(self, view: BlockView) -> InlineMedia | MediaReference | None:
        """Return what a media part holds: its base64 text in the standard alphabet, or where it points."""
        blob = message_of(view.block, "inline_data")
        if blob is not None:
            return InlineMedia(_standard(value_of(blob, "data")), _text_or_none(value_of(blob, "mime_type")))
        file = message_of(view.block, "file_data")
        if file is None:
            return None
        uri = str(value_of(file, "file_uri") or "")
        kind = "google_file_uri" if _UPLOADED.search(uri) else "url"
        return MediaReference(kind, uri, _text_or_none(value_of(file, "mime_type")))

    def with_media(self, view: BlockView, data: str) -> BlockView:
        """Return an inline media part with other base64 text (or a marker) in the place of its own."""
        field = spelling_in(view.block, "inline_data")
        return view.with_block({**view.block, field: {**view.block[field], "data": data}})

    def text_block(self, view: BlockView, text: str) -> BlockView:
        """Return a text part in the place of a media part; a function response holds text as a blob only."""
        if len(view.path) <= 2:
            return BlockView(Kind.TEXT, {"text": text}, view.path)
        data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
        return BlockView(Kind.TEXT, {"inline_data": {"mime_type": _PLAIN, "data": data}}, view.path)

    def user_message(self, parts: Sequence[UserPart]) -> Message:
        """Return a user's content with these parts; empty text is left out beside others."""
        said = [part for part in parts if not isinstance(part, TextPart) or part.text]
        return {"role": "user", "parts": [_native_part(part) for part in said] or [{"text": ""}]}

    def assistant_message(self, text: str) -> Message:
        """Return an assistant message that carries plain text."""
        return {"role": "assistant", "content": text}

    def result_messages(self, results: Sequence[ToolOutcome]) -> list[Message]:
        """Return one content with a response to each call of the round, in the calls' order (W-G3, W-G4)."""
        return [{"role": "user", "parts": [_response_part(result) for result in results]}] if results else []

    def system_text(self, message: Message) -> str | None:
        """Return a system message's text, ``None`` for any other message."""
        return text_of(message) if self.role(message) == "system" else None


def text_of(message: Message) -> str:
    """Return what a message says, thought summaries left out: a model's parts as they stand, others line by line."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = message.get("parts") if content is None else content
    texts = [
        part["text"]
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, Mapping) and isinstance(part.get("text"), str) and part.get("thought") is not True
    ]
    return ("" if message.get("role") == "model" else "\n\n").join(texts)


def _role_in(roles: Mapping[str, str], message: Message) -> str | None:
    role = message.get("role")
    return roles.get(role) if isinstance(role, str) else None


def _is_own(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") is None


def _is_neutral_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _view(part: Any, path: tuple[str | int, ...]) -> BlockView:
    kind = kind_of(part)
    if kind is not Kind.CALL and kind is not Kind.RESULT:
        return BlockView(kind, part, path)
    inner = message_of(part, "function_call" if kind is Kind.CALL else "function_response") or {}
    return BlockView(kind, part, path, _text_or_none(inner.get("id")), _text_or_none(inner.get("name")))


def _media_in(parts: list[Any]) -> Iterator[BlockView]:
    for index, part in enumerate(parts):
        if message_of(part, "inline_data") is not None or message_of(part, "file_data") is not None:
            yield BlockView(Kind.MEDIA, part, ("parts", index))
            continue
        response = message_of(part, "function_response")
        nested = response.get("parts") if response is not None else None
        if isinstance(nested, list):
            place = ("parts", index, spelling_in(part, "function_response"), "parts")
            views = (BlockView(Kind.MEDIA, inner, (*place, number)) for number, inner in enumerate(nested))
            yield from (view for view in views if kind_of(view.block) is Kind.MEDIA and not _is_plain(view.block))


def _is_plain(part: Any) -> bool:
    blob = message_of(part, "inline_data")
    return blob is not None and value_of(blob, "mime_type") == _PLAIN


def _plain_texts(parts: Any) -> Iterator[str]:
    """Yield the text that stands among a function response's media."""
    for part in parts if isinstance(parts, list) else ():
        if _is_plain(part):
            try:
                data = base64.b64decode(_standard(value_of(message_of(part, "inline_data") or {}, "data")))
            except (binascii.Error, ValueError):
                continue
            yield data.decode("utf-8", "replace")


def _said(response: Any) -> str:
    if response is None or response == {}:
        return ""
    if isinstance(response, Mapping) and len(response) == 1:
        name, value = next(iter(response.items()))
        if name in _WRAPS and isinstance(value, str):
            return value
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _standard(data: Any) -> str:
    """Return base64 text in the standard alphabet; the API takes and gives either."""
    text = data if isinstance(data, str) else ""
    if text.startswith("$") or ("-" not in text and "_" not in text):
        return text
    return text.replace("-", "+").replace("_", "/")


def _native_part(part: UserPart) -> Part:
    match part:
        case TextPart():
            return {"text": part.text}
        case MediaPart():
            return {"inline_data": {"mime_type": part.mime_type, "data": part.data}}


def _response_part(result: ToolOutcome) -> Part:
    """Return the response to one call; a response must be an object (W-G11), so what was said is wrapped in one."""
    content: str | Sequence[UserPart] = result.content
    said = [TextPart(content)] if isinstance(content, str) else list(content)
    texts = [part.text for part in said if isinstance(part, TextPart)]
    response: Part = {"name": result.name, "response": {"error" if result.is_error else "output": "\n\n".join(texts)}}
    if not result.call_id.startswith(UNNUMBERED):
        response["id"] = result.call_id
    media = [_native_part(part) for part in said if isinstance(part, MediaPart)]
    if media:
        response["parts"] = media
    return {"function_response": response}
