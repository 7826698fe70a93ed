"""What an Anthropic session holds on to: its tools, its container, its thinking, and what the API drops (E01–E05)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession, SessionCompatibilityError, Tool
from doc_processing_toolkit.agent.agent import Agent
from support.strict import Call, StrictServer, Thinking, answer, checked_server
from unit.toolkit.dialect_agents import DIALECTS, add, agent_of


def later() -> str:
    """Return something."""
    return "later"


def sent_tools(server: StrictServer) -> list[list[str]]:
    return [[tool["name"] for tool in request.get("tools", ())] for request in server.requests]


def change_tools(agent: Agent, *tools: Any) -> None:
    """Do what a tool server that comes and goes does to an agent."""
    agent.tools.clear()
    agent.tools.update(
        {tool.name: tool for tool in (each if isinstance(each, Tool) else Tool.from_function(each) for each in tools)}
    )


def test_e01_a_session_goes_on_with_the_tools_that_it_began_with(caplog: pytest.LogCaptureFixture) -> None:
    with checked_server() as server:
        server.script(
            answer("one"), answer(Call("add", {"a": 1, "b": 2})), answer("3"), answer("three"), answer("four")
        )
        agent = agent_of("preserved", server)
        session = agent.session()

        async def main() -> None:
            await session.run("first")
            change_tools(agent, later)
            assert (await session.run("second")).output == "3"
            await session.run("third")
            await agent.run("without a session")

        asyncio.run(main())
    assert sent_tools(server) == [["add"], ["add"], ["add"], ["add"], ["later"]]
    assert session.tool_surface_drift == [
        {"event": "drift", "failed_servers": [], "added": ["later"], "removed": ["add"], "redefined": []}
    ]
    assert "added: later; removed: add" in caplog.text


def test_e01_each_further_change_is_recorded_once() -> None:
    with checked_server() as server:
        server.script(*(answer(str(number)) for number in range(5)))
        agent = agent_of("preserved", server)
        session = agent.session()
        redefined = Tool("add", "Another", {}, add)

        async def main() -> None:
            for tools in ([add], [later], [later], [redefined], [add]):
                change_tools(agent, *tools)
                await session.run("q")

        asyncio.run(main())
    assert [(each["added"], each["removed"], each["redefined"]) for each in session.tool_surface_drift] == [
        (["later"], ["add"], []),
        ([], [], ["add"]),
    ]


def test_e01_under_strict_prefix_binding_the_turn_is_not_sent_and_its_question_is_kept() -> None:
    with checked_server() as server:
        server.script(answer("one"))
        agent = agent_of("preserved", server, strict_prefix_binding=True)
        session = agent.session()

        async def main() -> None:
            await session.run("first")
            change_tools(agent, add, later)
            with pytest.raises(SessionCompatibilityError, match="added: later"):
                await session.run("second")

        asyncio.run(main())
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["message"] == "second"
    assert len(session.messages) == 2


def test_e01_a_resumed_session_and_a_rebound_one_begin_with_the_tools_there_are() -> None:
    with checked_server() as server:
        server.script(answer("one"), answer("two"), answer("three"))
        agent = agent_of("preserved", server)
        session = agent.session()

        async def main() -> AgentSession:
            await session.run("first")
            change_tools(agent, later)
            again = AgentSession.from_json(session.to_json(), agent=agent)
            await again.run("second")
            session.rebind(agent_of("preserved", server, tools=[later]))
            await session.run("second")
            return again

        again = asyncio.run(main())
    assert sent_tools(server) == [["add"], ["later"], ["later"]]
    assert again.tool_surface_drift == session.tool_surface_drift == []


def test_e01_other_providers_get_the_tools_there_are() -> None:
    with checked_server() as server:
        server.script(answer("one"), answer("two"))
        agent = agent_of("openai", server)
        session = agent.session()

        async def main() -> None:
            await session.run("first")
            change_tools(agent, later)
            await session.run("second")

        asyncio.run(main())
    assert sent_tools(server) == [["add"], ["later"]]


@pytest.mark.parametrize("reuses", [False, True])
def test_h12_the_container_of_the_latest_answer_goes_into_the_next_request_when_asked_for(reuses: bool) -> None:
    with checked_server() as server:
        server.script(answer("one", container="container_1"), answer("two", container="container_2"), answer("three"))
        agent = agent_of("anthropic", server, reuse_anthropic_container=reuses)
        session = agent.session()

        async def main() -> None:
            for text in ("first", "second"):
                await session.run(text)
            again = AgentSession.from_json(session.to_json(), agent=agent)
            await again.run("third")

        asyncio.run(main())
        sent = [request.get("container") for request in server.requests]
    assert sent == ([None, "container_1", "container_2"] if reuses else [None, None, None])
    assert session.to_dict()["anthropic_container_id"] == ("container_2" if reuses else None)
    assert session.to_dict()["reuse_anthropic_container"] is reuses


@pytest.mark.parametrize("uses_tools", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
def test_b08_preserved_thinking_is_stored_with_the_answer_unless_switched_off(
    uses_tools: bool, keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not keeps:
        monkeypatch.setenv("DPT_ANTHROPIC_RETAIN_FINAL_TURN", "off")
    round_of_tools = [answer(Thinking("hm"), Call("add", {"a": 1, "b": 2}))] if uses_tools else []
    with checked_server() as server:
        server.script(*round_of_tools, answer(Thinking("so"), Thinking("", redacted=True), "3"), answer("more"))
        session = agent_of("preserved", server, thinking=True, tools=[add] if uses_tools else []).session()

        async def main() -> None:
            await session.run("1 + 2?")
            stored = list(session.messages)
            assert (await session.run("and?")).error is None
            assert session.messages[: len(stored)] == stored

        asyncio.run(main())
    final = session.messages[3 if uses_tools else 1]["content"]
    if keeps:
        assert [block["type"] for block in final] == ["thinking", "redacted_thinking", "text"]
    else:
        assert final == "3"
    assert isinstance(session.messages[0]["content"], list) is (keeps and not uses_tools)


@pytest.mark.parametrize("parts", [[Thinking("hm"), "3"], ["3"]])
def test_b08_other_rows_and_turns_without_thinking_store_plain_text(parts: list[Any]) -> None:
    for dialect in ("anthropic", "preserved"):
        if dialect == "preserved" and len(parts) > 1:
            continue
        with checked_server() as server:
            server.script(answer(*parts))
            session = agent_of(dialect, server, thinking=True, tools=[]).session()
            asyncio.run(session.run("1 + 2?"))
        assert session.messages == [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "3"}]


@pytest.mark.skipif("google" not in DIALECTS, reason="no Google adapter")
@pytest.mark.parametrize("keeps", [False, True])
def test_b07_the_answer_of_gemini_is_stored_as_it_came_unless_switched_off(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not keeps:
        monkeypatch.setenv("DPT_GOOGLE_RETAIN_FINAL_TURN", "off")
    with checked_server() as server:
        server.script(answer(Thinking("hm"), "3"), answer("more"))
        session = agent_of("google", server, thinking=True, tools=[]).session()

        async def main() -> None:
            await session.run("1 + 2?")
            assert (await session.run("and?")).error is None

        asyncio.run(main())
    final = session.messages[1]
    if keeps:
        assert final["role"] == "model"
        assert any(part.get("thought") for part in final["parts"])
    else:
        assert final == {"role": "assistant", "content": "3"}


@pytest.mark.parametrize("keeps", [False, True])
def test_b09_encrypted_reasoning_is_asked_for_and_stored_unless_switched_off(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not keeps:
        monkeypatch.setenv("DPT_OPENAI_RETAIN_ENCRYPTED_REASONING", "off")
    with checked_server() as server:
        server.script(
            answer(Thinking("hm"), Call("add", {"a": 1, "b": 2})), answer(Thinking("so"), "3"), answer("more")
        )
        session = agent_of("openai", server, thinking=True).session()

        async def main() -> None:
            await session.run("1 + 2?")
            assert (await session.run("and?")).error is None

        asyncio.run(main())
        asked = [("include" in request, request.get("store")) for request in server.requests]
    payloads = [item.get("encrypted_content") for item in session.messages if item.get("type") == "reasoning"]
    assert asked == ([(True, False)] * 3 if keeps else [(False, None)] * 3)
    assert [payload is not None for payload in payloads] == [keeps] * len(payloads)


def test_b09_a_run_without_tools_stores_question_and_answer_only() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("hm"), "3"))
        session = agent_of("openai", server, thinking=True, tools=[]).session()
        asyncio.run(session.run("1 + 2?"))
    assert session.messages == [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "3"}]


def changed_history(server: StrictServer, **settings: Any) -> tuple[AgentSession, Any]:
    """Return a session whose instructions changed under its thinking, and the result of the turn after that."""
    first = agent_of("preserved", server, thinking=True, instructions="Be brief.").session()
    server.script(answer(Thinking("hm"), "one"), answer("two"))
    asyncio.run(first.run("first"))
    again = AgentSession.from_json(
        first.to_json(), agent=agent_of("preserved", server, thinking=True, instructions="Be long.", **settings)
    )
    return again, asyncio.run(again.run("second"))


def test_e02_e04_bound_thinking_is_left_out_once_refused_and_stays_in_the_history() -> None:
    with StrictServer() as server:
        session, result = changed_history(server, prefix_strip_fallback=True, max_retries=0)
        rules = [found.rule for found in server.take_violations()]
    assert rules == ["W-A29"]
    assert (result.output, result.retry_count) == ("two", 1)
    assert session.messages[1]["content"][0]["type"] == "thinking"


def test_e05_what_the_api_dropped_is_on_the_result() -> None:
    with StrictServer() as server:
        _, result = changed_history(server, anthropic_block_binding="drop_block")
    assert result.error is None
    assert [entry["reason"] for entry in result.input_transformations] == ["prefix_binding_mismatch"]
    assert result.model_binding_mismatches == []
