"""Chat-completions pairing and the reasoning of an open round (W-F4, W-F7)."""

from __future__ import annotations

from typing import Any

from support.strict.chat.profiles import Profile
from support.strict.rule import Found, Json, Violation, as_list, as_object
from support.strict.signer import Signer


def check_pairing(messages: list[Any]) -> Found:
    """W-F4: every call is answered right after its message, every tool message answers such a call."""
    open_ids: list[str] = []
    opener = 0
    for number, given in enumerate(messages):
        message = as_object(given)
        if message.get("role") == "tool":
            identifier = message.get("tool_call_id")
            if identifier not in open_ids:
                yield _stray(number)
            else:
                open_ids.remove(identifier)
            continue
        if open_ids:
            yield _unanswered(opener, open_ids)
        open_ids, opener = [str(as_object(call).get("id")) for call in as_list(message.get("tool_calls"))], number
        if len(set(open_ids)) != len(open_ids):
            text = f"Duplicate value for 'tool_call_id' of '{open_ids[0]}' in message[{number}]."
            yield Violation("W-F4", f"messages[{number}]", text)
    if open_ids:
        yield _unanswered(opener, open_ids)


def _stray(number: int) -> Violation:
    text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    place = f"messages.[{number}].role"
    return Violation("W-F4", place, text, param=place)


def _unanswered(number: int, ids: list[str]) -> Violation:
    text = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )
    return Violation("W-F4", f"messages[{number}]", text, param=f"messages.[{number}].role")


def check_reasoning(messages: list[Any], profile: Profile, signer: Signer | None, *, thinks: bool) -> Found:
    """W-F6, W-F7: while the last message is a tool's, the calls of that round carry the reasoning they came with."""
    if not messages or as_object(messages[-1]).get("role") != "tool":
        return
    for number in range(len(messages) - 1, -1, -1):
        message = as_object(messages[number])
        if message.get("role") == "user":
            return
        if not message.get("tool_calls") or message.get("reasoning_content"):
            continue
        if (profile.needs_reasoning_back and thinks) or _had_reasoning(message, signer):
            text = "The `reasoning_content` in the thinking mode must be passed back to the API."
            yield Violation("W-F7", f"messages[{number}]", text)


def _had_reasoning(message: Json, signer: Signer | None) -> bool:
    ids = [str(as_object(call).get("id")) for call in as_list(message.get("tool_calls"))]
    marks = [signer.read_mark("call_", identifier) for identifier in ids] if signer else []
    return any(mark is not None and mark[2] != "00" for mark in marks)
