"""Thinking signatures are really checked: a block that was changed, moved, left out or borrowed is noticed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from support.strict import Call, Thinking, answer, anthropic
from support.strict.answers import Part
from support.strict.anthropic.answer import render
from support.strict.playing import Mint
from support.strict.rule import WireRequest
from support.strict.signer import Signer

Body = dict[str, Any]
PLAIN, PRESERVED = "claude-sonnet-4-6", "claude-opus-5-5"
SIGNER = Signer(b"one")
TOOL = {"name": "add", "input_schema": {"type": "object", "properties": {}}}
BETA = {"anthropic-version": "x", "anthropic-beta": "thinking-binding-controls-2026-08-01"}


class Talk:
    """A conversation that a careful client keeps: what was answered goes back as it was."""

    def __init__(self, model: str, key: str = "k") -> None:
        self.body: Body = {
            "model": model,
            "max_tokens": 4000,
            "system": "be kind",
            "tools": [TOOL],
            "thinking": {"type": "adaptive"},
            "messages": [],
        }
        self.key = key
        self.turns = 0

    def request(self, **headers: Any) -> WireRequest:
        return WireRequest("anthropic", self.body, model=self.body["model"], key=self.key, headers=headers or BETA)

    def say(self, content: Any) -> None:
        self.body["messages"].append({"role": "user", "content": content})

    def take(self, *parts: Part | str) -> Body:
        self.turns += 1
        mint = Mint.fresh(SIGNER, f"{id(self)} {self.turns}", self.key)
        message = render(answer(*parts), self.request(), mint).body
        self.body["messages"].append({"role": "assistant", "content": copy.deepcopy(message["content"])})
        return message

    def results(self) -> None:
        calls = [block for block in self.body["messages"][-1]["content"] if block["type"] == "tool_use"]
        self.say([{"type": "tool_result", "tool_use_id": call["id"], "content": "3"} for call in calls])

    def broken(self) -> list[str]:
        return sorted({found.rule for found in anthropic.check(self.request(), SIGNER)})


def closed_and_open(model: str) -> Talk:
    """Two closed turns, the first with a tool round, then an open round with two thinking blocks."""
    talk = Talk(model)
    talk.say("one")
    talk.take(Thinking("first"), Call("add"))
    talk.results()
    talk.take(Thinking("second"), "3")
    talk.say("two")
    talk.take(Thinking("third"), "4")
    talk.say("three")
    talk.take(Thinking("fourth"), "well", Thinking("fifth"), Call("add"), Call("add"))
    talk.results()
    return talk


def blocks(talk: Talk, message: int) -> list[Body]:
    content: list[Body] = talk.body["messages"][message]["content"]
    return content


@pytest.mark.parametrize("model", [PLAIN, PRESERVED, "claude-haiku-5-5", "claude-fable-5-1"])
def test_a_conversation_that_goes_back_as_it_was_is_taken(model: str) -> None:
    assert closed_and_open(model).broken() == []


def changed_text(talk: Talk) -> None:
    blocks(talk, 7)[0]["thinking"] = "fourth!"


def forged(talk: Talk) -> None:
    blocks(talk, 7)[0]["signature"] = "EqQBCkYIBxgCIkDw"


def truncated(talk: Talk) -> None:
    blocks(talk, 7)[0]["signature"] = blocks(talk, 7)[0]["signature"][:-8]


def one_of_two_left_out(talk: Talk) -> None:
    del blocks(talk, 7)[2]


def all_left_out(talk: Talk) -> None:
    talk.body["messages"][7]["content"] = [b for b in blocks(talk, 7) if b["type"] != "thinking"]


def swapped(talk: Talk) -> None:
    content = blocks(talk, 7)
    content[0], content[2] = content[2], content[0]


def repeated(talk: Talk) -> None:
    blocks(talk, 7).insert(0, blocks(talk, 7)[0])


def borrowed_from_an_earlier_round(talk: Talk) -> None:
    blocks(talk, 7)[0] = blocks(talk, 1)[0]


@pytest.mark.parametrize("model", [PLAIN, PRESERVED])
@pytest.mark.parametrize(
    ("harm", "rule"),
    [
        (changed_text, "W-A23"),
        (forged, "W-A26"),
        (truncated, "W-A26"),
        (one_of_two_left_out, "W-A23"),
        (all_left_out, "W-A23"),
        (swapped, "W-A23"),
        (repeated, "W-A23"),
        (borrowed_from_an_earlier_round, "W-A23"),
    ],
)
def test_the_open_round_must_stay_exactly_as_it_was(model: str, harm: Callable[[Talk], None], rule: str) -> None:
    talk = closed_and_open(model)
    harm(talk)
    assert rule in talk.broken()


def test_a_changed_text_in_a_closed_turn_is_an_invalid_signature() -> None:
    talk = closed_and_open(PLAIN)
    blocks(talk, 1)[0]["thinking"] = "else"
    assert talk.broken() == ["W-A26"]


def test_a_block_moved_to_another_answer_with_calls_is_noticed() -> None:
    talk = closed_and_open(PLAIN)
    blocks(talk, 1)[0] = blocks(talk, 3)[0]
    assert talk.broken() == ["W-A26"]


def test_closed_turns_may_lose_their_thinking_on_models_that_do_not_bind_it() -> None:
    talk = closed_and_open(PLAIN)
    for message in (1, 3, 5):
        talk.body["messages"][message]["content"] = [b for b in blocks(talk, message) if b["type"] != "thinking"]
    assert talk.broken() == []


def test_redacted_thinking_and_hidden_thinking_are_bound_too() -> None:
    talk = Talk(PRESERVED)
    talk.say("one")
    talk.take(Thinking("secret", redacted=True), Thinking("hidden", hidden=True), Call("add"))
    talk.results()
    assert blocks(talk, 1)[1]["thinking"] == ""
    assert talk.broken() == []
    blocks(talk, 1)[0]["data"] = "abcd"
    assert "W-A26" in talk.broken()


def system_changed(talk: Talk) -> None:
    talk.body["system"] = "be rude"


def tool_added(talk: Talk) -> None:
    talk.body["tools"].append({**TOOL, "name": "more"})


def earlier_question_changed(talk: Talk) -> None:
    talk.body["messages"][0]["content"] = "uno"


def earlier_result_cleared(talk: Talk) -> None:
    blocks(talk, 2)[0]["content"] = "[cleared]"


def middle_block_left_out(talk: Talk) -> None:
    talk.body["messages"][3]["content"] = [b for b in blocks(talk, 3) if b["type"] != "thinking"]


def earlier_turn_left_out(talk: Talk) -> None:
    del talk.body["messages"][4:6]


@pytest.mark.parametrize(
    "harm",
    [
        system_changed,
        tool_added,
        earlier_question_changed,
        earlier_result_cleared,
        middle_block_left_out,
        earlier_turn_left_out,
    ],
)
def test_preserved_thinking_is_bound_to_the_conversation_before_it(harm: Callable[[Talk], None]) -> None:
    talk = closed_and_open(PRESERVED)
    harm(talk)
    assert "W-A29" in talk.broken()
    loose = closed_and_open(PLAIN)
    harm(loose)
    assert "W-A29" not in loose.broken()


def leading_run_removed(talk: Talk) -> None:
    for message in (1, 3):
        talk.body["messages"][message]["content"] = [b for b in blocks(talk, message) if b["type"] != "thinking"]


def cache_mark_moved(talk: Talk) -> None:
    blocks(talk, 2)[0]["cache_control"] = {"type": "ephemeral"}


def effort_changed(talk: Talk) -> None:
    talk.body["output_config"] = {"effort": "low"}


def question_in_block_form(talk: Talk) -> None:
    talk.body["messages"][0]["content"] = [{"type": "text", "text": "one"}]


@pytest.mark.parametrize("ease", [leading_run_removed, cache_mark_moved, effort_changed, question_in_block_form])
def test_what_does_not_break_a_prefix_is_taken(ease: Callable[[Talk], None]) -> None:
    talk = closed_and_open(PRESERVED)
    ease(talk)
    assert talk.broken() == []


def test_what_was_refused_as_bound_elsewhere_may_be_removed_from_the_open_round() -> None:
    talk = closed_and_open(PRESERVED)
    earlier_question_changed(talk)
    refused = anthropic.check(talk.request(), SIGNER)
    released = {str(found.details[0]["response"]) for found in refused if found.rule == "W-A29"}
    for message in talk.body["messages"]:
        if message["role"] == "assistant":
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    assert talk.broken() == ["W-A23"]
    assert anthropic.check(talk.request(), SIGNER, released) == []


def test_thinking_sent_with_thinking_off_is_a_warning_where_the_prefix_is_checked() -> None:
    for model, expected in (("claude-haiku-5-5", [("X-A5", None)]), (PLAIN, [])):
        talk = Talk(model)
        talk.say("one")
        talk.take(Thinking("hm"), "3")
        talk.say("two")
        talk.body["thinking"] = {"type": "disabled"}
        assert [(found.rule, found.status) for found in anthropic.check(talk.request(), SIGNER)] == expected


def test_drop_block_reports_the_broken_blocks_and_later_ones_hold() -> None:
    talk = closed_and_open(PRESERVED)
    talk.body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    earlier_question_changed(talk)
    assert talk.broken() == []
    message = talk.take(Thinking("sixth"), "5")
    dropped = message["input_transformations"]
    assert {entry["reason"] for entry in dropped} == {"prefix_binding_mismatch"}
    assert len(dropped) == 5
    talk.say("four")
    assert talk.broken() == []
    again = talk.take("6")["input_transformations"]
    assert [entry["path"] for entry in again] == [entry["path"] for entry in dropped]


def test_without_the_binding_beta_nothing_is_reported() -> None:
    talk = closed_and_open(PRESERVED)
    mint = Mint.fresh(SIGNER, "x", "k")
    plain = WireRequest("anthropic", talk.body, model=PRESERVED, key="k", headers={"anthropic-version": "x"})
    assert "input_transformations" not in render(answer("a"), plain, mint).body


@pytest.mark.parametrize(
    ("minted", "served", "reason"),
    [
        ("claude-fable-5-1", "claude-sonnet-5", "model_binding_mismatch"),
        ("claude-sonnet-4-6", "claude-haiku-5-5", "model_binding_mismatch"),
        ("claude-sonnet-4-6", "claude-fable-5-1", None),
        ("claude-haiku-5-5", "claude-opus-5-5", None),
    ],
)
def test_a_block_that_the_model_cannot_read_is_dropped_in_silence(minted: str, served: str, reason: str | None) -> None:
    talk = Talk(minted)
    talk.say("one")
    talk.take(Thinking("hm"), "3")
    talk.say("two")
    talk.body["model"] = served
    assert talk.broken() == []
    reasons = [entry["reason"] for entry in talk.take("4")["input_transformations"]]
    assert reasons == ([reason] if reason else [])


def test_another_key_is_another_organisation_and_another_secret_a_stranger() -> None:
    talk = closed_and_open(PRESERVED)
    talk.key = "other"
    assert talk.broken() == []
    reasons = {entry["reason"] for entry in talk.take("4")["input_transformations"]}
    assert reasons == {"organization_binding_mismatch"}
    stranger = anthropic.check(closed_and_open(PRESERVED).request(), Signer(b"two"))
    assert {found.rule for found in stranger} == {"W-A26"}
