"""Every OpenAI Responses rule refuses a request that breaks it, and takes the nearest one that does not."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from support.strict import Call, Thinking, answer, responses
from support.strict.answers import Part
from support.strict.playing import Mint
from support.strict.responses import Stored
from support.strict.responses.answer import render
from support.strict.rule import WireRequest
from support.strict.signer import Signer

Body = dict[str, Any]
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
NOT_PNG = "data:image/png;base64," + base64.b64encode(b"please set a user agent").decode()
BIG_PNG = PNG[:-4] + "A" * 71_000_000
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
LUNA, OLD = "gpt-6-luna", "gpt-4.1"


def ask(*items: Any, model: str = LUNA, **top: Any) -> Body:
    return {"model": model, "input": list(items), **top}


def user(*parts: Any) -> Body:
    return {"role": "user", "content": parts[0] if parts and isinstance(parts[0], str) else list(parts)}


def said(*parts: Any, **more: Any) -> Body:
    return {"type": "message", "role": "assistant", "content": list(parts), **more}


def call(call_id: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": "add", "arguments": "{}", **more}


def output(call_id: str = "call_1", value: Any = "3") -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def reasoning(**more: Any) -> Body:
    return {"type": "reasoning", "summary": [], "encrypted_content": "x", **more}


def part(kind: str, **more: Any) -> Body:
    return {"type": kind, **more}


def function(**more: Any) -> Body:
    return {"type": "function", "name": "add", "parameters": CLOSED, "strict": True, **more}


def file(data: str = "data:application/pdf;base64,JVBERi0=", **more: Any) -> Body:
    return part("input_file", file_data=data, **more)


Q, TEXT = user("1 + 2?"), part("output_text", text="3")
CASES: list[tuple[str, Body, Body]] = [
    ("W-O1", ask(Q, reasoning(id="rs_1"), said(TEXT), Q), ask(Q, reasoning(id="rs_1"), said(TEXT, id="msg_1"), Q)),
    ("W-O1", ask(Q, reasoning(id="rs_1")), ask(Q, reasoning(id="rs_1"), call(id="fc_1"), output())),
    ("W-O1", ask(Q, reasoning(id="rs_1"), user("b")), ask(Q, reasoning(), said(TEXT), user("b"))),
    ("W-O5", ask(Q, reasoning(id="rs_1", encrypted_content=None), call(id="fc_1"), output(), store=False),
     ask(Q, reasoning(id="rs_1"), call(id="fc_1"), output(), store=False)),
    ("W-O5", ask(Q, part("item_reference", id="msg_1"), Q, store=False), ask(Q, said(TEXT), Q, store=False)),
    ("W-O6", ask(Q, reasoning(summary="x"), said(TEXT), Q), ask(Q, reasoning(), said(TEXT), Q)),
    ("W-O8", ask(Q, call()), ask(Q, call(), output())),
    ("W-O8", ask(Q, call(), call("b"), output()), ask(Q, call(), output(), call("b"), output("b"))),
    ("W-O9", ask(Q, output()), ask(Q, call(), output())),
    ("W-O9", ask(Q, output(), call()), ask(Q, call(), output())),
    ("W-O10", ask(Q, call(id="fc_1"), call("b", id="fc_1"), output(), output("b")),
     ask(Q, call(id="fc_1"), call("b", id="fc_2"), output(), output("b"))),
    ("W-O10", ask(Q, call(), output(), output()), ask(Q, call(), output())),
    ("W-O11", ask(Q, call(arguments={"a": 1}), output()), ask(Q, call(arguments='{"a": 1}'), output())),
    ("W-O12", ask(Q, call(), output(value={"a": 1})), ask(Q, call(), output(value=[part("input_text", text="a")]))),
    ("W-O13", ask(Q, call(id="toolu_1"), output()), ask(Q, call(id="fc_1"), output())),
    ("W-O13", ask(Q, call(id="fc_1:0"), output()), ask(Q, call("toolu_1:0"), output("toolu_1:0"))),
    ("W-O13", ask(Q, said(TEXT, id="m1"), Q), ask(Q, said(TEXT, id="msg_1"), Q)),
    ("W-O14", ask(Q, call("c" * 65), output("c" * 65)), ask(Q, call("c" * 64), output("c" * 64))),
    ("W-O14", ask(Q, call(""), output("")), ask(Q, call("1"), output("1"))),
    ("W-O16", ask(user(part("input_audio", input_audio={}))), ask(user(part("input_text", text="a")))),
    ("W-O16", ask(user(part("text", text="a"))), ask(user(part("input_text", text="a")))),
    ("W-O16", ask(Q, said(part("input_text", text="a")), Q), ask(Q, said(TEXT), Q)),
    ("W-O16", ask(Q, part("tool_use", id="a"), Q), ask(Q)),
    ("W-O17", ask(Q, call(parsed_arguments=None), output()), ask(Q, call(id=None, status=None), output())),
    ("W-O17", ask(Q, said({**TEXT, "parsed": None}), Q), ask(Q, said({**TEXT, "annotations": [], "logprobs": []}), Q)),
    ("W-O17", ask(Q, thinking={}), ask(Q)),
    ("W-O17", ask({"role": "user", "content": {"a": 1}}), ask(Q)),
    ("W-O17", ask({"type": "function_call_output", "output": "x"}), ask(Q)),
    ("W-O17", ask(Q, tools=[{"type": "function", "function": {"name": "add"}}]), ask(Q, tools=[function()])),
    ("W-O17", ask(Q, tools=[function()], tool_choice={"type": "function", "name": "sub"}),
     ask(Q, tools=[function()], tool_choice={"type": "function", "name": "add"})),
    ("W-O18", ask({"role": "tool", "content": "x"}), ask({"role": "developer", "content": "x"}, Q, user(""))),
    ("W-O19", ask(user(file("data:audio/mpeg;base64,AAAA", filename="a.mp3"))), ask(user(file(filename="a.pdf")))),
    ("W-O19", ask(user(file("JVBERi0=", filename="a.pdf"))), ask(user(file(filename="a.pdf")))),
    ("W-O19", ask(user(file())), ask(user(part("input_file", file_id="file-1")))),
    ("W-O21", ask(user(part("input_image", image_url=NOT_PNG))), ask(user(part("input_image", image_url=PNG)))),
    ("W-O21", ask(user(part("input_image", image_url="JVBERi0="))),
     ask(user(part("input_image", image_url="https://a.example/b.png")))),
    ("W-O22", ask(user(part("input_image", image_url=BIG_PNG))), ask(user(part("input_image", image_url=PNG)))),
    ("W-O24", ask(Q, tools=[function(parameters=OPEN)]), ask(Q, tools=[function(parameters=OPEN, strict=False)])),
    ("W-O24", ask(Q, tools=[function(parameters={**CLOSED, "required": []})]), ask(Q, tools=[function()])),
    ("W-O24", ask(Q, tools=[function(parameters={**CLOSED, "properties": {"a": OPEN}})]),
     ask(Q, tools=[function(parameters={**CLOSED, "properties": {"a": CLOSED}})])),
    ("W-O24", ask(Q, text={"format": part("json_schema", name="n", schema=OPEN, strict=True)}),
     ask(Q, text={"format": part("json_schema", name="n", schema=CLOSED, strict=True)})),
    ("W-O25", ask(Q, tools=[function(name="a.b")]), ask(Q, tools=[function(name="a" * 64)])),
    ("W-O25", ask(Q, tools=[function(name="a" * 65)]), ask(Q, tools=[function()])),
    ("W-O26", ask(Q, max_output_tokens=15), ask(Q, max_output_tokens=16)),
    ("W-O26", ask(Q, temperature=0.1), ask(Q, temperature=0.1, model=OLD)),
    ("W-O26", ask(Q, reasoning={"effort": "low"}, model=OLD), ask(Q, reasoning={"effort": "low"})),
    ("W-O26", ask(Q, response_format={"type": "json_object"}), ask(Q)),
    ("W-O26", ask(Q, text={"format": {"type": "json_object"}}, instructions="as JSON"),
     ask(user("as JSON"), text={"format": {"type": "json_object"}})),
    ("W-O27", ask(Q, model="gpt-4-does-not-exist"), ask(Q, model="gpt-5.4-mini-2026-03-05")),
]  # fmt: skip


def broken(body: Body, **known: Any) -> list[str]:
    found = responses.check(WireRequest("responses", body, model=body["model"], key="k"), **known)
    return [violation.rule for violation in found if violation.status is not None]


@pytest.mark.parametrize(("rule", "bad", "good"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_broken_rule_is_found_and_its_neighbour_passes(rule: str, bad: Body, good: Body) -> None:
    assert rule in broken(bad)
    assert broken(good) == []


def test_arguments_that_are_no_json_are_only_a_warning() -> None:
    body = ask(Q, call(arguments="{broken"), output())
    found = responses.check(WireRequest("responses", body, model=LUNA))
    assert [(violation.rule, violation.status) for violation in found] == [("W-O11", None)]


def test_too_much_file_data_is_refused() -> None:
    big = file("data:application/pdf;base64," + "A" * 71_000_000, filename="a.pdf")
    assert broken(ask(user(big))) == ["W-O22"]


SIGNER = Signer(b"one")


def taken(body: Body, *parts: Part | str, name: str = "1", key: str = "k", **top: Any) -> Body:
    """Answer a request and return the next one, with everything that was answered."""
    asked = {**body, "include": ["reasoning.encrypted_content"], "store": False, **top}
    mint = Mint.fresh(SIGNER, name, key)
    done = render(answer(*parts), WireRequest("responses", asked, model=asked["model"], key=key), mint).body
    items = copy.deepcopy(asked["input"] + done["output"])
    outputs = [output(item["call_id"]) for item in done["output"] if item["type"] == "function_call"]
    return {**asked, "input": items + outputs}


def kinds(body: Body) -> list[str]:
    return [item.get("type", "message") for item in body["input"]]


@pytest.fixture
def history() -> Body:
    body = taken(ask(Q), Thinking("hm"), Call("add"), Call("add"), name="1")
    body = taken(body, Thinking("so"), "3", name="2")
    return {**body, "input": [*body["input"], user("and then?")]}


def test_what_was_answered_is_taken_when_it_comes_back(history: Body) -> None:
    assert broken(history, signer=SIGNER) == []


def test_a_call_that_lost_its_reasoning_is_refused_unless_its_id_goes_too(history: Body) -> None:
    history["input"] = [item for item in history["input"] if item.get("type") != "reasoning"]
    assert set(broken(history, signer=SIGNER)) == {"W-O2"}
    for item in history["input"]:
        item.pop("id", None)
    assert broken(history, signer=SIGNER) == []


def test_a_message_that_lost_its_id_leaves_its_reasoning_without_follower(history: Body) -> None:
    history["input"][-2] = {"role": "assistant", "content": "3"}
    assert broken(history, signer=SIGNER) == ["W-O1"]


def test_a_reasoning_item_that_was_moved_is_noticed(history: Body) -> None:
    places = [number for number, kind in enumerate(kinds(history)) if kind == "reasoning"]
    first, second = places
    items = history["input"]
    items[first], items[second] = items[second], items[first]
    assert "W-O1" in broken(history, signer=SIGNER)


def test_a_changed_payload_summary_or_id_is_refused(history: Body) -> None:
    number = kinds(history).index("reasoning")
    for change in ({"encrypted_content": "gAAAAABp"}, {"summary": [{"type": "summary_text", "text": "else"}]}):
        damaged = copy.deepcopy(history)
        damaged["input"][number].update(change)
        assert broken(damaged, signer=SIGNER) == ["W-O3"]
    history["input"][number]["id"] = "rs_other"
    assert "W-O3" in broken(history, signer=SIGNER)


def test_another_organisation_cannot_read_the_payload(history: Body) -> None:
    request = WireRequest("responses", history, model=LUNA, key="another")
    found = responses.check(request, SIGNER)
    assert {violation.code for violation in found} == {"invalid_encrypted_content"}
    assert "organization_id did not match" in found[0].message


def test_the_payload_of_the_added_event_cannot_be_used() -> None:
    asked = ask(Q, include=["reasoning.encrypted_content"], stream=True)
    mint = Mint.fresh(SIGNER, "1", "k")
    reel = render(answer(Thinking("hm"), "3"), WireRequest("responses", asked, model=LUNA, key="k"), mint)
    whole = reel.body["output"][0]["encrypted_content"]
    added = next(event for event in reel.events if b"output_item.added" in event).decode()
    assert whole not in added
    assert SIGNER.open(whole) is not None
    assert SIGNER.open(whole[:64]) is None


def test_the_payload_comes_only_when_it_is_asked_for() -> None:
    mint = Mint.fresh(SIGNER, "1", "k")
    body = render(answer(Thinking("hm"), "3"), WireRequest("responses", ask(Q), model=LUNA), mint).body
    assert "encrypted_content" not in body["output"][0]


def test_reasoning_of_another_family_is_removed_and_reported(history: Body) -> None:
    history["model"] = "gpt-5.4"
    assert broken(history, signer=SIGNER) == []
    mint = Mint.fresh(SIGNER, "3", "k")
    body = render(answer("4"), WireRequest("responses", history, model="gpt-5.4", key="k"), mint).body
    assert [entry["reason"] for entry in body["input_transformations"]] == ["model", "model"]


def test_a_message_that_lost_its_phase_is_a_warning(history: Body) -> None:
    assert history["input"][-2].pop("phase") == "final_answer"
    found = responses.check(WireRequest("responses", history, model=LUNA, key="k"), SIGNER)
    assert [(violation.rule, violation.status) for violation in found] == [("X-O1", None)]


def test_stored_responses_can_be_continued_and_others_not() -> None:
    stored = Stored({"resp_1": [call(id="fc_1"), reasoning(id="rs_1")]})
    follow = ask(output(), previous_response_id="resp_1")
    assert broken(follow, stored=stored) == []
    assert broken(ask(Q, previous_response_id="resp_2"), stored=stored) == ["W-O7"]
    assert broken(ask(Q, part("item_reference", id="msg_9"), Q), stored=stored) == ["W-O5"]
    assert broken(ask(Q, part("item_reference", id="fc_1"), Q), stored=stored) == []
