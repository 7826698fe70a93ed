"""The items of OpenAI Responses, seen through their lens; every item is a message of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.openai_items import (
    is_written_by_model,
    kind_of,
    longest_legal,
    mend,
    type_of,
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

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_PART_KINDS = {
    "input_text": Kind.TEXT,
    "output_text": Kind.TEXT,
    "refusal": Kind.TEXT,
    "input_image": Kind.MEDIA,
    "input_file": Kind.MEDIA,
}
_URL_FIELDS = {"input_image": "image_url", "input_file": "file_data"}
_TEXT_FIELDS = ("text", "refusal")
_NAMELESS = "file"


class OpenAILens:
    """The lens of the Responses dialect. Items of one answer are neighbours in the history."""

    name = "openai"

    def sniff(self, message: Message) -> bool:
        """Whether the message is a Responses item, or plain text with a role."""
        if message.get("type") not in (None, "message"):
            return isinstance(message["type"], str)
        content = message.get("content")
        if str(message.get("role")) not in _ROLES or message.get("parts") is not None:
            return False
        if isinstance(content, str):
            return not any(message.get(key) is not None for key in ("tool_calls", "reasoning_content"))
        is_own = message.get("type") == "message"
        return isinstance(content, list) and all(_is_part(part, is_own=is_own) for part in content)

    def role(self, message: Message) -> str:
        """Return ``user``, ``assistant``, ``tool`` or ``system``; what the model writes is ``assistant``."""
        if type_of(message) == "message":
            return _ROLES.get(str(message.get("role")), "other")
        return "assistant" if is_written_by_model(message) else "tool"

    def views(self, message: Message) -> list[BlockView]:
        """Return the parts of a message; any other item is one block."""
        if type_of(message) != "message":
            return [_item_view(message)]
        content = message.get("content")
        if isinstance(content, str):
            return [BlockView(Kind.TEXT, content, ("content",))]
        if isinstance(content, list):
            return [BlockView(_part_kind(part), part, ("content", index)) for index, part in enumerate(content)]
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
        if kept[0].path == ():
            return dict(kept[0].block)
        if kept[0].path == ("content",):
            return {**message, "content": kept[0].block}
        return {**message, "content": [view.block for view in kept]}

    def result_text(self, view: BlockView) -> str:
        """Return a tool result's text; media in it is left out."""
        output = view.block.get("output")
        if isinstance(output, list):
            texts = (_text_in(part) for part in output)
            return "\n".join(text for text in texts if text is not None)
        return "" if output is None else str(output)

    def with_result(self, view: BlockView, content: str) -> BlockView:
        """Return a tool result with other content, in the shape that its content had."""
        if isinstance(view.block.get("output"), list):
            return view.with_block({**view.block, "output": [_text_part(content)]})
        return view.with_block({**view.block, "output": content})

    def media_views(self, message: Message) -> list[BlockView]:
        """Return every media block of a message, those inside tool results too."""
        found = []
        for field in ("content", "output"):
            parts = message.get(field)
            if isinstance(parts, list):
                found += [BlockView(_part_kind(part), part, (field, index)) for index, part in enumerate(parts)]
        return [view for view in found if view.kind is Kind.MEDIA]

    def media(self, view: BlockView) -> InlineMedia | MediaReference | None:
        """Return what a media block holds: its base64 text, or where it points."""
        part = view.block
        if view.kind is not Kind.MEDIA or not isinstance(part, dict):
            return None
        url = part.get(_URL_FIELDS.get(str(part.get("type")), ""))
        if isinstance(url, str):
            head, comma, data = url.partition(",")
            if comma and head.startswith("data:"):
                return InlineMedia(data, head[5:].partition(";")[0] or None)
            # Anything else in file_data is a payload without its head, which the server refuses (W-O19).
            return MediaReference("url", url) if part["type"] == "input_image" else InlineMedia(url, None)
        if isinstance(part.get("file_url"), str):
            return MediaReference("url", part["file_url"])
        return MediaReference("provider_file", part["file_id"]) if isinstance(part.get("file_id"), str) else None

    def with_media(self, view: BlockView, data: str) -> BlockView:
        """Return a media block with other base64 text (or a marker) in the place of its own."""
        field = _URL_FIELDS[view.block["type"]]
        head, comma, _ = str(view.block[field]).partition(",")
        return view.with_block({**view.block, field: head + comma + data if comma else data})

    def text_block(self, view: BlockView, text: str) -> BlockView:
        """Return a text block in the place of a media block."""
        return BlockView(Kind.TEXT, _text_part(text), view.path)

    def user_message(self, parts: Sequence[UserPart]) -> Message:
        """Return a user message; a single text part becomes plain text, which every dialect reads."""
        if len(parts) == 1 and isinstance(parts[0], TextPart):
            return {"role": "user", "content": parts[0].text}
        return {"role": "user", "content": [_native_part(part) for part in parts]}

    def assistant_message(self, text: str) -> Message:
        """Return an assistant message that carries plain text."""
        return {"role": "assistant", "content": text}

    def result_messages(self, results: Sequence[ToolOutcome]) -> list[Message]:
        """Return one output item per call; the dialect has no mark for an error, so the text says it."""
        return [
            {"type": "function_call_output", "call_id": result.call_id, "output": _output(result.content)}
            for result in results
        ]

    def system_text(self, message: Message) -> str | None:
        """Return a system or developer message's text, ``None`` for any other message."""
        return text_of(message) if self.role(message) == "system" else None

    def mend(self, before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
        """Return what a filter left of a history, without the ids of items that lost their reasoning (W-O2)."""
        return mend(before, after)

    def longest_legal(self, messages: Sequence[Message], count: int) -> int:
        """Return a cut moved back over reasoning items that would be left without a follower (W-O1)."""
        return longest_legal(messages, count)


def text_of(message: Message) -> str:
    """Return the text of a message item, its parts joined with a blank line; refusals count."""
    content = message.get("content")
    if isinstance(content, list):
        texts = (_text_in(part) for part in content)
        return "\n\n".join(text for text in texts if text is not None)
    return "" if content is None else str(content)


def answer_only(text: str) -> tuple[Message, ...]:
    """Return what a run without tools stores of its answer: the text, and none of the server's items (B09)."""
    return ({"role": "assistant", "content": text},)


def wire_item(message: Message) -> Message:
    """Return a stored message as the server takes it: the same object, but for neutral text parts.

    Histories of plain text parts (``{"type": "text"}``) belong to no provider; Responses has its own names for them.
    """
    content = message.get("content")
    if not isinstance(content, list) or not any(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    ):
        return message
    own = "output_text" if message.get("role") == "assistant" else "input_text"
    return {**message, "content": [_renamed(part, own) for part in content]}


def _renamed(part: Any, own: str) -> Any:
    is_text = isinstance(part, dict) and part.get("type") == "text"
    return {"type": own, "text": part.get("text")} if is_text else part


def _item_view(item: Message) -> BlockView:
    kind = kind_of(item)
    if kind not in (Kind.CALL, Kind.RESULT):
        return BlockView(kind, item, ())
    return BlockView(kind, item, (), _string(item.get("call_id")), _string(item.get("name")))


def _is_part(part: Any, *, is_own: bool) -> bool:
    """Whether a content part is of this dialect; in an item that says ``message`` a part of tomorrow is, too."""
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return isinstance(kind, str) and (kind in _PART_KINDS or (is_own and kind != "text"))


def _part_kind(part: Any) -> Kind:
    return _PART_KINDS.get(str(part.get("type")), Kind.OTHER) if isinstance(part, dict) else Kind.OTHER


def _text_in(part: Any) -> str | None:
    if not isinstance(part, dict):
        return None
    return next((part[field] for field in _TEXT_FIELDS if isinstance(part.get(field), str)), None)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _native_part(part: UserPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return _text_part(part.text)
        case MediaPart():
            url = f"data:{part.mime_type};base64,{part.data}"
            if part.kind == "image":
                return {"type": "input_image", "image_url": url, "detail": "auto"}
            return {"type": "input_file", "filename": part.name or _NAMELESS, "file_data": url}


def _output(content: str | Sequence[UserPart]) -> str | list[dict[str, Any]]:
    """Return a tool's outcome as the output field takes it: text, or parts (W-O12)."""
    return content if isinstance(content, str) else [_native_part(part) for part in content]
