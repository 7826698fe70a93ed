"""What a Responses request holds: the items as they are stored, and every setting in the wire's words."""

from __future__ import annotations

from typing import Any

import pytest

from doc_processing_toolkit.providers.base import ModelCall, ToolSpec
from doc_processing_toolkit.providers.openai.reasoning import does_reason, least_effort
from doc_processing_toolkit.providers.openai.request import body_of
from doc_processing_toolkit.registry import find, rows
from support.strict import WireRequest
from support.strict.responses import check
from unit.providers.openai.asking import ADD, MODEL, call_of, user

ROWS = [row for row in rows() if row.provider == "openai"]
SETTINGS: dict[str, Any] = {
    "temperature": 0.5,
    "max_output_tokens": 64,
    "effort": "low",
    "thinking": True,
    "tool_choice": "add",
    "parallel_tool_calls": False,
}


def body(model: str = MODEL, *, settings: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    call = call_of(model=model, settings=settings or {}, **more)
    return body_of(call, call.messages)


def refused(made: dict[str, Any]) -> list[str]:
    return [str(found) for found in check(WireRequest("responses", made, made["model"], profile="openai"))]


def test_a_plain_question_is_stateless_and_asks_for_the_payload_of_reasoning() -> None:
    """B09."""
    assert body(instructions="Be brief.") == {
        "model": MODEL,
        "input": [{"role": "user", "content": "q"}],
        "instructions": "Be brief.",
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_B09_the_switch_restores_the_plain_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_OPENAI_RETAIN_ENCRYPTED_REASONING", "off")
    assert not {"store", "include"} & set(body())


def test_a_model_that_does_not_reason_is_not_asked_for_reasoning() -> None:
    made = body("gpt-4.1", settings={"temperature": 0.2})
    assert made["store"] is False
    assert made["temperature"] == 0.2
    assert "include" not in made


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_gets_a_request_that_it_takes(row: Any) -> None:
    settings = {name: value for name, value in SETTINGS.items() if row.takes_setting(name)}
    call = ModelCall(row, (user("q"),), "Be brief.", (ADD,), settings)
    made = body_of(call, call.messages)
    assert refused(made) == []
    assert does_reason(row) == ("include" in made) == (not row.takes_setting("temperature"))


def test_the_items_are_the_stored_objects() -> None:
    items = [user("a"), {"role": "assistant", "content": "b"}, user("c")]
    made = body_of(call_of(*items), items)
    assert all(sent is item for sent, item in zip(made["input"], items, strict=True))


@pytest.mark.parametrize(
    ("settings", "reasoning"),
    [
        ({}, None),
        ({"effort": "high"}, {"effort": "high"}),
        ({"thinking": True}, {"effort": "medium", "summary": "auto"}),
        ({"thinking": True, "effort": "high"}, {"effort": "high", "summary": "auto"}),
        ({"thinking": 2048}, {"effort": "low", "summary": "auto"}),
        ({"thinking": 10_000}, {"effort": "medium", "summary": "auto"}),
        ({"thinking": 50_000}, {"effort": "high", "summary": "auto"}),
        ({"thinking": False}, {"effort": "none"}),
        ({"thinking": False, "effort": "high"}, {"effort": "none"}),
    ],
)
def test_thinking_and_effort_become_reasoning(settings: dict[str, Any], reasoning: dict[str, Any] | None) -> None:
    assert body(settings=settings).get("reasoning") == reasoning


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-6-luna", "none"), ("gpt-5.1", "none"), ("gpt-5-mini", "minimal"), ("gpt-5", "minimal"), ("o3", "low")],
)
def test_thinking_is_switched_off_as_far_as_the_model_can(model: str, effort: str) -> None:
    assert least_effort(model) == effort


def test_the_models_own_limit_is_not_said() -> None:
    most = find(MODEL).max_output_tokens
    assert "max_output_tokens" not in body(settings={"max_output_tokens": most})
    assert body(settings={"max_output_tokens": 100})["max_output_tokens"] == 100


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("auto", "auto"), ("required", "required"), ("none", "none"), ("add", {"type": "function", "name": "add"})],
)
def test_the_choice_of_tools_is_sent_with_tools_only(choice: str, sent: Any) -> None:
    made = body(settings={"tool_choice": choice, "parallel_tool_calls": False}, tools=(ADD,))
    assert (made["tool_choice"], made["parallel_tool_calls"]) == (sent, False)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body(settings={"tool_choice": choice}))


def test_each_tool_says_whether_it_is_strict() -> None:
    loose = ToolSpec("loose", "", {"type": "object", "properties": {"a": {"type": "string"}}})
    made = body(tools=(ADD, loose))
    assert [tool["strict"] for tool in made["tools"]] == [True, False]
    assert refused(made) == []


def test_a_structured_answer_is_a_format() -> None:
    made = body(schema={"title": "Sum", "type": "object", "properties": {"n": {"type": "integer"}}})
    assert made["text"]["format"]["name"] == "Sum"
    assert refused(made) == []


def test_a_schema_that_is_no_object_is_asked_for_in_words() -> None:
    made = body(schema={"type": "array", "items": {"type": "string"}}, instructions="Be brief.")
    assert "text" not in made
    assert made["instructions"].startswith("Be brief.\n\n")
    assert '"array"' in made["instructions"]
    assert '"array"' in body(schema={"type": "array"})["instructions"]


def test_the_registry_names_what_the_documents_name() -> None:
    """A01: gpt-6-luna and the GPT-5.6 and GPT-6 families."""
    known = {row.id for row in ROWS}
    assert {"gpt-6-luna", "gpt-6-sol", "gpt-6-astra", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"} <= known
    assert all(row.sdk == "openai" and row.key_variables and row.source for row in ROWS)
