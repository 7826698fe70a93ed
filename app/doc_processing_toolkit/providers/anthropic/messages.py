"""The messages of a request: the stored ones as they are, without what the server is known to refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.anthropic import IMAGE_TYPES, LONGEST_IMAGE_BASE64, type_of
from doc_processing_toolkit.dialects.anthropic_turns import THINKING, running_turn_start, token_of
from doc_processing_toolkit.providers.base import RequestFailedError

_OWN_KEYS = frozenset({"role", "content"})


@dataclass(frozen=True, slots=True)
class Omission:
    """Which thinking stays out of a request: that of the turns before the running one, and that with these tokens."""

    earlier_thinking: bool = False
    tokens: frozenset[str] = frozenset()


def sent_messages(messages: Sequence[Message], row: ModelRow, omission: Omission) -> list[Message]:
    """Return the messages to send; those that need no change are the same objects.

    Left out are empty text blocks, messages without content (W-A16 to W-A18), keys that no message has (W-A13), and
    the thinking that ``omission`` names. Raises :class:`RequestFailedError` for a picture that the server does not
    take (W-A38).
    """
    running = running_turn_start(messages) if omission.earlier_thinking else 0
    sent = []
    for index, message in enumerate(messages):
        leaves_out_thinking = index < running
        if _is_sent_as_it_is(message, row, leaves_out_thinking or bool(omission.tokens)):
            sent.append(message)
            continue
        made = _sent(message, leaves_out_thinking, omission.tokens)
        if made is not None:
            sent.append(made)
    return sent


def tokens_from(messages: Sequence[Message], message: int, block: int) -> set[str]:
    """Return the tokens of the thinking that is invalid when the block at this place is bound elsewhere (W-A30).

    Those are the block and all later ones; the running turn's were minted for the conversation as it was sent, so
    they hold unless the block is one of them.
    """
    end = running_turn_start(messages)
    end = len(messages) if message >= end else end
    tokens = set()
    for index in range(message, end):
        content = messages[index].get("content")
        for place, part in enumerate(content if isinstance(content, list) else ()):
            token = token_of(part)
            if token and (index, place) >= (message, block):
                tokens.add(token)
    return tokens


def _is_sent_as_it_is(message: Message, row: ModelRow, may_lose_thinking: bool) -> bool:
    """Whether a message needs no change: nearly every one, so this is the quick way past the others."""
    content = message.get("content")
    if type(content) is str:
        return bool(content) and not content.isspace() and len(message) == len(_OWN_KEYS)
    if type(content) is not list or not content or len(message) != len(_OWN_KEYS):
        return False
    is_plain, has_substance = True, False
    for part in content:
        match kind := type_of(part):
            case "text":
                text = part.get("text")
                is_plain = is_plain and bool(text)
                has_substance = has_substance or not str(text).isspace()
            case "tool_result":
                inner = part.get("content")
                has_substance = True
                if type(inner) is list:
                    is_plain = is_plain and not any(map(_is_empty, inner))
                    _check_pictures(inner, row)
            case _:
                has_substance = True
                is_plain = is_plain and not (may_lose_thinking and kind in THINKING)
                if kind == "image":
                    _check_picture(part.get("source"), row)
    return is_plain and has_substance


def _sent(message: Message, leaves_out_thinking: bool, tokens: frozenset[str]) -> Message | None:
    content = message.get("content")
    if isinstance(content, str):
        return {"role": message["role"], "content": content} if content.strip() else None
    if not isinstance(content, list):
        return None
    kept = [part for part in map(_sent_part, content) if part is not None and not _is_empty(part)]
    if leaves_out_thinking:
        kept = [part for part in kept if type_of(part) not in THINKING]
    elif tokens:
        kept = [part for part in kept if token_of(part) not in tokens]
    if all(_is_blank(part) for part in kept):
        return None
    if len(kept) == len(content) and message.keys() <= _OWN_KEYS and all(map(is_, kept, content)):
        return message
    return {"role": message["role"], "content": kept}


def _sent_part(part: Any) -> Any:
    """Return a block without empty text in a tool result's list; the same object when there is none."""
    if type_of(part) != "tool_result" or not isinstance(part.get("content"), list):
        return part
    inner = [block for block in part["content"] if not _is_empty(block)]
    return part if len(inner) == len(part["content"]) else {**part, "content": inner}


def _is_empty(part: Any) -> bool:
    return type_of(part) == "text" and not part.get("text")


def _is_blank(part: Any) -> bool:
    return type_of(part) == "text" and str(part.get("text")).isspace()


def _check_pictures(content: list[Any], row: ModelRow) -> None:
    for part in content:
        if type_of(part) == "image":
            _check_picture(part.get("source"), row)


def _check_picture(source: Any, row: ModelRow) -> None:
    if not isinstance(source, dict) or source.get("type") != "base64":
        return
    kind, size = source.get("media_type"), len(source.get("data") or "")
    if kind not in IMAGE_TYPES:
        raise _unsendable(row, f"a picture of the kind {kind}; it takes JPEG, PNG, GIF and WebP", "unsupported_media")
    if size > LONGEST_IMAGE_BASE64:
        raise _unsendable(
            row,
            f"a picture of {size * 3 / 4 / 2**20:.1f} MiB; the most is 7.5 MiB, so attach a smaller one",
            "media_too_large",
        )


def _unsendable(row: ModelRow, what: str, code: str) -> RequestFailedError:
    return RequestFailedError(f"{row.label} does not take {what}", is_retryable=False, provider=row.provider, code=code)
