"""Sending a history again: unchanged when it was stored here, with less reasoning when the server cannot read it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.providers.openai.replay import retreat, sendable
from support.strict import Call, Fail, StrictServer, Thinking, answer, checked_server
from unit.providers.openai.asking import ADD, MODEL, adapter_for, ask, call_of, user

RS = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "payload"}
FC = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUT = {"type": "function_call_output", "call_id": "call_1", "output": "3"}
MSG = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "3"}]}


def without(item: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def test_a_stored_history_is_sent_as_the_same_objects() -> None:
    history = [user("q"), RS, FC, OUT, without(MSG, "id"), user("and?")]
    assert all(sent is item for sent, item in zip(sendable(history), history, strict=True))


def test_ids_of_items_that_never_had_reasoning_stay() -> None:
    """A history of a model that does not reason keeps the bytes that it was stored with."""
    history = [user("q"), FC, OUT, MSG, user("and?")]
    assert sendable(history) == history


@pytest.mark.parametrize(
    ("history", "sent"),
    [
        ([user("q"), RS], [user("q")]),
        ([user("q"), RS, user("and?")], [user("q"), user("and?")]),
        ([user("q"), RS, without(MSG, "id")], [user("q"), without(RS, "id"), without(MSG, "id")]),
        ([user("q"), without(RS, "encrypted_content"), without(MSG, "id")], [user("q"), without(MSG, "id")]),
        ([user("q"), RS, OUT], [user("q"), OUT]),
    ],
)
def test_reasoning_that_cannot_stand_there_is_not_sent(history: list[Any], sent: list[Any]) -> None:
    """W-O1."""
    assert sendable(history) == sent


def test_unreadable_reasoning_goes_with_the_ids_that_hang_on_it() -> None:
    history = [user("q"), RS, FC, OUT, user("and?")]
    assert sendable(history, {"rs_1"}) == [user("q"), without(FC, "id"), OUT, user("and?")]


def test_a_retreat_spares_the_running_turn_first() -> None:
    old, new = [user("q"), RS, MSG], [user("and?"), {**RS, "id": "rs_2"}, FC, OUT]
    first = retreat([*old, *new])
    assert first == [user("q"), without(MSG, "id"), *new]
    second = retreat(first)
    assert second == [user("q"), without(MSG, "id"), user("and?"), without(FC, "id"), OUT]
    assert retreat(second) is None


def test_orphaned_ids_go_in_a_retreat() -> None:
    assert retreat([user("q"), FC, OUT, user("and?")]) == [user("q"), without(FC, "id"), OUT, user("and?")]


def conversation(server: StrictServer, key: str) -> list[dict[str, Any]]:
    """A history with reasoning, held with this key."""
    server.script(answer(Thinking("hm"), Call("add", {"a": 1})), answer(Thinking("so"), "one"))
    adapter = adapter_for(server, key=key)
    [first] = ask(server, call_of(user("q"), tools=(ADD,)), adapter=adapter)
    result = {"type": "function_call_output", "call_id": first.calls[0].id, "output": "1"}
    [second] = ask(server, call_of(user("q"), *first.messages, result, tools=(ADD,)), adapter=adapter)
    return [user("q"), *first.messages, result, *second.messages]


def test_a_history_of_another_account_goes_on_without_its_reasoning(caplog: pytest.LogCaptureFixture) -> None:
    """W-O3: the server refuses once; the request that follows, and every later one, leaves the reasoning out."""
    with StrictServer() as server:
        history = conversation(server, "first-account")
        server.script(answer("fine"), answer("fine too"))
        adapter = adapter_for(server, key="second-account")
        with caplog.at_level(logging.WARNING):
            [reply] = ask(server, call_of(*history, user("and?")), adapter=adapter)
        assert reply.text == "fine"
        assert [found.rule for found in server.take_violations()] == ["W-O3", "W-O3"]
        assert "2 item(s) are left out" in caplog.text
        [reply] = ask(server, call_of(*history, user("more?")), adapter=adapter)
        assert reply.text == "fine too"
        server.assert_clean()
        assert len(server.requests) == 5
    kinds = [item.get("type", item.get("role")) for item in server.requests[-1]["input"]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert history[1]["type"] == "reasoning"


def test_reasoning_that_the_server_no_longer_stores_is_left_out() -> None:
    """W-O5: an envelope of a version that relied on the server's store."""
    stale = [user("q"), without(RS, "encrypted_content"), MSG]
    with StrictServer() as server:
        server.script(answer("fine"))
        [reply] = ask(server, call_of(*stale, user("and?")))
        assert reply.text == "fine"
        assert [found.rule for found in server.take_violations()] == ["W-O5"]
    assert server.requests[1]["input"] == [user("q"), without(MSG, "id"), user("and?")]


def test_ids_that_lost_their_reasoning_elsewhere_are_taken_off_when_refused() -> None:
    """W-O2."""
    with StrictServer() as server:
        history = conversation(server, "k")
        bare = [item for item in history if item.get("type") != "reasoning"]
        server.script(answer("fine"))
        [reply] = ask(server, call_of(*bare, user("and?")), adapter=adapter_for(server, key="k"))
        assert reply.text == "fine"
        assert {found.rule for found in server.take_violations()} == {"W-O2"}


def test_a_refusal_about_reasoning_is_an_error_where_there_is_none() -> None:
    with checked_server() as server:
        server.script(
            Fail(400, "The encrypted content for item rs could not be verified.", code="invalid_encrypted_content")
        )
        with pytest.raises(RequestFailedError) as caught:
            ask(server, call_of())
    assert (caught.value.code, caught.value.is_retryable) == ("invalid_encrypted_content", False)


def test_reasoning_of_another_family_is_reported_as_the_server_says() -> None:
    with checked_server() as server:
        history = conversation(server, "k")
        server.script(answer("fine"))
        [reply] = ask(
            server, call_of(*history, user("and?"), model="gpt-5.6-luna"), adapter=adapter_for(server, key="k")
        )
    assert {entry["reason"] for entry in reply.input_transformations} == {"model"}


def test_a_turn_of_another_key_costs_the_user_nothing_but_the_reasoning() -> None:
    def add(a: int) -> int:
        """Add."""
        return a

    with StrictServer() as server:
        server.script(answer(Thinking("hm"), Call("add", {"a": 1})), answer("one"), answer("still here"))

        async def main() -> Any:
            settings: dict[str, Any] = {"tools": [add], "base_url": server.url("openai"), "max_retries": 0}
            session = Agent(MODEL, api_key="first", **settings).session()
            await session.run("q")
            session.rebind(Agent(MODEL, api_key="second", **settings))
            return await session.run("and?"), session.messages

        result, messages = asyncio.run(main())
        assert (result.output, result.retry_count) == ("still here", 0)
        assert messages[1]["type"] == "reasoning"
