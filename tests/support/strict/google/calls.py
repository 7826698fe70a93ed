"""Gemini function calls and responses: order, counts, names, ids, the end of the list (W-G1 to W-G6, W-G9 to W-G11)."""

from __future__ import annotations

from collections import Counter

from support.strict.google.parts import Placed, Turn
from support.strict.rule import Found, Violation, as_text

_CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_ORDER = "Please ensure that function response turn comes immediately after a function call turn."
_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)


def check_turns(turns: list[Turn]) -> Found:
    """W-G1 to W-G4 over joined turns, and W-G6 at the end."""
    for position, turn in enumerate(turns):
        place = turn.parts[0].path if turn.parts else f"contents[{position}]"
        before = turns[position - 1] if position else None
        after = turns[position + 1] if position + 1 < len(turns) else None
        if turn.calls:
            if before is None or before.role != "user":
                yield Violation("W-G1", place, _CALL_ORDER)
            if after is not None and not after.responses:
                yield Violation("W-G3", place, _COUNT)
        if turn.responses:
            if before is None or not before.calls or turn.role != "user":
                yield Violation("W-G2", place, _RESPONSE_ORDER)
            else:
                yield from _check_answers(before.calls, turn.responses, place)
    if turns and turns[-1].role == "model":
        text = "Please ensure that single turn requests end with a user role or the role field is empty."
        yield Violation("W-G6", "contents", text)


def _check_answers(calls: tuple[Placed, ...], responses: tuple[Placed, ...], place: str) -> Found:
    if len(calls) != len(responses):
        yield Violation("W-G3", place, _COUNT)
        return
    called = Counter(_key(placed) for placed in calls)
    answered = Counter(_key(placed) for placed in responses)
    if called != answered:
        lost = next(iter((answered - called) or (called - answered)))
        text = f"Function response '{lost[0]}' (id '{lost[1]}') does not match a function call of the turn before it."
        yield Violation("W-G10", place, text)


def _key(placed: Placed) -> tuple[str, str]:
    inner = placed.call or placed.response or {}
    return as_text(inner.get("name")), as_text(inner.get("id"))


def check_names(turns: list[Turn]) -> Found:
    """W-G9, W-G11: a response names its function and is an object; a call's arguments are one too."""
    for turn in turns:
        for placed in turn.parts:
            for kind, inner, key in (
                ("function_response", placed.response, "response"),
                ("function_call", placed.call, "args"),
            ):
                if inner is None:
                    continue
                place = f"{placed.path}.{kind}"
                if not inner.get("name"):
                    text = f"* GenerateContentRequest.{place}.name: Name cannot be empty.\n"
                    yield Violation("W-G9", place, text)
                if key in inner and not isinstance(inner[key], dict):
                    text = f"Invalid value at '{place}.{key}' (type.googleapis.com/google.protobuf.Struct)"
                    yield Violation("W-G11", place, text)
                elif key == "response" and key not in inner:
                    yield Violation(
                        "W-G11", place, f"* GenerateContentRequest.{place}.response: Response is required.\n"
                    )
