"""The OpenAI adapter against the strict server: answers, calls, usage, and histories that are taken again."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from doc_processing_toolkit import Agent, ProviderError, events
from doc_processing_toolkit.dialects.openai import OpenAILens
from doc_processing_toolkit.dialects.view import MediaPart, TextPart
from doc_processing_toolkit.providers.base import Access, Reply, make_adapter
from doc_processing_toolkit.registry import find
from support.strict import Call, Native, Pace, StrictServer, Thinking, Usage, answer, checked_server
from unit.providers.openai.asking import (
    ADD,
    MODEL,
    adapter_for,
    ask,
    call_of,
    events_of,
    reasoning_in,
    reply_in,
    text_in,
    user,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_for(server: StrictServer, **settings: Any) -> Agent:
    return Agent(MODEL, api_key="sk-secret-key", base_url=server.url("openai"), **{"max_retries": 0, **settings})


def test_text_and_reasoning_arrive_as_deltas_and_as_a_whole() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("first this, then that"), "Grüße ✓ from here", usage=Usage(100, 20, reasoning=5)))
        seen = asyncio.run(events_of(adapter_for(server), call_of(tools=(ADD,), settings={"thinking": True})))
    reply = reply_in(seen)
    assert text_in(seen) == reply.text == "Grüße ✓ from here"
    assert reasoning_in(seen) == "first this, then that"
    assert (reply.stop_reason, reply.served_model, reply.calls) == ("end_turn", MODEL, ())
    assert reply.usage.reasoning_tokens == 5


def test_B09_a_run_without_tools_stores_question_and_answer_only() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("hm"), "four"))
        [reply] = ask(server, call_of())
    assert reply.messages == ({"role": "assistant", "content": "four"},)


def test_a_tool_call_is_known_by_its_call_id_and_stored_as_it_came() -> None:
    with checked_server() as server:
        server.script(answer(Thinking("a sum"), "I add.", Call("add", {"a": 1}), Call("add", {"a": 2})))
        [reply] = ask(server, call_of(tools=(ADD,)))
    assert [item["type"] for item in reply.messages] == ["reasoning", "message", "function_call", "function_call"]
    assert [call.id for call in reply.calls] == [item["call_id"] for item in reply.messages[2:]]
    assert [(call.name, call.arguments, call.problem) for call in reply.calls] == [
        ("add", {"a": 1}, ""),
        ("add", {"a": 2}, ""),
    ]
    assert (reply.stop_reason, reply.text) == ("tool_use", "I add.")
    assert reply.messages[1]["phase"] == "commentary"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [('{"a": ', "is not valid JSON"), ("[1, 2]", "is not a JSON object"), ("", ""), ("null", "is not a JSON object")],
)
def test_arguments_that_are_no_object_are_a_problem_and_not_an_error(arguments: str, problem: str) -> None:
    with checked_server() as server:
        server.script(answer(Call("add", arguments)))
        [reply] = ask(server, call_of(tools=(ADD,)))
    assert reply.calls[0].problem == problem


def test_a_turn_with_tools_and_reasoning_is_taken_again() -> None:
    """B03, B04: what the session stores is what the server gave, and the last entry carries the answer."""
    with checked_server() as server:
        server.script(
            answer(Thinking("two sums"), Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer(Thinking("so"), "3 and 7"),
            answer("you are welcome"),
        )

        async def main() -> Any:
            session = agent_for(server, tools=[add]).session()
            await session.run("1 + 2 and 3 + 4?")
            first = list(session.messages)
            await session.run("thanks")
            return first, session.messages

        first, messages = asyncio.run(main())
    assert server.warnings == []
    kinds = [item.get("type", item.get("role")) for item in first]
    assert kinds[:4] == ["user", "reasoning", "function_call", "function_call"]
    assert kinds[4:] == ["function_call_output", "function_call_output", "reasoning", "message"]
    assert first[-1]["content"][0]["text"] == "3 and 7"
    # C12: the request of the second turn begins with the very items that are stored.
    assert server.requests[2]["input"][: len(first)] == first
    assert messages[: len(first)] == first


def test_a_streamed_turn_is_stored_so_that_the_next_request_is_accepted() -> None:
    """Decision 27, with Agent(stream_history="native")."""
    with checked_server() as server:
        server.script(answer(Thinking("hm"), Call("add", {"a": 1, "b": 2})), answer("3"), answer("bye"))

        async def main() -> Any:
            session = agent_for(server, tools=[add], stream_history="native").session()
            async with session.stream("1 + 2?") as stream:
                seen = [event async for event in stream]
            await session.run("bye")
            return seen, session.messages

        seen, messages = asyncio.run(main())
    assert next(event for event in seen if isinstance(event, events.ToolCall)).arguments == {"a": 1, "b": 2}
    assert messages[1]["id"].startswith("rs_")
    assert "id" not in messages[4]
    assert messages[4]["phase"] == "final_answer"


def test_usage_counts_every_prompt_token_once() -> None:
    with checked_server() as server:
        server.script(answer("ok", usage=Usage(20212, 931, cached=16298, cache_write=12, reasoning=100)))
        [reply] = ask(server, call_of())
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens) == (20212, 931)
    assert (usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (16298, 12, 100)


def test_the_model_that_served_is_told() -> None:
    with checked_server() as server:
        server.script(answer("ok", served_model="gpt-6-luna-2026-10-01"))
        [reply] = ask(server, call_of())
    assert reply.served_model == "gpt-6-luna-2026-10-01"


def test_B09_with_the_switch_off_the_server_keeps_the_reasoning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_OPENAI_RETAIN_ENCRYPTED_REASONING", "off")
    with checked_server() as server:
        server.script(answer(Thinking("hm"), Call("add", {"a": 1, "b": 1})), answer("2"), answer("bye"))

        async def main() -> Any:
            session = agent_for(server, tools=[add]).session()
            await session.run("1 + 1?")
            await session.run("bye")
            return session.messages

        messages = asyncio.run(main())
    assert messages[1]["type"] == "reasoning"
    assert "encrypted_content" not in json.dumps(messages)
    assert "store" not in server.requests[0]


def test_a_refusal_is_the_answers_text() -> None:
    with checked_server() as server:
        server.script(answer("I cannot help with that.", stop="refusal"))
        seen = asyncio.run(events_of(adapter_for(server), call_of(tools=(ADD,))))
    reply = reply_in(seen)
    assert text_in(seen) == reply.text == "I cannot help with that."
    assert reply.stop_reason == "refusal"
    assert reply.messages[-1]["content"] == [{"type": "refusal", "refusal": "I cannot help with that."}]


def test_a_structured_answer_is_stored_as_json_text() -> None:
    """A10."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with checked_server() as server:
        server.script(answer('{"n": 4}'))
        result = asyncio.run(agent_for(server).run("2 + 2?", output_schema=schema))
    assert result.output == {"n": 4}
    assert result.messages[-1] == {"role": "assistant", "content": '{"n": 4}'}


def test_images_and_documents_go_in_their_own_parts() -> None:
    question = OpenAILens().user_message(
        [TextPart("what?"), MediaPart(PNG, "image/png", "a.png"), MediaPart("JVBERi0xLjQK", "application/pdf", "b.pdf")]
    )
    outcome = {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}],
    }
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    with checked_server() as server:
        server.script(answer("a picture"))
        ask(server, call_of(user("draw"), call, outcome, question, tools=(ADD,)))
    assert server.requests[0]["input"][3]["content"][1]["type"] == "input_image"


def test_items_of_tomorrow_are_kept_and_sent_as_they_came() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
    with checked_server() as server:
        server.script(answer(Native(item), "found"), answer("bye"))

        async def main() -> Any:
            session = agent_for(server, tools=[add]).session()
            await session.run("search")
            await session.run("bye")
            return session.messages

        messages = asyncio.run(main())
    assert messages[1] == item
    assert server.requests[1]["input"][1] == item


def test_nothing_of_the_environment_but_what_is_meant_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = {
        "OPENAI_API_KEY": "sk-ambient-secret",
        "OPENAI_ADMIN_KEY": "admin-secret",
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_WEBHOOK_SECRET": "hook-secret",
        "OPENAI_CUSTOM_HEADERS": "X-Own: own-secret\nAuthorization: Bearer other-secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/stolen",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    with checked_server() as server:
        server.script(answer("fine"))
        ask(server, call_of(), adapter=adapter_for(server, key="given"))
        [exchange] = server.exchanges
    headers = dict(exchange.request.headers or {})
    assert "secret" not in json.dumps(headers)
    assert headers["authorization"] == "Bearer given"
    assert not any(name.startswith("x-stainless") for name in headers)


def test_key_and_address_are_read_from_the_environment_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with checked_server() as server:
        adapter = make_adapter(find(MODEL), Access())
        monkeypatch.setenv("OPENAI_API_KEY", " sk-from-env\n")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url("openai"))
        server.script(answer("fine"))
        ask(server, call_of(), adapter=adapter)
        [exchange] = server.exchanges
    assert (exchange.request.headers or {})["authorization"] == "Bearer sk-from-env"


def test_a_missing_key_names_its_variable_at_the_first_request() -> None:
    agent = Agent(MODEL)
    with pytest.raises(
        ProviderError, match=r"set OPENAI_API_KEY, or give api_key; keys are made at https://"
    ) as caught:
        asyncio.run(agent.run("q"))
    assert (caught.value.code, caught.value.provider) == ("missing_key", "openai")


@pytest.mark.parametrize("address", ["nonsense", "ftp://x.test", "http://user@x.test/v1", "http://[::1"])
def test_an_address_that_cannot_be_names_its_variable(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ProviderError, match="OPENAI_BASE_URL is no usable address"):
        asyncio.run(events_of(make_adapter(find(MODEL), Access(api_key="k")), call_of()))


def test_a_key_that_cannot_be_names_its_variable_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ü-secret")
    with pytest.raises(ProviderError, match="OPENAI_API_KEY holds a character") as caught:
        asyncio.run(events_of(make_adapter(find(MODEL), Access()), call_of()))
    assert "secret" not in str(caught.value)


def test_a_large_attachment_does_not_hold_the_loop() -> None:
    """A turn with 20 MB of media blocks the loop for at most 33 ms; here with room for a loaded machine."""
    image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20_000_000)).decode()
    question = user(
        [{"type": "input_text", "text": "?"}, {"type": "input_image", "image_url": f"data:image/png;base64,{image}"}]
    )

    async def main(adapter: Any) -> float:
        await events_of(adapter, call_of())
        late = [0.0]

        async def tick() -> None:
            loop = asyncio.get_running_loop()
            while True:
                due = loop.time() + 0.005
                await asyncio.sleep(0.005)
                late.append(loop.time() - due)

        ticker = asyncio.ensure_future(tick())
        await events_of(adapter, call_of(question))
        ticker.cancel()
        return max(late)

    with StrictServer(keep_bodies=False, checks=False) as server:
        server.always(answer("ok", pace=Pace(piece=1000)))
        lateness = asyncio.run(main(adapter_for(server)))
    # The server shares this process and its interpreter, and parses 27 MB in one go.
    assert lateness < 0.5


def test_requests_on_loops_one_after_the_other_work_with_one_adapter() -> None:
    with checked_server() as server:
        adapter = adapter_for(server)
        for text in ("one", "two"):
            server.script(answer(text))
            [reply] = ask(server, call_of(), adapter=adapter)
            assert isinstance(reply, Reply)
            assert reply.text == text
