"""Every chat-completions rule refuses a request that breaks it, and takes the nearest one that does not."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from support.strict import Call, Thinking, answer, chat
from support.strict.chat.answer import render
from support.strict.playing import Mint
from support.strict.rule import WireRequest
from support.strict.signer import Signer

Body = dict[str, Any]
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
NOT_PNG = "data:image/png;base64," + base64.b64encode(b"please set a user agent").decode()
MODELS = {
    "openai": "gpt-5.4",
    "fireworks": "accounts/fireworks/models/kimi-k3",
    "deepseek": "deepseek-v4",
    "compatible": "any",
}


def ask(*messages: Any, **top: Any) -> Body:
    return {"messages": list(messages), **top}


def user(*parts: Any) -> Body:
    return {"role": "user", "content": parts[0] if parts and isinstance(parts[0], str) else list(parts)}


def calls(*ids: str, **more: Any) -> Body:
    listed = [{"id": i, "type": "function", "function": {"name": "add", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed, **more}


def tool(identifier: str = "a", content: Any = "3") -> Body:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def image(url: Any = PNG) -> Body:
    return {"type": "image_url", "image_url": {"url": url}}


def text(words: str) -> Body:
    return {"type": "text", "text": words}


def function(parameters: Any = None, name: str = "add", **more: Any) -> Body:
    schema = parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


def bad_arguments(value: Any) -> Body:
    message = calls("a")
    message["tool_calls"][0]["function"]["arguments"] = value
    return message


Q = user("1 + 2?")
ODD = {"type": "object", "properties": {"a": {"anyOf": [{"required": ["b"]}]}}}
EVEN = {"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {}}]}}}
CASES: list[tuple[str, str, Body, Body]] = [
    ("W-F1", "fireworks", ask(Q, stream_options={"include_usage": True}), ask(Q, reasoning_effort="low")),
    ("W-F1", "fireworks", ask(Q, {"role": "assistant", "content": "a", "refusal": None}, Q),
     ask(Q, {"role": "assistant", "content": "a", "reasoning_content": "b"}, Q)),
    ("W-F1", "fireworks", ask(user({**text("a"), "cache_control": {}})), ask(user(text("a")))),
    ("W-F2", "fireworks", ask({"role": "developer", "content": "a"}, Q), ask({"role": "system", "content": "a"}, Q)),
    ("W-F2", "fireworks", ask({"role": "user"}), ask(Q)),
    ("W-F2", "compatible", ask(), ask(Q)),
    ("W-F2", "fireworks", ask(Q, {"role": "assistant", "content": None}, Q), ask(Q, calls("a"), tool())),
    ("W-F3", "fireworks", ask(Q, calls("a"), {"role": "tool", "content": "3"}), ask(Q, calls("a"), tool())),
    ("W-F3", "compatible", ask(Q, calls("a"), tool(content=[image()])), ask(Q, calls("a"), tool(content=[text("3")]))),
    ("W-F4", "fireworks", ask(Q, calls("a"), Q), ask(Q, calls("a"), tool(), Q)),
    ("W-F4", "fireworks", ask(Q, tool()), ask(Q, calls("a"), tool())),
    ("W-F4", "fireworks", ask(Q, calls("a", "b"), tool()), ask(Q, calls("a", "b"), tool("b"), tool("a"))),
    ("W-F4", "fireworks", ask(Q, calls("a"), tool(), tool()), ask(Q, calls("a"), tool(), calls("a"), tool())),
    ("W-F4", "compatible", ask(Q, calls("a", "a"), tool(), tool()), ask(Q, calls("a", "b"), tool(), tool("b"))),
    ("W-F5", "fireworks", ask(Q, bad_arguments({}), tool()), ask(Q, bad_arguments('{"a": 1}'), tool())),
    ("W-F5", "fireworks", ask(Q, bad_arguments("{a"), tool()), ask(Q, bad_arguments("{}"), tool())),
    ("W-F7", "deepseek", ask(Q, calls("a"), tool()), ask(Q, calls("a", reasoning_content="hm"), tool())),
    ("W-F7", "deepseek", ask(Q, calls("a"), tool()),
     ask(Q, calls("a"), tool(), {"role": "assistant", "content": "3"}, Q)),
    ("W-F8", "fireworks", ask(Q, thinking={"type": "enabled"}, reasoning_effort="low"),
     ask(Q, thinking={"type": "enabled"})),
    ("W-F8", "fireworks", ask(Q, thinking={"type": "enabled", "budget_tokens": 1023}),
     ask(Q, thinking={"type": "enabled", "budget_tokens": 1024})),
    ("W-F9", "fireworks", ask(user(*[image()] * 61)), ask(user(*[image()] * 30))),
    ("W-F9", "fireworks", ask(user(image("data:image/svg+xml;base64,AAAA"))),
     ask(user(image("https://a.example/b.png")))),
    ("W-F10", "fireworks", ask(user({"type": "file", "file": {}})), ask(user(text("[a.pdf]")))),
    ("W-F10", "openai", ask(user({"type": "input_audio", "input_audio": {}})), ask(user(text("a")))),
    ("W-F11", "fireworks", ask(Q, tools=[function(ODD)]), ask(Q, tools=[function(EVEN)])),
    ("W-O15", "openai", ask(Q, calls("a" * 41), tool("a" * 41)), ask(Q, calls("a" * 40), tool("a" * 40))),
    ("W-O16", "openai", ask(user({"type": "pdf"})), ask(user({"type": "file", "file": {}}))),
    ("W-O17", "openai", ask(Q, chat=1), ask(Q, stream_options={"include_usage": True})),
    ("W-O17", "openai", ask(Q, {"role": "assistant", "content": "a", "reasoning_content": "b"}, Q),
     ask(Q, {"role": "assistant", "content": "a", "refusal": None}, Q)),
    ("W-O17", "openai", ask({"role": "user", "content": {"a": 1}}), ask(Q)),
    ("W-O17", "openai", ask(user(image(None))), ask(user(image()))),
    ("W-O21", "openai", ask(user(image(NOT_PNG))), ask(user(image()))),
    ("W-O24", "openai", ask(Q, tools=[function({"type": "string"})]), ask(Q, tools=[function()])),
    ("W-O25", "fireworks", ask(Q, tools=[function(name="a b")]), ask(Q, tools=[function(name="a_b")])),
    ("W-O26", "openai", ask(Q, max_tokens=10), ask(Q, max_completion_tokens=10)),
    ("W-O26", "openai", ask(Q, stop=["a"]), ask(Q, stop=["a"], model="gpt-4.1")),
]  # fmt: skip


def request(body: Body, profile: str) -> WireRequest:
    body.setdefault("model", MODELS[profile])
    return WireRequest("chat", body, model=body["model"], profile=profile)


def broken(body: Body, profile: str, signer: Signer | None = None) -> list[str]:
    return [found.rule for found in chat.check(request(body, profile), signer) if found.status is not None]


@pytest.mark.parametrize(
    ("rule", "profile", "bad", "good"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)]
)
def test_a_broken_rule_is_found_and_its_neighbour_passes(rule: str, profile: str, bad: Body, good: Body) -> None:
    assert rule in broken(bad, profile)
    assert broken(good, profile) == []


def test_a_model_that_is_not_there_is_a_404() -> None:
    for profile, rule in (("openai", "W-O27"), ("fireworks", "W-F1")):
        found = chat.check(request(ask(Q, model="no-such-model"), profile))
        assert [(violation.rule, violation.status) for violation in found] == [(rule, 404)]


def test_more_images_than_documented_are_only_a_warning() -> None:
    found = chat.check(request(ask(user(*[image()] * 31)), "fireworks"))
    assert [(violation.rule, violation.status) for violation in found] == [("W-F9", None)]


def test_an_open_round_must_keep_the_reasoning_it_came_with() -> None:
    signer = Signer()
    mint = Mint.fresh(signer, "1", "k")
    message = render(answer(Thinking("hm"), Call("add")), request(ask(Q), "fireworks"), mint).body["choices"][0][
        "message"
    ]
    identifier = message["tool_calls"][0]["id"]
    stripped = {key: value for key, value in message.items() if key != "reasoning_content"}
    assert broken(ask(Q, message, tool(identifier)), "fireworks", signer) == []
    assert broken(ask(Q, stripped, tool(identifier)), "fireworks", signer) == ["W-F7"]
    assert broken(ask(Q, stripped, tool(identifier), user("next")), "fireworks", signer) == []
