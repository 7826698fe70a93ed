"""Recorded answers of the real server, replayed through the adapter: what comes out, and that it can be sent again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from doc_processing_toolkit.dialects.anthropic import AnthropicLens
from doc_processing_toolkit.dialects.anthropic_turns import stored_turn
from doc_processing_toolkit.providers.anthropic.stream import usage_of
from support.adapter_calls import Outcome, adapter_of, ask_all, call_of
from support.recorded import recorded_dir
from support.strict import Raw, StrictServer
from support.strict.anthropic import check
from support.strict.recordings import exchanges, request_of, rows

MODEL = "claude-opus-4-8"
LENS = AnthropicLens()
QUESTION = {"role": "user", "content": "go"}
Json = dict[str, Any]
# Made by hand: two answers spliced into one stream.
SPLICED = {"spliced-message-start.chunks.txt", "duplicate-message-start.chunks.txt"}


def recorded_streams() -> Iterator[tuple[str, list[Json], list[Json]]]:
    """Yield the name of each recorded stream, the messages that it answers, and its events."""
    for number, row in enumerate(exchanges(recorded_dir(), "anthropic")):
        request = request_of(row)
        if request is not None and row["status"] == 200 and isinstance(row["resp"], str):
            lines = [line[5:] for line in row["resp"].splitlines() if line.startswith("data:")]
            yield f"{number} {row['file']}", row["req"]["messages"], [json.loads(line) for line in lines]


def recorded_fixtures() -> Iterator[tuple[str, list[Json]]]:
    """Yield the name and the events of each stream, and of each whole message as a stream that brings it at once."""
    for row in rows(recorded_dir(), "stream_chunks"):
        name = row["file"].rpartition("/")[2]
        if "packages/anthropic/" not in row["file"]:
            continue
        if name.endswith(".chunks.txt"):
            lines = (json.loads(line) for line in row["text"].splitlines() if line.strip())
            yield from ((name, events) for events in streams_in(lines, name))
        elif name.endswith(".json") and json.loads(row["text"]).get("type") == "message":
            yield name, list(events_of(json.loads(row["text"])))


def streams_in(events: Iterable[Json], name: str) -> list[list[Json]]:
    """Return the streams that a recording of several answers holds one after the other."""
    streams: list[list[Json]] = []
    for event in events:
        if not streams or (event["type"] == "message_start" and name not in SPLICED):
            streams.append([])
        streams[-1].append(event)
    return streams


def events_of(message: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    ends = ("stop_reason", "stop_sequence", "stop_details", "container")
    delta = {name: message[name] for name in ends if name in message}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def body_of(events: list[Json]) -> bytes:
    parts = (f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    return "".join(parts).encode()


def put_together(events: list[Json]) -> list[Json]:
    """Return the content that the SDK's own accumulator makes of the events, without fields that are null."""
    from anthropic.lib.streaming._beta_messages import accumulate_event

    message: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] in ("ping", "message_stop", "content_block_stop"):
            continue
        if message is not None and event["type"] == "message_start":
            continue
        message = accumulate_event(event=event, current_snapshot=message, json_bufs=buffers, request_headers={})
    return [dense(block.to_dict(mode="json")) for block in message.content]


def dense(block: Json) -> Json:
    return {name: value for name, value in block.items() if value is not None}


def replay(server: StrictServer, asked: list[tuple[list[Json], list[Json]]]) -> list[Outcome]:
    """Ask with each list of messages and play the recorded events as its answer."""
    server.script(*(Raw(body_of(events)) for _, events in asked))
    calls = [call_of(MODEL, *messages) for messages, _ in asked]
    return ask_all(adapter_of(calls[0], server.url("anthropic")), calls)


def expect_the_same(outcome: Outcome, events: list[Json], name: str) -> None:
    reply = outcome.answered
    content = [dense(block) for block in reply.messages[0]["content"]]
    assert content == put_together(events), name
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    shown = "".join(delta["text"] for delta in deltas if delta["type"] == "text_delta")
    assert outcome.text == shown, name
    assert outcome.reasoning == "".join(delta.get("thinking", "") for delta in deltas), name
    if shown:
        assert reply.text == shown, name
    calls = [block for block in content if block["type"] == "tool_use"]
    assert [(call.id, call.name, call.arguments, call.problem) for call in reply.calls] == [
        (block["id"], block["name"], block["input"], "") for block in calls
    ], name
    ends = [event for event in events if event["type"] == "message_delta"]
    assert reply.stop_reason == (ends[-1]["delta"] if ends else events[0]["message"])["stop_reason"], name
    told = [events[0]["message"]["usage"], *(end["usage"] for end in ends)]
    total = {key: value for usage in told for key, value in usage.items() if value is not None}
    assert reply.usage == usage_of(total), name
    assert reply.usage.output_tokens == told[-1]["output_tokens"], name
    assert json.loads(json.dumps(reply.messages[0])) == reply.messages[0], name


def continued(before: list[Json], outcome: Outcome) -> list[Json]:
    """Return the conversation with the answer, and its tools answered or a question behind it."""
    reply = outcome.answered
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in reply.calls]
    return [*before, *reply.messages, {"role": "user", "content": results or "go on"}]


def violations_of(server: StrictServer, conversations: list[list[Json]]) -> list[list[str]]:
    """Send each conversation and return what the rules say of the requests that left."""
    replay(server, [(messages, list(events_of(NEXT))) for messages in conversations])
    requests = [exchange.request for exchange in server.exchanges[-len(conversations) :]]
    # A container is kept by whoever holds the conversation, and there is none here (W-A35).
    return [[str(v) for v in check(r) if v.rule != "W-A35" and v.status is not None] for r in requests]


# Answers to a conversation that was not recorded with them: their server tools were called, or are answered, elsewhere.
PARTIAL = re.compile(r"programmatic-tool-calling|\.2\.json")
NEXT = {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": {}}


@pytest.fixture
def lax_server() -> Iterator[StrictServer]:
    # Nobody here can sign what was recorded, so the rules are applied to the requests afterwards.
    with StrictServer(checks=False) as server:
        yield server


def test_recorded_streams_come_out_whole_and_are_accepted_when_sent_again(lax_server: StrictServer) -> None:
    recorded = list(recorded_streams())
    outcomes = replay(lax_server, [(before, events) for _, before, events in recorded])
    for outcome, (name, _, events) in zip(outcomes, recorded, strict=True):
        expect_the_same(outcome, events, name)
        expect_it_stored(outcome, name)
    again = [continued(before, outcome) for outcome, (_, before, _) in zip(outcomes, recorded, strict=True)]
    names = [name for name, _, _ in recorded]
    assert [found for found in zip(names, violations_of(lax_server, again), strict=True) if found[1]] == []
    assert len(recorded) == 133


def expect_it_stored(outcome: Outcome, name: str) -> None:
    """B04, B08: the stored answer carries the output, plain where nothing of the server's own tools stands in it."""
    reply = outcome.answered
    stored = stored_turn([{"role": "user", "content": "go"}, *reply.messages], retains_thinking=False)[-1]
    assert LENS.sniff(stored), name
    if not reply.calls and {block["type"] for block in reply.messages[0]["content"]} <= {"text", "thinking"}:
        assert stored == {"role": "assistant", "content": reply.text}, name


def test_recorded_fixtures_come_out_whole_server_tools_and_beta_blocks_included(lax_server: StrictServer) -> None:
    recorded = list(recorded_fixtures())
    outcomes = replay(lax_server, [([QUESTION], events) for _, events in recorded])
    conversations: dict[str, list[Json]] = {}
    refused = 0
    for outcome, (name, events) in zip(outcomes, recorded, strict=True):
        if outcome.error is not None:
            refused += 1
            assert "declined to answer" in str(outcome.error), name
        elif name not in SPLICED:
            expect_the_same(outcome, events, name)
            # Several answers in one recording belong to one conversation.
            conversations[name] = continued(conversations.get(name, [QUESTION]), outcome)
    found = violations_of(lax_server, list(conversations.values()))
    wrong = [each for each in zip(conversations, found, strict=True) if each[1] and not PARTIAL.search(each[0])]
    assert wrong == []
    assert (len(recorded) > 50, refused) == (True, 3)
