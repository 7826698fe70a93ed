"""Thinking that is bound to its conversation: kept, left out, refused and dropped (B08, E02, E03, E04, E05)."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.providers.base import Reply, RequestFailedError, ToolSpec
from support.adapter_calls import adapter_of, ask_all, call_of
from support.strict import Call, StrictServer, Thinking, answer, checked_server

MODEL = "claude-opus-5-5"
ADD = ToolSpec("add", "adds", {"type": "object", "properties": {}})
Message = dict[str, Any]


def result_of(reply: Reply, text: str = "3") -> Message:
    blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call in reply.calls]
    return {"role": "user", "content": blocks}


def kinds(messages: list[Message]) -> list[list[str]]:
    return [["text"] if isinstance(m["content"], str) else [b["type"] for b in m["content"]] for m in messages]


def thinking_in(messages: Any) -> list[str]:
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    return [block["type"] for block in blocks if "thinking" in block["type"]]


def two_turns(server: StrictServer, model: str) -> list[Message]:
    """Hold two turns, the first with a tool round, and return their messages."""
    server.script(
        answer(Thinking("a"), Call("add")),
        answer(Thinking("b"), Thinking("c", redacted=True), "3"),
        answer(Thinking("d"), "four"),
    )
    call = call_of(model, "1 + 2?", tools=(ADD,))
    adapter = adapter_of(call, server.url("anthropic"))
    messages = list(call.messages)
    for text in ("", "and then?", ""):
        reply = ask_all(adapter, [call_of(model, *messages, tools=(ADD,))])[0].answered
        messages += reply.messages
        messages += [result_of(reply)] if reply.calls else []
        messages += [{"role": "user", "content": text}] if text else []
    return messages


def test_preserved_thinking_is_accepted_when_the_history_is_sent_as_it_was_given() -> None:
    with checked_server() as server:
        messages = two_turns(server, MODEL)
        server.script(answer("ok"))
        call = call_of(MODEL, *messages, "more?", tools=(ADD,))
        assert ask_all(adapter_of(call, server.url("anthropic")), [call])[0].text == "ok"
    assert server.requests[-1]["messages"] == [*messages, {"role": "user", "content": "more?"}]
    assert kinds(messages)[1] == ["thinking", "tool_use"]
    assert kinds(messages)[3] == ["thinking", "redacted_thinking", "text"]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-5-5"])
def test_e03_a_run_without_thinking_sends_none_of_the_earlier_turns_thinking(model: str) -> None:
    with checked_server() as server:
        messages = two_turns(server, model)
        before = copy.deepcopy(messages)
        server.script(answer("ok"))
        call = call_of(model, *messages, "more?", tools=(ADD,), settings={"thinking": False})
        ask_all(adapter_of(call, server.url("anthropic")), [call])
    assert server.warnings == []
    assert thinking_in(server.requests[-1]["messages"]) == []
    # E04: what is stored keeps it.
    assert messages == before
    assert len(thinking_in(messages)) == 4


def test_e03_other_rows_keep_it() -> None:
    with checked_server() as server:
        messages = two_turns(server, "claude-sonnet-5")
        server.script(answer("ok"))
        call = call_of("claude-sonnet-5", *messages, "more?", tools=(ADD,), settings={"thinking": False})
        ask_all(adapter_of(call, server.url("anthropic")), [call])
    assert len(thinking_in(server.requests[-1]["messages"])) == 4


def test_e03_the_running_turns_progress_notes_go_back_as_they_came() -> None:
    """`between_tools` still brings thinking blocks between calls, and they belong to the open round (W-A23)."""
    with checked_server() as server:
        messages = two_turns(server, "claude-sonnet-5-5")
        server.script(answer(Thinking("note"), Call("add")), answer("ok"))
        settings = {"thinking": False}
        call = call_of("claude-sonnet-5-5", *messages, "more?", tools=(ADD,), settings=settings)
        adapter = adapter_of(call, server.url("anthropic"))
        reply = ask_all(adapter, [call])[0].answered
        injected = {"role": "user", "content": "hurry"}
        open_round = [*call.messages, *reply.messages, result_of(reply), injected]
        ask_all(adapter, [call_of("claude-sonnet-5-5", *open_round, tools=(ADD,), settings=settings)])
    sent = server.requests[-1]["messages"]
    assert thinking_in(sent) == ["thinking"]
    assert sent[-3] == reply.messages[0]


def test_e03_a_turn_that_is_nothing_but_thinking_is_not_sent() -> None:
    thought = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}
    with checked_server() as server:
        server.script(answer("ok"))
        call = call_of("claude-haiku-5-5", "a", thought, "b", settings={"thinking": False})
        ask_all(adapter_of(call, server.url("anthropic")), [call])
    assert [message["content"] for message in server.requests[-1]["messages"]] == ["a", "b"]


def test_bound_thinking_is_refused_with_both_ways_out() -> None:
    with StrictServer() as server:
        messages = two_turns(server, MODEL)
        call = call_of(MODEL, *messages, "more?", tools=(ADD,), instructions="Be another.")
        error = ask_all(adapter_of(call, server.url("anthropic")), [call])[0].error
    assert isinstance(error, RequestFailedError)
    assert (error.status, error.code, error.is_retryable) == (400, "thinking_bound_elsewhere", False)
    assert "drop_block" in str(error)
    assert "prefix_strip_fallback" in str(error)


def test_e02_bound_thinking_is_left_out_when_a_refused_request_is_sent_once_more() -> None:
    """The refusal asks for a retry at once, so that the agent's own retry bills and counts it (A09)."""
    with StrictServer() as server:
        messages = two_turns(server, MODEL)
        before = copy.deepcopy(messages)
        server.script(answer(Thinking("e"), "five"))
        settings = {"prefix_strip_fallback": True}
        call = call_of(MODEL, *messages, "more?", tools=(ADD,), instructions="Be another.", settings=settings)
        first, second = ask_all(adapter_of(call, server.url("anthropic")), [call, call])
        refused = server.take_violations()
        server.assert_clean()
    assert isinstance(first.error, RequestFailedError)
    assert (first.error.is_retryable, first.error.retry_after, first.error.status) == (True, 0.0, 400)
    assert second.text == "five"
    assert {violation.rule for violation in refused} == {"W-A29"}
    assert [len(thinking_in(body["messages"])) for body in server.requests[-2:]] == [4, 0]
    # E04: what is stored keeps it.
    assert messages == before


def test_e02_an_adapter_remembers_what_was_refused_and_keeps_newer_thinking() -> None:
    settings = {"prefix_strip_fallback": True}
    with StrictServer() as server:
        messages = two_turns(server, MODEL)
        server.script(answer(Thinking("e"), Call("add")), answer(Thinking("f"), "five"), answer("six"))
        more = {"tools": (ADD,), "instructions": "Be another.", "settings": settings}
        call = call_of(MODEL, *messages, "more?", **more)
        adapter = adapter_of(call, server.url("anthropic"))
        assert isinstance(ask_all(adapter, [call])[0].error, RequestFailedError)
        server.take_violations()
        for text in ("", "and?", ""):
            reply = ask_all(adapter, [call])[0].answered
            following = [result_of(reply)] if reply.calls else [text] if text else []
            call = call_of(MODEL, *call.messages, *reply.messages, *following, **more)
        server.assert_clean()
    assert [thinking_in(body["messages"]) for body in server.requests[-3:]] == [[], ["thinking"], ["thinking"] * 2]


def test_e02_without_the_fallback_nothing_is_left_out_or_tried_again() -> None:
    with StrictServer() as server:
        messages = two_turns(server, MODEL)
        call = call_of(MODEL, *messages, "more?", tools=(ADD,), instructions="Be another.")
        ask_all(adapter_of(call, server.url("anthropic")), [call, call])
        server.take_violations()
    assert [len(thinking_in(body["messages"])) for body in server.requests[-2:]] == [4, 4]


def test_e05_drop_block_goes_on_and_reports_what_the_server_dropped() -> None:
    settings = {"anthropic_block_binding": "drop_block"}
    with checked_server() as server:
        messages = two_turns(server, MODEL)
        server.script(answer("ok"))
        call = call_of(MODEL, *messages, "more?", tools=(ADD,), instructions="Be another.", settings=settings)
        reply = ask_all(adapter_of(call, server.url("anthropic")), [call])[0].answered
    assert [entry["reason"] for entry in reply.input_transformations] == ["prefix_binding_mismatch"] * 4
    assert reply.input_transformations[0] == {
        "type": "thinking_dropped",
        "path": "messages.1.content.0",
        "reason": "prefix_binding_mismatch",
    }


def test_e05_what_another_model_cannot_read_is_reported_on_a_thinking_run() -> None:
    with checked_server() as server:
        messages = two_turns(server, MODEL)
        server.script(answer("ok"))
        call = call_of("claude-haiku-5-5", *messages, "more?", tools=(ADD,))
        reply = ask_all(adapter_of(call, server.url("anthropic")), [call])[0].answered
    assert {entry["reason"] for entry in reply.input_transformations} == {"model_binding_mismatch"}


def test_thinking_of_an_older_model_goes_out_unchanged_to_any_other() -> None:
    """H11: the history reaches the new model as it is; the server drops what that one cannot read."""
    with checked_server() as server:
        messages = two_turns(server, "claude-sonnet-5")
        server.always(answer("ok"))
        for model in ("claude-haiku-4-5", "claude-opus-4-8", "claude-opus-5-5", "claude-fable-5-2"):
            call = call_of(model, *messages, "more?", tools=(ADD,))
            assert ask_all(adapter_of(call, server.url("anthropic")), [call])[0].text == "ok"
    assert all(len(thinking_in(body["messages"])) == 4 for body in server.requests[-4:])


def test_a_whole_agent_run_keeps_its_thinking_round_by_round() -> None:
    def add() -> int:
        """Add."""
        return 3

    with checked_server() as server:
        server.script(
            answer(Thinking("a"), Call("add"), Call("add")),
            answer(Thinking("b", hidden=True), Call("add")),
            answer(Thinking("c"), "done"),
        )
        agent = Agent(MODEL, tools=[add], api_key="k", base_url=server.url("anthropic"))
        assert asyncio.run(agent.run("go")).output == "done"
    assert len(thinking_in(server.requests[-1]["messages"])) == 2
