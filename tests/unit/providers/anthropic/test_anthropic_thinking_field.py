"""How each Claude row is asked to think, and when the binding beta goes out (E05)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from doc_processing_toolkit.providers.base import RequestFailedError, ToolSpec
from doc_processing_toolkit.registry import rows
from support.adapter_calls import ask_once, call_of
from support.strict import answer, checked_server

BETA = "thinking-binding-controls-2026-08-01"
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
DROPS = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
CLAUDE = [row.id for row in rows() if row.provider == "anthropic"]
FOUR = ["claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]
ADD = ToolSpec("add", "adds", {"type": "object", "properties": {}})


def sent(model: str, **settings: Any) -> tuple[dict[str, Any], str]:
    with checked_server() as server:
        server.script(answer("ok"))
        tools = (ADD,) if "tool_choice" in settings else ()
        ask_once(call_of(model, "hi", settings=settings, tools=tools), server.url("anthropic"))
    headers = server.exchanges[0].request.headers or {}
    return server.requests[0], headers.get("anthropic-beta", "")


@pytest.mark.parametrize(
    ("model", "asked", "field"),
    [
        ("claude-haiku-4-5", None, None),
        ("claude-haiku-4-5", False, None),
        ("claude-haiku-4-5", True, {"type": "enabled", "budget_tokens": 16384}),
        ("claude-sonnet-4-5", 2000, {"type": "enabled", "budget_tokens": 2000}),
        ("claude-opus-4-5", 12, {"type": "enabled", "budget_tokens": 1024}),
        ("claude-opus-4-6", None, None),
        ("claude-opus-4-6", True, ADAPTIVE),
        ("claude-sonnet-4-6", 5000, {"type": "enabled", "budget_tokens": 5000}),
        ("claude-opus-4-8", None, None),
        ("claude-opus-4-8", False, None),
        ("claude-opus-4-8", 5000, ADAPTIVE),
        ("claude-sonnet-5", None, ADAPTIVE),
        ("claude-sonnet-5", False, {"type": "disabled"}),
        ("claude-opus-5", True, ADAPTIVE),
        ("claude-opus-5-5", None, ADAPTIVE),
        ("claude-opus-5-5", False, ADAPTIVE),
        ("claude-fable-5-1", False, ADAPTIVE),
        ("claude-sonnet-5-5", None, ADAPTIVE),
        ("claude-sonnet-5-5", False, {"type": "between_tools"}),
        ("claude-haiku-5-5", True, ADAPTIVE),
        ("claude-haiku-5-5", False, {"type": "disabled"}),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(model: str, asked: Any, field: Any) -> None:
    assert sent(model, thinking=asked)[0].get("thinking") == field


@pytest.mark.parametrize("model", CLAUDE)
def test_every_row_is_accepted_with_its_default_and_with_each_choice(model: str) -> None:
    for asked in (None, True, False, 4000):
        sent(model, thinking=asked)
    assert sent(model, effort=None)[0]["max_tokens"] >= 64000


@pytest.mark.parametrize("model", CLAUDE)
def test_effort_goes_out_only_where_the_row_takes_it(model: str) -> None:
    row = next(row for row in rows() if row.id == model)
    if row.takes_setting("effort"):
        assert sent(model, effort="low")[0]["output_config"] == {"effort": "low"}
    else:
        assert model.startswith(("claude-haiku-4-5", "claude-sonnet-4-5"))


def test_what_cannot_be_done_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "doc_processing_toolkit")
    sent("claude-opus-5-5", thinking=False)
    sent("claude-opus-4-8", thinking=5000)
    sent("claude-opus-4-5", thinking=12)
    assert [record.getMessage() for record in caplog.records] == [
        "claude-opus-5-5: its thinking cannot be switched off; a low effort shortens it",
        "claude-opus-4-8: it takes no thinking budget; set effort to say how much it thinks",
        "claude-opus-4-5: the least thinking budget is 1,024 tokens",
    ]


@pytest.mark.parametrize(("asked", "most"), [(4000, 4000), (None, 1000), (1, 1024)])
def test_a_budget_that_leaves_nothing_for_the_answer_is_refused_before_it_is_sent(asked: int | None, most: int) -> None:
    settings = {"thinking": asked or True, "max_output_tokens": most}
    error = ask_once(call_of("claude-haiku-4-5", "hi", settings=settings), "http://127.0.0.1:9").error
    assert isinstance(error, RequestFailedError)
    assert (error.code, error.is_retryable) == ("thinking_budget", False)
    assert f"{most:,}" in str(error)


@pytest.mark.parametrize("asked", [None, True])
def test_a_forced_tool_switches_thinking_off(asked: Any) -> None:
    body, _ = sent("claude-sonnet-5", thinking=asked, tool_choice="required")
    assert (body["thinking"], body["tool_choice"]) == ({"type": "disabled"}, {"type": "any"})
    assert "thinking" not in sent("claude-haiku-4-5", thinking=asked, tool_choice="add")[0]


@pytest.mark.parametrize("model", CLAUDE)
def test_e05_the_binding_beta_goes_out_on_a_thinking_run_of_a_row_that_preserves(model: str) -> None:
    row = next(row for row in rows() if row.id == model)
    assert row.produces_preserved_thinking_blocks or model not in FOUR
    for asked in (None, True):
        body, beta = sent(model, thinking=asked)
        assert beta == (BETA if row.produces_preserved_thinking_blocks else "")
        assert "block_binding" not in body.get("thinking", {})


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-5-5"])
def test_e05_a_run_without_thinking_has_no_binding_beta(model: str) -> None:
    assert sent(model, thinking=False)[1] == ""


@pytest.mark.parametrize(
    ("model", "asked", "field"),
    [
        ("claude-opus-5-5", None, DROPS),
        ("claude-opus-4-8", True, DROPS),
        ("claude-opus-4-8", None, None),
        ("claude-sonnet-5-5", False, {"type": "between_tools"}),
    ],
)
def test_e05_the_binding_beta_goes_out_with_drop_block(model: str, asked: Any, field: Any) -> None:
    body, beta = sent(model, thinking=asked, anthropic_block_binding="drop_block")
    assert (body.get("thinking"), beta) == (field, BETA)
