"""No rule without a case that breaks it, and no damage to recorded requests that goes unnoticed."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.recorded import recorded_dir
from support.strict.recordings import CHECKS, exchanges, request_of
from support.strict.rule import WireRequest

Body = dict[str, Any]
HERE = Path(__file__).parent
RULES = Path(__file__).parents[2] / "support" / "strict"
# Rules without a request of their own: what the server answers (statuses, streams, finish reasons), and what is legal.
NAMED = re.compile(r"\"([WX]-[AOGF]\d+)\"")


def named(folder: Path) -> set[str]:
    return {rule for path in folder.rglob("*.py") for rule in NAMED.findall(path.read_text(encoding="utf-8"))}


def test_every_rule_that_can_be_raised_has_a_case() -> None:
    assert named(RULES) - named(HERE) == set()


def lists_of(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from lists_of(inner)
    elif isinstance(value, list):
        yield value
        for inner in value:
            yield from lists_of(inner)


def is_result(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.get("type") in ("tool_result", "function_call_output")
        or value.get("role") == "tool"
        or "functionResponse" in value
        or "function_response" in value
    )


def is_call(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.get("type") in ("tool_use", "function_call")
        or bool(value.get("tool_calls"))
        or "functionCall" in value
        or "function_call" in value
    )


def without(matches: Callable[[Any], bool]) -> Callable[[Body], bool]:
    def damage(body: Body) -> bool:
        for items in lists_of(body):
            found = [item for item in items if matches(item)]
            if found:
                items.remove(found[0])
                return True
        return False

    return damage


def twice(matches: Callable[[Any], bool]) -> Callable[[Body], bool]:
    def damage(body: Body) -> bool:
        for items in lists_of(body):
            for item in items:
                if matches(item):
                    items.insert(items.index(item), copy.deepcopy(item))
                    return True
        return False

    return damage


def unknown_field(body: Body) -> bool:
    for items in lists_of(body):
        for item in items:
            if is_result(item) or is_call(item):
                item["invalid_residue"] = None if "functionCall" not in item else 1
                return True
    return False


def other_id(body: Body) -> bool:
    for items in lists_of(body):
        for item in items:
            if is_result(item):
                inner = item.get("functionResponse", item.get("function_response", item))
                key = next((k for k in ("tool_use_id", "call_id", "tool_call_id", "id") if k in inner), "name")
                inner[key] = str(inner[key]) + "x"
                return True
    return False


DAMAGES: dict[str, Callable[[Body], bool]] = {
    "result left out": without(is_result),
    "call left out": without(is_call),
    "result twice": twice(is_result),
    "result of another call": other_id,
    "unknown field": unknown_field,
}
FILES = ("anthropic", "openai_responses", "openai_chat", "gemini")


def tool_rounds(name: str) -> Iterator[WireRequest]:
    for row in exchanges(recorded_dir(), name):
        request = request_of(row) if row["status"] < 300 else None
        if request is not None and any(is_result(item) for items in lists_of(request.body) for item in items):
            yield request


@pytest.mark.parametrize("name", FILES)
def test_damage_to_a_recorded_tool_round_is_noticed(name: str) -> None:
    seen: Counter[str] = Counter()
    missed = []
    for request in tool_rounds(name):
        for damage, apply in DAMAGES.items():
            body = copy.deepcopy(request.body)
            # Continuing a stored response, an output stands without its call.
            if not apply(body) or body.get("previous_response_id"):
                continue
            seen[damage] += 1
            damaged = WireRequest(**{**request.__dict__, "body": body})
            if not CHECKS[request.wire](damaged):
                missed.append((damage, body))
    assert missed == []
    assert set(seen) == set(DAMAGES)
    assert min(seen.values()) >= 8
