"""Anthropic histories turn by turn: what a completed turn stores (B08), and where the running turn begins."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from doc_processing_toolkit.dialects.anthropic_turns import (
    round_lacks_thinking,
    running_turn_start,
    stored_turn,
    token_of,
)

THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "d"}
CALL = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "3"}]}
CITED = {"type": "text", "text": "b", "citations": [{"type": "char_location"}]}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def asked(said: str) -> dict[str, Any]:
    return {"role": "user", "content": said}


def answered(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_b08_a_turn_that_thought_stores_its_answer_as_the_block_list_and_its_question_in_blocks() -> None:
    turn = [asked("hi"), answered(THINKING, REDACTED, text("a"))]
    assert stored_turn(turn, retains_thinking=True) == [{"role": "user", "content": [text("hi")]}, turn[1]]


def test_b08_with_tools_the_question_stays_as_it_was_asked() -> None:
    turn = [asked("hi"), answered(THINKING, CALL), RESULT, answered(THINKING, text("a"))]
    assert stored_turn(turn, retains_thinking=True) == turn


def test_b08_a_turn_that_thought_before_its_tools_only_keeps_its_answer_in_blocks() -> None:
    turn = [asked("hi"), answered(THINKING, CALL), RESULT, answered(text("a"))]
    assert stored_turn(turn, retains_thinking=True) == turn


def test_b08_a_turn_without_thinking_stores_plain_text() -> None:
    for turn in ([asked("hi"), answered(text("a"), text("b"))], [asked("hi"), answered(CALL), RESULT, answered(CITED)]):
        stored = stored_turn(turn, retains_thinking=True)
        assert stored[:-1] == turn[:-1]
        assert stored[-1] == {"role": "assistant", "content": "ab" if len(turn) == 2 else "b"}


def test_b08_any_other_row_stores_plain_text_and_leaves_tool_rounds_as_they_are() -> None:
    turn = [asked("hi"), answered(THINKING, CALL), RESULT, answered(THINKING, text("a"), CITED)]
    before = copy.deepcopy(turn)
    assert stored_turn(turn, retains_thinking=False) == [*turn[:3], {"role": "assistant", "content": "ab"}]
    assert turn == before


def test_blocks_that_are_neither_text_nor_thinking_are_not_lost() -> None:
    turn = [asked("hi"), answered(THINKING, SEARCH, text("a"), {"type": "new"})]
    assert stored_turn(turn, retains_thinking=False)[-1] == answered(SEARCH, text("a"), {"type": "new"})


@pytest.mark.parametrize("turn", [[], [asked("hi")], [asked("hi"), answered(CALL)], [asked("hi"), RESULT]])
def test_what_does_not_end_in_an_answer_is_stored_as_it_is(turn: list[Any]) -> None:
    assert stored_turn(turn, retains_thinking=True) == turn
    assert stored_turn(turn, retains_thinking=False) == turn


def test_a_media_question_is_in_blocks_already() -> None:
    question = {"role": "user", "content": [{"type": "image"}, text("hi")]}
    assert stored_turn([question, answered(THINKING)], retains_thinking=True)[0] is question


@pytest.mark.parametrize(
    ("messages", "start"),
    [
        ([], 0),
        ([asked("a")], 0),
        ([asked("a"), answered(text("b")), asked("c")], 2),
        ([asked("a"), answered(text("b")), asked("c"), answered(CALL), RESULT], 2),
        ([asked("a"), answered(text("b")), asked("c"), answered(CALL), RESULT, asked("hurry")], 2),
        ([asked("a"), answered(text("b")), asked("c"), asked("d"), answered(CALL), RESULT, answered(text("e"))], 2),
        ([answered(CALL), RESULT], 0),
    ],
)
def test_the_running_turn_begins_at_its_question(messages: list[Any], start: int) -> None:
    assert running_turn_start(messages) == start


def test_a_thinking_blocks_token_is_its_signature_or_its_data() -> None:
    assert [token_of(block) for block in (THINKING, REDACTED, text("a"), {"type": "thinking"}, "odd")] == [
        "s",
        "d",
        None,
        "",
        None,
    ]


@pytest.mark.parametrize(
    ("messages", "lacks"),
    [
        ([asked("a")], False),
        ([asked("a"), answered(text("b")), asked("c")], False),
        ([asked("a"), answered(CALL), RESULT], True),
        ([asked("a"), answered(text("b"), CALL), RESULT], True),
        ([asked("a"), answered(THINKING, CALL), RESULT, answered(CALL), RESULT], False),
        ([asked("a"), answered(REDACTED, CALL), RESULT], False),
        ([asked("a"), {"role": "assistant", "content": "b"}], True),
    ],
)
def test_a_round_that_did_not_begin_with_thinking_is_known(messages: list[Any], lacks: bool) -> None:
    assert round_lacks_thinking(messages) is lacks
