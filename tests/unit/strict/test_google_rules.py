"""Every Gemini rule refuses a request that breaks it, and takes the nearest one that does not."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from support.strict import Call, Text, Thinking, answer, google
from support.strict.google import KnownFile
from support.strict.google.answer import render
from support.strict.google.signatures import DUMMIES
from support.strict.playing import Mint
from support.strict.rule import WireRequest
from support.strict.signer import Signer, digest

Body = dict[str, Any]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
PDF = base64.b64encode(b"%PDF-1.7 << /Type /Page >>").decode()
EMPTY_PDF = base64.b64encode(b"%PDF-1.7 nothing").decode()
NEW, OLD = "gemini-3.5-flash-lite", "gemini-2.5-flash"
DUMMY = base64.b64encode(DUMMIES[0].encode()).decode()


def ask(*contents: Any, **top: Any) -> Body:
    return {"contents": list(contents), **top}


def user(*parts: Any) -> Body:
    return {"role": "user", "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def model(*parts: Any) -> Body:
    return {**user(*parts), "role": "model"}


def call(name: str = "add", signed: bool = True, **more: Any) -> Body:
    part = {"functionCall": {"name": name, "args": {}, **more}}
    return {**part, "thoughtSignature": DUMMY} if signed else part


def response(name: str = "add", value: Any = None, **more: Any) -> Body:
    return {"functionResponse": {"name": name, "response": {"r": 3} if value is None else value, **more}}


def inline(data: str, mime: str) -> Body:
    return {"inlineData": {"mimeType": mime, "data": data}}


def declare(parameters: Any = None, name: str = "add", **more: Any) -> Body:
    schema = parameters or {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}
    return {"functionDeclarations": [{"name": name, "parameters": schema, **more}]}


Q, NEXT = user("1 + 2?"), user("and then?")
ROUND = (Q, model(call()), user(response()))
JSON = {"responseMimeType": "application/json"}
CASES: list[tuple[str, Body, Body]] = [
    ("W-G1", ask(model(call()), user(response())), ask(*ROUND)),
    ("W-G2", ask(Q, model("x"), user(response())), ask(*ROUND)),
    ("W-G2", ask(user(response())), ask(*ROUND)),
    ("W-G3", ask(Q, model(call(), call("b")), user(response())),
     ask(Q, model(call(), call("b")), user(response(), response("b")))),
    ("W-G3", ask(Q, model(call()), NEXT), ask(*ROUND, NEXT)),
    ("W-G3", ask(Q, model(call(), call("b")), user(response()), user("t"), user(response("b"))),
     ask(Q, model(call()), model(call("b")), user(response()), user(response("b")))),
    ("W-G6", ask(Q, model("3")), ask(Q, model("3"), NEXT)),
    ("W-G7", ask({"role": "assistant", "parts": [{"text": "a"}]}, Q), ask({"parts": [{"text": "a"}]}, Q)),
    ("W-G7", ask({"role": "system", "parts": [{"text": "a"}]}, Q),
     ask(Q, systemInstruction={"parts": [{"text": "a"}]})),
    ("W-G8", ask(), ask(Q)),
    ("W-G9", ask(Q, model(call()), user(response(""))), ask(*ROUND)),
    ("W-G10", ask(Q, model(call(id="x1")), user(response(id="x2"))),
     ask(Q, model(call(id="x1")), user(response(id="x1")))),
    ("W-G10", ask(Q, model(call(id="x1")), user(response())), ask(Q, model(call()), user(response()))),
    ("W-G10", ask(Q, model(call()), user(response("sub"))), ask(*ROUND)),
    ("W-G11", ask(Q, model(call()), user(response(value="3"))), ask(*ROUND)),
    ("W-G11", ask(Q, model(call()), user(response(value=[3]))), ask(*ROUND)),
    ("W-G11", ask(Q, model(call(args="{}")), user(response())), ask(*ROUND)),
    ("W-G12", ask(Q, tools=[declare(name="1a")]), ask(Q, tools=[declare(name="a.b:c-d")])),
    ("W-G12", ask(Q, tools=[declare(name="a" * 65)]), ask(Q, tools=[declare(name="a" * 64)])),
    ("W-G13", ask(Q, model(call(signed=False)), user(response())), ask(*ROUND)),
    ("W-G13", ask(*ROUND, model(call(signed=False)), user(response())), ask(*ROUND, model(call()), user(response()))),
    ("W-G13", ask(Q, model(call(signed=False), call()), user(response(), response())),
     ask(Q, model(call(), call(signed=False)), user(response(), response()))),
    ("W-G13", ask(Q, model(call(signed=False)), user(response())),
     ask(Q, model(call(signed=False)), user(response()), model("3"), NEXT)),
    ("W-G18", ask(Q, model({"text": "a", "thoughtSignature": "%%%"}), NEXT),
     ask(Q, model({"text": "a", "thoughtSignature": DUMMY}), NEXT)),
    ("W-G20", ask(user({})), ask(user({"text": ""}))),
    ("W-G20", ask(Q, model({"text": None, "thought": None}), NEXT), ask(Q, model({"thoughtSignature": DUMMY}), NEXT)),
    ("W-G20", ask(Q, {"role": "model", "parts": []}, NEXT), ask(Q, model(""), NEXT)),
    ("W-G20", ask(user({"text": "a", "inlineData": {"mimeType": "image/png", "data": PNG}})),
     ask(user("a", inline(PNG, "image/png")))),
    ("W-G21", ask(Q, responseSchema={}), ask(Q)),
    ("W-G21", ask(Q, generationConfig={"response_format": {}}),
     ask(Q, generationConfig={"response_mime_type": "text/plain"})),
    ("W-G21", ask(user({"type": "text", "text": "a"})), ask(user("a"))),
    ("W-G21", ask({**Q, "id": "x"}), ask(Q)),
    ("W-G21", ask(Q, model(call(extra=1)), user(response())), ask(*ROUND)),
    ("W-G22", ask(Q, tools=[declare({"type": "OBJECT", "properties": {}, "additionalProperties": False})]),
     ask(Q, tools=[declare()])),
    ("W-G22", ask(Q, tools=[declare({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}})]),
     ask(Q, tools=[declare()])),
    ("W-G22", ask(Q, tools=[declare({"type": "object", "properties": {"a": {"$ref": "#/x"}}})]),
     ask(Q, tools=[declare()])),
    ("W-G23", ask(Q, tools=[declare()], generationConfig=JSON, model=OLD),
     ask(Q, tools=[declare()], generationConfig=JSON)),
    ("W-G26", ask(user(inline(EMPTY_PDF, "application/pdf"))), ask(user(inline(PDF, "application/pdf")))),
    ("W-G26", ask(user(inline(PDF, "image/png"))), ask(user(inline(PNG, "image/png")))),
    ("W-G26", ask(user(inline(PNG, "application/zip"))), ask(user(inline("YSxi", "text/csv")))),
    ("W-G26", ask(user(inline("%%", "image/png"))), ask(user(inline(PNG.replace("/", "_"), "image/png")))),
    ("W-G27", ask(Q, model(call()), user(response(parts=[inline(PNG, "image/png")])), model=OLD),
     ask(Q, model(call()), user(response(parts=[inline(PNG, "image/png")])))),
    ("W-G30", ask(Q, model="this-model-does-not-exist"), ask(Q, model="gemini-flash-latest")),
    ("X-G1", ask(Q, generationConfig={"presencePenalty": 0.1}, model=OLD),
     ask(Q, generationConfig={"presencePenalty": 0.1})),
]  # fmt: skip


def request(body: Body, key: str = "k", **more: Any) -> WireRequest:
    asked = {name: value for name, value in body.items() if name != "model"}
    return WireRequest("google", asked, model=body.get("model", NEW), key=key, **more)


def broken(body: Body, **known: Any) -> list[str]:
    return [found.rule for found in google.check(request(body), **known)]


@pytest.mark.parametrize(("rule", "bad", "good"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_broken_rule_is_found_and_its_neighbour_passes(rule: str, bad: Body, good: Body) -> None:
    assert rule in broken(bad)
    assert broken(good) == []


def test_gemini_2_5_takes_unsigned_calls() -> None:
    assert broken(ask(Q, model(call(signed=False)), user(response()), model=OLD)) == []


def test_both_spellings_of_a_field_are_taken() -> None:
    snake = ask(
        Q,
        {"role": "model", "parts": [{"function_call": {"name": "add", "args": {}}, "thought_signature": DUMMY}]},
        {"role": "user", "parts": [{"function_response": {"name": "add", "response": {}}}]},
        generation_config={"max_output_tokens": 10},
        system_instruction={"parts": [{"text": "a"}]},
    )
    assert broken(snake) == []


def test_a_request_above_100_mb_is_refused() -> None:
    assert [v.rule for v in google.check(request(ask(Q), size=104_857_601))] == ["W-G25"]
    assert google.check(request(ask(Q), size=104_857_600)) == []


def test_files_are_bound_to_their_key_and_must_be_active() -> None:
    known = {
        "files/a": KnownFile(digest("k"), "ACTIVE"),
        "files/b": KnownFile(digest("k"), "PROCESSING"),
        "files/c": KnownFile(digest("k"), "ACTIVE", expired=True),
        "files/d": KnownFile(digest("other"), "ACTIVE"),
    }

    def status(name: str) -> list[tuple[str, int | None]]:
        part = {"fileData": {"fileUri": f"https://host/v1beta/files/{name}", "mimeType": "audio/wav"}}
        return [(v.rule, v.status) for v in google.check(request(ask(user(part))), files=known)]

    assert status("a") == []
    assert status("b") == [("W-G24", 400)]
    assert [status(name) for name in "cde"] == [[("W-G24", 403)]] * 3


SIGNER = Signer(b"one")


def answered(contents: list[Body], *parts: Any, name: str) -> list[Body]:
    """Answer a request and return its contents with the answer, and a response to each call."""
    reel = render(answer(*parts), request({"contents": contents}), Mint.fresh(SIGNER, name, "k"))
    content = copy.deepcopy(reel.body["candidates"][0]["content"])
    called = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    replies = [response(given["name"], id=given["id"]) for given in called]
    return [*contents, content, *([user(*replies)] if replies else [])]


@pytest.fixture
def contents() -> list[Body]:
    found = answered([Q], Thinking("hm"), Call("add"), Call("sub"), name="1")
    found = answered(found, Text("3", signed=True), name="2")
    return answered([*found, NEXT], Call("add", {"a": 1}), name="3")


def test_what_was_answered_is_taken_when_it_comes_back(contents: list[Body]) -> None:
    assert broken(ask(*contents), signer=SIGNER) == []
    without_thoughts = copy.deepcopy(contents)
    without_thoughts[1]["parts"].pop(0)
    assert broken(ask(*without_thoughts), signer=SIGNER) == []


def test_a_changed_moved_or_merged_signed_part_is_noticed(contents: list[Body]) -> None:
    changed, moved, merged, foreign = (copy.deepcopy(contents) for _ in range(4))
    changed[1]["parts"][1]["functionCall"]["args"] = {"a": 2}
    moved[1]["parts"][1]["thoughtSignature"] = contents[-2]["parts"][0]["thoughtSignature"]
    merged[3]["parts"][0]["text"] += " and more"
    foreign[1]["parts"][1]["thoughtSignature"] = base64.b64encode(b"another provider's").decode()
    for damaged in (changed, moved, merged, foreign):
        assert broken(ask(*damaged), signer=SIGNER) == ["W-G18"]


def test_an_unsigned_first_call_of_the_current_turn_is_noticed_and_a_dummy_passes(contents: list[Body]) -> None:
    del contents[-2]["parts"][0]["thoughtSignature"]
    assert broken(ask(*contents), signer=SIGNER) == ["W-G13"]
    contents[-2]["parts"][0]["thoughtSignature"] = DUMMY
    assert broken(ask(*contents), signer=SIGNER) == []


def test_the_signature_of_streamed_text_rides_on_an_empty_part() -> None:
    reel = render(
        answer(Text("a long answer", signed=True)),
        request(ask(Q), stream=True, path="?alt=sse"),
        Mint.fresh(SIGNER, "1", "k"),
    )
    last = reel.events[-1].decode()
    assert '"text": ""' in last
    assert "thoughtSignature" in last
    assert all(b"thoughtSignature" not in event for event in reel.events[:-1])
