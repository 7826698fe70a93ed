"""The messages of a request: the stored ones as they are, without what the server is known to refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.anthropic import type_of
from doc_processing_toolkit.dialects.anthropic_turns import THINKING, running_turn_start, token_of
from doc_processing_toolkit.providers.base import RequestFailedError

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
LONGEST_IMAGE_BASE64 = 10 * 1024 * 1024
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
        made = _sent(message, index < running, omission.tokens)
        if made is None:
            continue
        if type(made["content"]) is list:
            _check_pictures(made["content"], row)
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


def _sent(message: Message, leaves_out_thinking: bool, tokens: frozenset[str]) -> Message | None:
    content = message.get("content")
    if type(content) is str:
        if not content or content.isspace():
            return None
        return message if message.keys() <= _OWN_KEYS else {"role": message["role"], "content": content}
    if not isinstance(content, list):
        return None
    kept = [part for part in map(_sent_part, content) if part is not None and not _is_empty(part)]
    if leaves_out_thinking:
        kept = [part for part in kept if type_of(part) not in THINKING]
    elif tokens:
        kept = [part for part in kept if token_of(part) not in tokens]
    if all(_is_blank(part) for part in kept):
        return None
    if len(kept) == len(content) and message.keys() <= _OWN_KEYS and all(map(_is_same, kept, content)):
        return message
    return {"role": message["role"], "content": kept}


def _sent_part(part: Any) -> Any:
    """Return a block without empty text in a tool result's list; the same object when there is none."""
    if type_of(part) != "tool_result" or not isinstance(part.get("content"), list):
        return part
    inner = [block for block in part["content"] if not _is_empty(block)]
    return part if len(inner) == len(part["content"]) else {**part, "content": inner}


def _is_same(one: Any, other: Any) -> bool:
    return one is other


def _is_empty(part: Any) -> bool:
    return type_of(part) == "text" and not part.get("text")


def _is_blank(part: Any) -> bool:
    return type_of(part) == "text" and str(part.get("text")).isspace()


def _check_pictures(content: list[Any], row: ModelRow) -> None:
    for part in content:
        kind = type_of(part)
        if kind == "image":
            _check_picture(part.get("source"), row)
        elif kind == "tool_result" and isinstance(part.get("content"), list):
            _check_pictures(part["content"], row)


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
