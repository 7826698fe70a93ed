"""How a Gemini answer ended: what its finish reason means, and when that is a failure (W-G31)."""

from __future__ import annotations

from collections.abc import Mapping

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import Reply, RequestFailedError

CONTINUES = "CONTINUATION"
_STOP_REASONS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens"}
_REFUSALS: Mapping[str, str] = {
    "SAFETY": "it may be harmful",
    "RECITATION": "it would recite a source",
    "LANGUAGE": "its language is not supported",
    "BLOCKLIST": "it holds a blocked word",
    "PROHIBITED_CONTENT": "it may be prohibited content",
    "SPII": "it may hold personal data",
    "MODEL_ARMOR": "a filter of the account blocked it",
    "ESCALATION": "a filter of the account blocked it",
    "PUP_LIMITED_DISABLED": "the account is limited",
    "IMAGE_SAFETY": "the picture may be harmful",
    "IMAGE_PROHIBITED_CONTENT": "the picture may be prohibited content",
    "IMAGE_RECITATION": "the picture would recite a source",
}
# Endings after which nothing that was said can be used, and whether asking again may bring another.
_FAILURES: Mapping[str, tuple[bool, str]] = {
    "MALFORMED_FUNCTION_CALL": (True, "wrote a tool call that cannot be read; send the question again"),
    "UNEXPECTED_TOOL_CALL": (True, "called a tool that it was not given; send the question again"),
    "MALFORMED_RESPONSE": (True, "wrote an answer that cannot be read; send the question again"),
    CONTINUES: (True, "stopped in the middle of its answer; send the question again"),
    "TOO_MANY_TOOL_CALLS": (False, "called too many tools in one answer; ask for less at once"),
    "MISSING_THOUGHT_SIGNATURE": (
        False,
        "does not take this history, for a tool call in it lacks its thought signature; go back to an earlier turn",
    ),
}


def stop_reason_of(finish_reason: str, *, has_calls: bool) -> str:
    """Return the stop reason of a reply: one of those that all providers have, else the server's own word."""
    if finish_reason in _REFUSALS:
        return "refusal"
    reason = _STOP_REASONS.get(finish_reason, finish_reason)
    return "tool_use" if has_calls and reason == "end_turn" else reason


def ending_failure(row: ModelRow, reply: Reply, finish_reason: str, message: str) -> RequestFailedError | None:
    """Return the error that an ending is, ``None`` for one that leaves an answer.

    An answer that breaks off on purpose (for its length, or by a filter) is one as long as something was said.
    """
    said = f" ({message})" if message else ""
    if finish_reason in _FAILURES:
        can_help, what = _FAILURES[finish_reason]
        return _failed(row, f"{row.label} {what}{said}", finish_reason, can_help=can_help)
    if reply.calls or _has_answer(reply):
        return None
    if finish_reason in _REFUSALS:
        text = f"{row.label} declined to answer: {_REFUSALS[finish_reason]}{said}; ask in another way"
        return _failed(row, text, finish_reason)
    if finish_reason == "MAX_TOKENS":
        text = f"{row.label} reached the longest length before it said a word{said}; raise max_output_tokens"
        return _failed(row, text, finish_reason)
    if finish_reason in ("STOP", "OTHER"):
        # Seen with every Gemini: the same request, sent again, is usually answered.
        return _failed(row, f"{row.label} gave an empty answer{said}; send it again", "empty_answer", can_help=True)
    return _failed(row, f"{row.label} gave no answer ({finish_reason}){said}; ask in another way", finish_reason)


def blocked(row: ModelRow, reason: str, message: str) -> RequestFailedError:
    """Return the error for a prompt that was not let through to the model."""
    why = _REFUSALS.get(reason, "no reason was given")
    said = f" ({message})" if message else ""
    return _failed(
        row, f"Google blocked the prompt ({reason}): {why}{said}; ask in another way, or attach less", reason
    )


def _has_answer(reply: Reply) -> bool:
    """Whether anything was said but thoughts: text, or parts of another kind."""
    parts = [part for message in reply.messages for part in message["parts"]]
    return bool(reply.text) or any(part.get("thought") is not True and part.get("text") is None for part in parts)


def _failed(row: ModelRow, text: str, code: str, *, can_help: bool = False) -> RequestFailedError:
    return RequestFailedError(text, is_retryable=can_help, provider=row.provider, code=code)
