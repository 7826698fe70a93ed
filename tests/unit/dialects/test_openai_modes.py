"""The history modes over Responses items: whatever a mode leaves out, the server takes what is left (C02–C06)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.dialects.openai import OpenAILens
from doc_processing_toolkit.dialects.openai_items import as_stored, type_of
from doc_processing_toolkit.history.config import HistoryConfig
from doc_processing_toolkit.history.modes import prepare, stored
from support.strict import WireRequest
from support.strict.responses import check

LENS = OpenAILens()
MODES = ("full", "messages_only", "no_tool_results", "no_reasoning", "compact_tool_results")
Item = dict[str, Any]


def user(text: str = "q") -> Item:
    return {"role": "user", "content": text}


def answer_of(kinds: list[str], number: int) -> list[Item]:
    made: list[Item] = []
    for step, kind in enumerate(kinds):
        mark = f"{number}_{step}"
        match kind:
            case "reasoning":
                made.append({"type": "reasoning", "id": f"rs_{mark}", "summary": [], "encrypted_content": mark})
            case "call":
                made.append(
                    {
                        "type": "function_call",
                        "id": f"fc_{mark}",
                        "call_id": f"c_{mark}",
                        "name": "f",
                        "arguments": "{}",
                    }
                )
            case "search":
                made.append({"type": "web_search_call", "id": f"ws_{mark}", "status": "completed"})
            case _:
                part = {"type": "output_text", "text": "hi", "annotations": []}
                made.append({"type": "message", "id": f"msg_{mark}", "role": "assistant", "content": [part]})
    return as_stored(made, keeps_payloads=True)


def history_of(turns: list[list[str]]) -> list[Item]:
    made: list[Item] = []
    for number, kinds in enumerate(turns):
        answer = answer_of(kinds, number)
        calls = [item["call_id"] for item in answer if type_of(item) == "function_call"]
        results = [{"type": "function_call_output", "call_id": call, "output": "long " * 200} for call in calls]
        made += [user(), *answer, *results]
        if results:
            made += answer_of(["reasoning", "said"], number + 100)
    return made


TURNS = st.lists(
    st.lists(st.sampled_from(["reasoning", "call", "said", "search"]), min_size=1, max_size=5), min_size=1, max_size=4
)


def sent(history: list[Item], mode: str) -> list[Item]:
    """What a request carries of a history: the mode's filter, and what the lens mends behind it."""
    return LENS.mend(history, prepare(history, HistoryConfig(mode=mode), LENS).messages)


@pytest.mark.parametrize("mode", MODES)
@given(TURNS)
def test_what_a_mode_leaves_is_accepted(mode: str, turns: list[list[str]]) -> None:
    items = [*sent(history_of(turns), mode), user("and?")]
    request = WireRequest("responses", {"model": "gpt-6-luna", "input": items, "store": False}, "gpt-6-luna")
    assert [str(found) for found in check(request) if found.status is not None] == []


@given(TURNS)
def test_full_sends_the_very_items_that_are_stored(turns: list[list[str]]) -> None:
    """C12."""
    history = history_of(turns)
    assert all(new is old for new, old in zip(sent(history, "full"), history, strict=True))


@given(TURNS)
def test_C03_messages_only_keeps_questions_and_answers(turns: list[list[str]]) -> None:
    kept = sent(history_of(turns), "messages_only")
    assert all(type_of(item) == "message" for item in kept)
    assert all(item.get("id") is None or item["id"].startswith("msg_") for item in kept)


@given(TURNS)
def test_C05_no_reasoning_leaves_calls_and_results(turns: list[list[str]]) -> None:
    history = history_of(turns)
    kept = sent(history, "no_reasoning")
    for kind in ("function_call", "function_call_output"):
        assert sum(type_of(item) == kind for item in kept) == sum(type_of(item) == kind for item in history)
    assert not any(type_of(item) == "reasoning" for item in kept)


@pytest.mark.parametrize("mode", ["messages_only", "no_reasoning"])
def test_C13_what_is_stored_without_reasoning_is_accepted_later(mode: str) -> None:
    turn = [user(), *answer_of(["reasoning", "call"], 1)]
    turn += [{"type": "function_call_output", "call_id": "c_1_1", "output": "1"}, *answer_of(["reasoning", "said"], 2)]
    kept = LENS.mend(turn, stored(turn, HistoryConfig(mode=mode), LENS))
    assert "id" not in kept[-1]
    request = WireRequest("responses", {"model": "gpt-6-luna", "input": [*kept, user()], "store": False}, "gpt-6-luna")
    assert [found.rule for found in check(request) if found.status is not None] == []


def test_a_long_result_is_compacted_in_its_own_shape() -> None:
    """C06."""
    parts = [
        {"type": "input_text", "text": "long " * 200},
        {"type": "input_image", "image_url": "https://x.test/a.png"},
    ]
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    history = [user(), call, {"type": "function_call_output", "call_id": "c", "output": parts}]
    [part] = sent(history, "compact_tool_results")[2]["output"]
    assert part["type"] == "input_text"
    assert len(part["text"]) < 600
