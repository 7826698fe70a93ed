"""The contents of a request: the stored messages as they are, without what the server is known to refuse."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.google import GoogleLens, text_of
from doc_processing_toolkit.dialects.google_parts import is_empty, message_of, spelling_in, without_nulls
from doc_processing_toolkit.dialects.view import InlineMedia, replace_blocks
from doc_processing_toolkit.media.placeholders import placeholder

# Function responses of this row may hold media; elsewhere it goes into a content of its own (W-G27).
MEDIA_IN_RESULTS = "media_in_results"
_ROLES = {"assistant": "model", "model": "model", "user": "user", "function": "user"}
_CLOSER_LOOK = frozenset({"inline_data", "inlineData", "function_response", "functionResponse"})
_LENS = GoogleLens()
_OWN_ROLES = frozenset({"user", "model"})
_REFUSED_PICTURES = frozenset({"image/gif", "image/bmp", "image/tiff", "image/svg+xml"})


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents to send; the texts of system messages, which have no place among them (W-G8).

    ``with_media`` are the positions of the messages that hold inline media; ``warnings`` says what could not be sent
    as it is stored.
    """

    contents: list[Message]
    system: list[str]
    with_media: list[int]
    warnings: set[str]


def sent_contents(messages: Iterable[Message], row: ModelRow) -> Contents:
    """Return the contents to send.

    A content that needs no change is the same object. Left out are parts that hold nothing (W-G20), fields without a
    value, keys that a content does not have (W-G21), contents of nothing, and pictures of a kind that the server does
    not take (W-G26): text says what they were.
    """
    made = Contents([], [], [], set())
    contents = made.contents
    for position, message in enumerate(messages):
        parts = message.get("parts")
        if type(parts) is list:
            if parts and len(message) == 2 and message.get("role") in _OWN_ROLES and all(map(_is_as_sent, parts)):
                contents.append(message)
            else:
                contents.extend(_sent(message, row, made.warnings))
                if _LENS.media_views(message):
                    made.with_media.append(position)
        elif message.get("role") in ("system", "developer"):
            made.system.append(text_of(message))
        else:
            contents.extend(_from_text(message))
    return made


def _is_as_sent(part: Any) -> bool:
    """Whether a part certainly goes as it is; this is asked of every part of a history with each request."""
    if type(part) is not dict or None in part.values():
        return False
    if type(part.get("text")) is str:
        return len(part) == 1 or _CLOSER_LOOK.isdisjoint(part)
    inner = part.get("function_call") or part.get("function_response")
    return type(inner) is dict and None not in inner.values() and "parts" not in inner


def _sent(message: Message, row: ModelRow, warnings: set[str]) -> Sequence[Message]:
    message = _without_refused(message, row, warnings)
    parts = message["parts"]
    kept = [part for part in map(without_nulls, parts) if not is_empty(part)]
    if not kept:
        return ()
    role = _ROLES.get(str(message.get("role")), "user")
    media: list[Any] = []
    if role == "user" and not row.takes_setting(MEDIA_IN_RESULTS):
        for index, part in enumerate(kept):
            kept[index], found = _without_media(part)
            media += found
    is_same = len(kept) == len(parts) and all(map(operator.is_, kept, parts))
    if is_same and len(message) == 2 and message.get("role") in _OWN_ROLES:
        return (message,)
    content = {"role": role, "parts": kept}
    return (content, {"role": "user", "parts": media}) if media else (content,)


def _without_refused(message: Message, row: ModelRow, warnings: set[str]) -> Message:
    """Return the message with text in the place of pictures that the server does not take, on the wire alone."""
    refused = []
    for view in _LENS.media_views(message):
        held = _LENS.media(view)
        if isinstance(held, InlineMedia) and held.mime_type in _REFUSED_PICTURES:
            warnings.add(f"it does not take {held.mime_type} and is told so; attach PNG, JPEG or WebP")
            refused.append(_LENS.text_block(view, placeholder(held, f"not accepted by {row.label}")))
    return replace_blocks(message, refused) if refused else message


def _from_text(message: Message) -> Sequence[Message]:
    """Return the content of a plain text message, which belongs to no provider."""
    content = message.get("content")
    texts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    parts = [{"text": text["text"] if isinstance(text, dict) else text} for text in texts]
    return ({"role": _ROLES.get(str(message.get("role")), "user"), "parts": parts},) if parts else ()


def _without_media(part: Any) -> tuple[Any, list[Any]]:
    """Return a function response's part without its media, and the media; any other part is the same object."""
    response = message_of(part, "function_response")
    if response is None or not response.get("parts"):
        return part, []
    bare = {name: value for name, value in response.items() if name != "parts"}
    return {**part, spelling_in(part, "function_response"): bare}, list(response["parts"])
