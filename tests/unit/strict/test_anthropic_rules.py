"""Every Anthropic rule refuses a request that breaks it, and takes the nearest one that does not."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from support.strict import anthropic
from support.strict.rule import WireRequest

Body = dict[str, Any]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (8).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0").decode()
WIDE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (2100).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0").decode()
HUGE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (8001).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0").decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0 a picture").decode()
TOOL = {"name": "add", "input_schema": {"type": "object", "properties": {}}}
CLOSED = {"type": "object", "additionalProperties": False}
HAIKU, PRESERVED = "claude-haiku-4-5", "claude-opus-5-5"


def pdf(pages: int) -> str:
    return base64.b64encode(b"%PDF-1.7\n" + b"<< /Type /Page >>\n" * pages).decode()


def ask(*messages: Body, model: str = HAIKU, **top: Any) -> Body:
    return {"model": model, "max_tokens": 4000, "messages": list(messages), **top}


def user(*content: Any) -> Body:
    return {"role": "user", "content": content[0] if content and isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> Body:
    return {**user(*content), "role": "assistant"}


def text(words: str) -> Body:
    return {"type": "text", "text": words}


def use(identifier: str = "toolu_1", name: str = "add", **more: Any) -> Body:
    return {"type": "tool_use", "id": identifier, "name": name, "input": {}, **more}


def result(identifier: str = "toolu_1", content: Any = "3", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def image(data: str = PNG, mime: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def document(**source: Any) -> Body:
    return {"type": "document", "source": source}


def thought(signature: str = "sig") -> Body:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def search(identifier: str = "srvtoolu_1") -> Body:
    return {"type": "server_tool_use", "id": identifier, "name": "web_search", "input": {}}


def found(identifier: str = "srvtoolu_1") -> Body:
    return {"type": "web_search_tool_result", "tool_use_id": identifier, "content": []}


Q, FINAL = user("1 + 2?"), user("and then?")
ROUND = (Q, assistant(use()), user(result()))
THINK = {"type": "enabled", "budget_tokens": 1024}
BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
CASES: list[tuple[str, Body, Body]] = [
    ("W-A1", ask(Q, assistant(use()), FINAL), ask(*ROUND)),
    ("W-A1", ask(Q, assistant(use())), ask(*ROUND)),
    ("W-A1", ask(Q, assistant(use(), use("b")), user(result())),
     ask(Q, assistant(use(), use("b")), user(result(), result("b")))),
    ("W-A2", ask(Q, assistant(use(), text("so")), user(result())),
     ask(Q, assistant(text("so"), use()), user(result()))),
    ("W-A3", ask(Q, assistant(use()), user(text("here"), result())),
     ask(Q, assistant(use()), user(result(), text("here")))),
    ("W-A4", ask(Q, assistant(search(), text("a")), FINAL, assistant("b"), FINAL),
     ask(Q, assistant(search(), found(), text("a")), FINAL, assistant("b"), FINAL)),
    ("W-A5", ask(Q, assistant("x"), user(result())), ask(*ROUND)),
    ("W-A5", ask(Q, assistant(found(), text("a")), FINAL), ask(Q, assistant(search(), found(), text("a")), FINAL)),
    ("W-A6", ask(Q, assistant(use(), use()), user(result())), ask(*ROUND, assistant(use()), user(result()))),
    ("W-A7", ask(Q, assistant(use()), user(result(), result())), ask(*ROUND)),
    ("W-A8", ask(Q, assistant(use()), user(result(content=[image()], is_error=True))),
     ask(Q, assistant(use()), user(result(content=[image()])))),
    ("W-A11", ask(Q, assistant(use("functions.add:0")), user(result("functions.add:0"))),
     ask(Q, assistant(use("call_0-A")), user(result("call_0-A")))),
    ("W-A12", ask(Q, assistant(use(name="a.b")), user(result())), ask(Q, assistant(use(name="a-b_C")), user(result()))),
    ("W-A12", ask(Q, tools=[{**TOOL, "name": "n" * 129}]), ask(Q, tools=[{**TOOL, "name": "n" * 128}])),
    ("W-A13", ask(Q, assistant(use(text="hi")), user(result())), ask(*ROUND)),
    ("W-A13", ask(Q, assistant(use(caller=None)), user(result())),
     ask(Q, assistant(use(caller={"type": "direct"})), user(result()))),
    ("W-A13", ask(Q, foo=1), ask(Q)),
    ("W-A13", ask({"role": "user", "content": {"type": "text"}}), ask(Q)),
    ("W-A13", ask({"role": "user"}), ask(Q)),
    ("W-A13", ask(user({"type": "input_text", "text": "hi"})), ask(user(text("hi")))),
    ("W-A13", ask(user({"type": "text"})), ask(user({**text("hi"), "citations": None, "cache_control": None}))),
    ("W-A13", ask(user(thought())), ask(Q)),
    ("W-A13", {k: v for k, v in ask(Q).items() if k != "max_tokens"}, ask(Q)),
    ("W-A15", ask(user(*[{**text(str(n)), "cache_control": {"type": "ephemeral"}} for n in range(5)])),
     ask(user(*[{**text(str(n)), "cache_control": {"type": "ephemeral"}} for n in range(4)]))),
    ("W-A16", ask(user("")), ask(Q)),
    ("W-A16", ask(Q, assistant(), FINAL), ask(Q, assistant("a"), FINAL)),
    ("W-A17", ask(user(text(""), text("hi"))), ask(user(text("hi")))),
    ("W-A17", ask(Q, assistant(text(""), use()), user(result())), ask(*ROUND)),
    ("W-A17", ask(Q, system=[text("")]), ask(Q, system=[text("be kind")])),
    ("W-A18", ask(user(" \n")), ask(Q, assistant(text(" "), use()), user(result()))),
    ("W-A19", ask(Q, assistant("The answer ")), ask(Q, assistant("The answer"))),
    ("W-A21", ask(Q, assistant("The"), model="claude-sonnet-5"), ask(Q, assistant("The"))),
    ("W-A21", ask(Q, assistant("The"), model="claude-fable-5"),
     ask(Q, assistant(search()), model="claude-fable-5")),
    ("W-A22", ask(Q, {"role": "system", "content": "s"}, FINAL),
     ask(Q, {"role": "system", "content": "s"}, FINAL, model="claude-opus-4-8")),
    ("W-A22", ask({"role": "tool", "content": "s"}), ask(Q)),
    ("W-A24", ask(*ROUND, thinking=THINK), ask(Q, assistant(thought(), use()), user(result()), thinking=THINK)),
    ("W-A24", ask(Q, assistant(text("a"), use()), user(result()), thinking=THINK),
     ask(*ROUND, assistant("3"), FINAL, thinking=THINK)),
    ("W-A25", ask(Q, assistant(thought(), text("The")), thinking={"type": "disabled"}),
     ask(Q, assistant(thought(), text("a")), FINAL, thinking={"type": "disabled"})),
    ("W-A26", ask(Q, assistant(thought(""), text("a")), FINAL), ask(Q, assistant(thought("x"), text("a")), FINAL)),
    ("W-A28", ask(Q, thinking={**THINK, "budget_tokens": 4000}), ask(Q, thinking=THINK)),
    ("W-A28", ask(Q, thinking={**THINK, "budget_tokens": 1000}), ask(Q, thinking=THINK)),
    ("W-A28", ask(Q, thinking=THINK, model="claude-opus-4-7"),
     ask(Q, thinking={"type": "adaptive"}, model="claude-opus-4-7")),
    ("W-A28", ask(Q, thinking={"type": "adaptive"}), ask(Q, thinking={"type": "adaptive"}, model="claude-opus-4-6")),
    ("W-A28", ask(Q, thinking={"type": "disabled"}, model="claude-fable-5"),
     ask(Q, thinking={"type": "disabled"}, model="claude-sonnet-5-5")),
    ("W-A28", ask(Q, tools=[TOOL], tool_choice={"type": "any"}, model="claude-fable-5-1"),
     ask(Q, tools=[TOOL], tool_choice={"type": "any"}, model=PRESERVED)),
    ("W-A35", ask(Q, assistant(use(caller={"type": "code_execution_20260521", "tool_id": "s"})), user(result())),
     ask(Q, assistant(use(caller={"type": "code_execution_20260521", "tool_id": "s"})), user(result()), container="c")),
    ("W-A37", ask(user("x" * 9_000_001)), ask(user("x" * 100))),
    ("W-A38", ask(user(image(mime="image/bmp"))), ask(user(image()))),
    ("W-A38", ask(user(image(PNG + "A" * 10_485_760))), ask(user(image(PNG[:-4] + "A" * 400)))),
    ("W-A39", ask(user(image(HUGE))), ask(user(image(WIDE)))),
    ("W-A39", ask(user(*[image()] * 20, image(WIDE))), ask(user(*[image()] * 19, image(WIDE)))),
    ("W-A40", ask(user(*[image()] * 101)), ask(user(*[image()] * 101), model=PRESERVED)),
    ("W-A41", ask(user(document(type="base64", media_type="application/pdf", data=pdf(101)))),
     ask(user(document(type="base64", media_type="application/pdf", data=pdf(101))), model=PRESERVED)),
    ("W-A42", ask(user(document(type="base64", media_type="text/plain", data=pdf(1)))),
     ask(user(document(type="base64", media_type="application/pdf", data=pdf(1))))),
    ("W-A42", ask(user(document(type="text", media_type="text/html", data="x"))),
     ask(user(document(type="text", media_type="text/plain", data="x")))),
    ("W-A43", ask(user(image(JPEG))), ask(user(image(JPEG, "image/jpeg")))),
    ("W-A43", ask(user(image("bm90IGFuIGltYWdl"))), ask(user(image()))),
    ("W-A45", ask(Q, model="gpt-6-luna"), ask(Q)),
    ("X-A1", ask(Q, tools=[TOOL, TOOL]), ask(Q, tools=[TOOL, {**TOOL, "name": "b"}])),
    ("X-A1", ask(Q, tools=[{"name": "add", "input_schema": {}}]), ask(Q, tools=[TOOL])),
    ("X-A2", ask(Q, temperature=0.0, model="claude-sonnet-5"), ask(Q, temperature=0.0)),
    ("X-A3", ask(Q, output_config={"effort": "low"}), ask(Q, output_config={"effort": "low"}, model=PRESERVED)),
    ("X-A4", ask(Q, output_config={"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}}),
     ask(Q, output_config={"format": {"type": "json_schema", "schema": CLOSED}})),
]  # fmt: skip


def broken(body: Body, **request: Any) -> list[str]:
    return [found.rule for found in anthropic.check(WireRequest("anthropic", body, model=body["model"], **request))]


@pytest.mark.parametrize(("rule", "bad", "good"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_broken_rule_is_found_and_its_neighbour_passes(rule: str, bad: Body, good: Body) -> None:
    assert rule in broken(bad)
    assert broken(good) == []


def test_what_needs_a_beta_header_is_refused_without_it() -> None:
    body = ask(Q, model=PRESERVED, thinking=BINDING)
    named = {"anthropic-version": "x", "anthropic-beta": "a, thinking-binding-controls-2026-08-01"}
    assert broken(body, headers={"anthropic-version": "x"}) == ["W-A32"]
    assert broken(body, headers=named) == []
    boxed = ask(Q, container={"id": "c"})
    assert broken(boxed, headers={"anthropic-version": "x"}) == ["W-A36"]
    assert broken(boxed, headers=named) == []


def test_a_request_without_the_version_header_or_above_32_mb_is_refused() -> None:
    assert broken(ask(Q), headers={}) == ["W-A45"]
    assert broken(ask(Q), size=33_554_433) == ["W-A37"]
    assert broken(ask(Q), size=33_554_432) == []


def test_too_many_messages_are_refused() -> None:
    assert broken(ask(*[Q] * 100_001)) == ["W-A14"]


@pytest.mark.parametrize("body", [None, [], "x", 3])
def test_a_body_that_is_no_object_is_one_violation(body: Any) -> None:
    assert [v.rule for v in anthropic.check(WireRequest("anthropic", body))] == ["W-A13"]


def test_legal_shapes_that_public_emulators_refuse_are_taken() -> None:
    joined = ask(user("a"), user("b"), assistant("c"), assistant("d"), user("e"))
    begins_with_assistant = ask(assistant("hello"), Q)
    split_results = ask(Q, assistant(use(), use("b")), user(result()), user(result("b")))
    assert [broken(body) for body in (joined, begins_with_assistant, split_results)] == [[], [], []]
