"""Claude through whole sessions: what is stored, sent again, reported and billed (B04, B08, E02–E05, H11, H12)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession
from doc_processing_toolkit.core.result import AgentResult
from support.strict import Call, Native, StrictServer, Text, Thinking, answer, checked_server

FOUR = ["claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]
MODEL = "claude-opus-5-5"


def add(a: int = 1, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def agent_at(server: StrictServer, model: str = MODEL, **settings: Any) -> Agent:
    return Agent(model, api_key="k", base_url=server.url("anthropic"), **settings)


def talk(agent: Agent, questions: Sequence[str], session: AgentSession | None = None, **config: Any) -> AgentSession:
    """Ask the questions one after the other and return the session."""
    held = session or agent.session(**config)

    async def main() -> None:
        for question in questions:
            result = await held.run(question)
            assert result.error is None, result.error

    asyncio.run(main())
    return held


def shapes(messages: list[dict[str, Any]]) -> list[Any]:
    return [m["content"] if isinstance(m["content"], str) else [b["type"] for b in m["content"]] for m in messages]


def thoughts(messages: Any) -> int:
    text = json.dumps(messages)
    return text.count('"type": "thinking"') + text.count('"type": "redacted_thinking"')


@pytest.mark.parametrize("model", FOUR)
def test_b08_a_turn_that_thought_is_stored_in_blocks_and_replayed(model: str) -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), Thinking("b", redacted=True), "one"), answer(Thinking("c"), "two"))
        session = talk(agent_at(server, model), ["first", "second"])
    assert shapes(session.messages) == [
        ["text"],
        ["thinking", "redacted_thinking", "text"],
        ["text"],
        ["thinking", "text"],
    ]
    assert server.requests[1]["messages"][:2] == session.messages[:2]
    assert session.messages[-1]["content"][-1]["text"] == "two"


def test_b08_with_tools_every_round_keeps_its_thinking() -> None:
    with checked_server() as server:
        server.script(
            answer(Thinking("a"), Call("add")),
            answer(Thinking("b"), "three"),
            answer("plain"),
            answer(Thinking("c"), "more"),
        )
        session = talk(agent_at(server, tools=[add]), ["first", "second", "third"])
    assert shapes(session.messages)[:4] == ["first", ["thinking", "tool_use"], ["tool_result"], ["thinking", "text"]]
    # A turn without thinking stores plain text.
    assert shapes(session.messages)[4:6] == ["second", "plain"]


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-5", "claude-opus-4-8"])
def test_b08_every_other_row_stores_plain_text(model: str) -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), "one"), answer(Thinking("b"), "two"))
        session = talk(agent_at(server, model, thinking=True), ["first", "second"])
    assert shapes(session.messages) == ["first", "one", "second", "two"]


def test_b08_the_switch_stores_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_ANTHROPIC_RETAIN_FINAL_TURN", "off")
    with checked_server() as server:
        server.script(answer(Thinking("a"), "one"), answer(Thinking("b"), Call("add")), answer("two"))
        session = talk(agent_at(server, tools=[add]), ["first", "second"])
    assert shapes(session.messages)[:2] == ["first", "one"]
    assert shapes(session.messages)[-1] == "two"


def test_b08_under_no_reasoning_only_the_text_is_kept() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), Call("add")), answer(Thinking("b"), "one"), answer(Thinking("c"), "two"))
        session = talk(
            agent_at(server, tools=[add]), ["first", "second"], session_history_config={"mode": "no_reasoning"}
        )
    assert thoughts(session.messages) == 0
    assert thoughts(server.requests[-1]["messages"]) == 0


def test_b04_the_stored_answer_carries_the_output_once() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), "the answer"))
        session = talk(agent_at(server), ["first"])
    assert json.dumps(session.messages).count("the answer") == 1


def other_agents(server: StrictServer, session: AgentSession, **settings: Any) -> AgentSession:
    """Restore the session into an agent with another system prompt, so that its thinking is bound elsewhere."""
    agent = agent_at(server, instructions="You are another.", **settings)
    return AgentSession.from_json(session.to_json(), agent=agent)


def test_e02_a_restored_session_goes_on_without_the_thinking_that_is_bound_elsewhere() -> None:
    with StrictServer() as server:
        server.script(
            answer(Thinking("a"), "one"),
            answer(Thinking("b"), "two"),
            answer(Thinking("c"), "three"),
            answer("four"),
        )
        restored = other_agents(server, talk(agent_at(server), ["first", "second"]), prefix_strip_fallback=True)
        talk(restored.agent, ["third"], restored)
        refused = server.take_violations()
        result: AgentResult = restored.last_turn_results[0]
        talk(restored.agent, ["fourth"], restored)
        server.assert_clean()
    assert {violation.rule for violation in refused} == {"W-A29"}
    assert (result.output, result.retry_count, result.error) == ("three", 1, None)
    assert [record.is_retry for record in result.cost_records] == [True]
    assert restored.metadata["total_retry_count"] == 1
    # What was left out of the request is kept (E04), and what is newer is sent.
    assert thoughts(restored.messages) == 3
    assert [thoughts(body["messages"]) for body in server.requests[2:]] == [2, 0, 1]


def test_bound_thinking_without_a_way_out_is_an_error_shaped_result_that_names_both() -> None:
    with StrictServer() as server:
        server.script(answer(Thinking("a"), "one"))
        restored = other_agents(server, talk(agent_at(server), ["first"]))
        result = asyncio.run(restored.run("second"))
    assert result.error_code == "thinking_bound_elsewhere"
    assert "drop_block" in str(result.error)
    assert "prefix_strip_fallback" in str(result.error)
    assert result.retry_count == 0


def test_e05_what_the_server_dropped_stands_in_the_result() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), "one"), answer("two"))
        session = talk(agent_at(server), ["first"])
        restored = other_agents(server, session, anthropic_block_binding="drop_block")
        talk(restored.agent, ["second"], restored)
        server.script(answer("three"))
        haiku = agent_at(server, "claude-haiku-5-5")
        switched = AgentSession.from_json(session.to_json(), agent=haiku)
        talk(haiku, ["second"], switched)
    (dropped,) = restored.last_turn_results
    assert [entry["reason"] for entry in dropped.input_transformations] == ["prefix_binding_mismatch"]
    assert dropped.model_binding_mismatches == []
    (unread,) = switched.last_turn_results
    assert [entry["reason"] for entry in unread.model_binding_mismatches] == ["model_binding_mismatch"]


def test_e03_e04_a_run_without_thinking_changes_what_is_sent_and_not_what_is_stored() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), "one"), answer("two"))
        session = talk(agent_at(server, "claude-haiku-5-5"), ["first"])
        agent = agent_at(server, "claude-haiku-5-5", thinking=False)
        session.rebind(agent)
        talk(agent, ["second"], session)
    assert thoughts(session.messages) == 1
    assert thoughts(server.requests[-1]["messages"]) == 0
    assert server.requests[-1]["thinking"] == {"type": "disabled"}


def test_h11_another_claude_gets_the_history_unchanged() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a"), "one"), answer("two"))
        session = talk(agent_at(server), ["first"])
        before = json.dumps(session.messages)
        agent = agent_at(server, "claude-opus-4-8")
        session.rebind(agent)
        assert json.dumps(session.messages) == before
        talk(agent, ["second"], session)
    assert json.dumps(server.requests[-1]["messages"][:2]) == before


def test_h12_the_container_of_the_latest_answer_goes_into_the_next_request() -> None:
    with checked_server() as server:
        server.script(answer("one", container="container_1"), answer("two"), answer("three"))
        session = talk(agent_at(server, reuse_anthropic_container=True), ["first", "second"])
        saved = session.to_dict()
        agent = agent_at(server)
        session.rebind(agent)
        talk(agent, ["third"], session)
    assert saved["anthropic_container_id"] == "container_1"
    assert [body.get("container") for body in server.requests] == [None, "container_1", None]


def test_a_paused_turn_is_gone_on_with_by_the_loop() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    with checked_server() as server:
        server.script(answer("searching ", Native(search), stop="pause"), answer(Native(found), Text("found")))
        result = asyncio.run(agent_at(server).run("find it"))
    assert result.output == "searching found"
    assert len(result.cost_records) == 2
    assert shapes(server.requests[1]["messages"]) == ["find it", ["text", "server_tool_use"]]


def test_a_streamed_turn_is_stored_as_a_run_stores_it_under_native_history() -> None:
    async def stream(agent: Agent) -> AgentSession:
        session = agent.session()
        async for _ in session.stream("first"):
            pass
        return session

    with checked_server() as server:
        server.script(answer(Thinking("a"), Call("add")), answer(Thinking("b"), "three"))
        session = asyncio.run(stream(agent_at(server, tools=[add], stream_history="native")))
    assert shapes(session.messages) == ["first", ["thinking", "tool_use"], ["tool_result"], ["thinking", "text"]]


def test_a_session_is_cached_from_its_first_turn_on() -> None:
    with checked_server() as server:
        server.script(answer("one"), answer("two"))
        talk(agent_at(server), ["first"])
        asyncio.run(agent_at(server).run("alone"))
    assert ["cache_control" in body for body in server.requests] == [True, False]


def test_a_turn_whose_first_tool_is_forced_goes_on_without_thinking() -> None:
    """W-A24: under a budget, a round that began without thinking goes on without it."""
    with checked_server() as server:
        server.script(answer(Call("add")), answer("three"), answer(Call("add")), answer("six"))
        agent = agent_at(server, "claude-haiku-4-5", thinking=True, tool_choice="required", tools=[add])
        talk(agent, ["first", "second"])
    kinds = [body.get("tool_choice", {}).get("type") for body in server.requests]
    assert kinds[0] == kinds[2] == "any"
    assert all("thinking" not in body for body in server.requests)
