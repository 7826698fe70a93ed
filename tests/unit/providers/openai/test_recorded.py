"""Recorded traffic of OpenAI Responses through the adapter: text, calls, usage and stored items come out right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from doc_processing_toolkit.core.events import TextDelta
from doc_processing_toolkit.providers.base import Meter, ModelCall, Reply, RequestFailedError
from doc_processing_toolkit.providers.openai.stream import ResponseAccumulator
from doc_processing_toolkit.registry import find
from support.recorded import recorded_dir
from support.strict import Raw, StrictServer, WireRequest
from support.strict.recordings import rows
from support.strict.responses import check
from unit.providers.openai.asking import ADD, MODEL, adapter_for, events_of, reply_in, text_in, user

Event = dict[str, Any]
FIXTURES = "packages/openai/src/responses/__fixtures__/"


def events_in(stream: str) -> list[Event]:
    """The events of a recorded stream."""
    lines = [line[5:].strip() for line in stream.replace("\r\n", "\n").split("\n") if line.startswith("data:")]
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def recorded_streams() -> Iterator[tuple[str, str, Event]]:
    """Recorded streams with their name and their final response."""
    for row in rows(recorded_dir(), "openai_responses"):
        if isinstance(row["resp"], str) and row["status"] == 200:
            yield f"{row['file']} {row['i']}", row["resp"], events_in(row["resp"])[-1]["response"]


def recorded_events() -> Iterator[tuple[str, list[Event]]]:
    """Recorded answers as events: streams that are kept an event a line, and whole responses as their last event."""
    for row in rows(recorded_dir(), "openai_responses"):
        if isinstance(row["resp"], dict) and "output" in row["resp"]:
            response = row["resp"]
            yield row["file"], [{"type": f"response.{response['status']}", "response": response}]
    for row in rows(recorded_dir(), "stream_chunks"):
        if FIXTURES not in row["file"]:
            continue
        if row["file"].endswith(".chunks.txt"):
            yield row["file"], [event for line in row["text"].split("\n") if (event := parsed(line)) is not None]
        elif "output" in (response := json.loads(row["text"])):
            yield row["file"], [{"type": f"response.{response['status']}", "response": response}]


def parsed(line: str) -> Event | None:
    """An event, or what a line without one or with a broken one is."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def texts_in(response: Event) -> list[tuple[str | None, str]]:
    """Phase and text of each message."""
    return [
        (item.get("phase"), "".join(part.get("text", part.get("refusal", "")) for part in item["content"]))
        for item in response["output"]
        if item["type"] == "message"
    ]


def answer_in(response: Event) -> str:
    spoken = texts_in(response)
    final = [text for phase, text in spoken if phase == "final_answer"]
    return "".join(final or [text for _, text in spoken])


def assert_right(name: str, reply: Reply, response: Event) -> None:
    usage, calls = response.get("usage") or {}, [item for item in response["output"] if item["type"] == "function_call"]
    assert reply.text == answer_in(response), name
    assert [(call.id, call.name) for call in reply.calls] == [(call["call_id"], call["name"]) for call in calls], name
    assert all(
        call.problem or call.arguments == json.loads(item["arguments"] or "{}")
        for call, item in zip(reply.calls, calls, strict=True)
    ), name
    assert reply.usage.input_tokens == usage.get("input_tokens", 0), name
    assert reply.usage.output_tokens == usage.get("output_tokens", 0), name
    assert reply.served_model == response["model"], name


def refused_again(reply: Reply) -> list[str]:
    """What the server would refuse of a request that begins with the stored answer."""
    results = [{"type": "function_call_output", "call_id": call.id, "output": "1"} for call in reply.calls]
    items = [user("q"), *reply.messages, *results, user("and?")]
    request = WireRequest("responses", {"model": MODEL, "input": items, "store": False}, MODEL)
    # An answer that only the application can give: this one offers no custom tools.
    return [
        str(found) for found in check(request) if found.status is not None and "custom_tool" not in json.dumps(items)
    ]


def test_recorded_streams_give_the_answer_and_what_is_stored_is_taken_again() -> None:
    streams = list(recorded_streams())
    assert len(streams) > 100

    async def replay(adapter: Any, server: StrictServer) -> list[tuple[str, list[Any], Event]]:
        replayed = []
        for name, body, response in streams:
            server.script(Raw(body.encode()))
            call = ModelCall(find(MODEL), (user("q"),), tools=(ADD,))
            replayed.append((name, await events_of(adapter, call), response))
        return replayed

    with StrictServer(keep_bodies=False) as server:
        replayed = asyncio.run(replay(adapter_for(server), server))
        server.assert_clean()
    for name, seen, response in replayed:
        reply = reply_in(seen)
        assert_right(name, reply, response)
        assert refused_again(reply) == [], name
        assert text_in(seen) == reply.text, name


def test_recorded_answers_of_every_kind_are_read_and_taken_again() -> None:
    """Server tools, shells, programs, compactions, phases: what is not known is kept as it came."""
    count = 0
    for name, events in recorded_events():
        collected = ResponseAccumulator(Meter(), MODEL)
        shown = "".join(
            delta.text for event in events for delta in collected.feed(event) if isinstance(delta, TextDelta)
        )
        if not collected.is_complete:
            assert collected.failure is not None or events[-1]["type"] not in (
                "response.completed",
                "response.incomplete",
            ), name
            continue
        count += 1
        response = events[-1]["response"]
        reply = collected.reply(keeps_payloads=True, has_tools=True)
        assert_right(name, reply, response)
        assert refused_again(reply) == [], name
        kinds = {item["type"] for item in response["output"]} - {"reasoning"}
        assert "reasoning" in {item["type"] for item in response["output"]} or kinds <= {
            item.get("type") for item in reply.messages
        }, name
        pieces = [event["delta"] for event in events if event.get("type") == "response.output_text.delta"]
        if pieces and len(texts_in(response)) == 1:
            assert shown == "".join(pieces), name
    assert count > 150


def test_recorded_reasoning_is_kept_with_its_final_payload() -> None:
    """W-O4: the payload of the item that is done, not the shorter one that it was added with."""
    found = 0
    for _, events in recorded_events():
        added = {
            event["item"]["id"]: event["item"]["encrypted_content"]
            for event in events
            if event.get("type") == "response.output_item.added" and event["item"].get("encrypted_content")
        }
        collected = ResponseAccumulator(Meter(), MODEL)
        for event in events:
            collected.feed(event)
        if not added or not collected.is_complete:
            continue
        reply = collected.reply(keeps_payloads=True, has_tools=True)
        for item in reply.messages:
            if item.get("id") in added:
                found += 1
                assert len(item["encrypted_content"]) > len(added[item["id"]])
    assert found


def test_recorded_refusals_are_typed_errors_with_the_servers_words() -> None:
    refusals = [row for row in rows(recorded_dir(), "errors") if "/responses" in row["url"]]
    assert len(refusals) > 15

    async def fail(adapter: Any) -> RequestFailedError:
        with pytest.raises(RequestFailedError) as caught:
            await events_of(adapter, ModelCall(find(MODEL), (user("q"),)))
        return caught.value

    with StrictServer() as server:
        for row in refusals:
            said = row["resp"].get("error", row["resp"])
            said = said if isinstance(said, dict) else {"message": said}
            server.script(Raw(json.dumps(row["resp"]).encode(), row["status"], "application/json"))
            error = asyncio.run(fail(adapter_for(server)))
            assert error.status == row["status"]
            assert error.is_retryable is (row["status"] >= 500)
            assert str(said.get("message"))[:40].split(".")[0].split("\n")[0] in str(error)
            if said.get("code"):
                assert error.code == said["code"]
        server.assert_clean()


def test_a_recorded_error_inside_a_stream_ends_it() -> None:
    """W-O29: the error is nested, and a failed response follows."""
    [text] = [
        row["text"]
        for row in rows(recorded_dir(), "stream_chunks")
        if row["file"].endswith("openai-error.1.chunks.txt")
    ]
    body = "".join(f"data: {line}\n\n" for line in text.split("\n") if line.strip())
    with StrictServer() as server:
        server.script(Raw(body.encode()))
        with pytest.raises(RequestFailedError) as caught:
            asyncio.run(events_of(adapter_for(server), ModelCall(find(MODEL), (user("q"),))))
    assert caught.value.code == "insufficient_quota"
    assert not caught.value.is_retryable
