"""Recorded answers of the real server, replayed through the adapter: what comes out, and that it can be sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.dialects.google import GoogleLens
from doc_processing_toolkit.dialects.google_turns import stored_turn
from doc_processing_toolkit.dialects.view import ToolOutcome
from support.adapter_calls import Outcome, adapter_of, ask_all, call_of
from support.recorded import recorded_dir
from support.strict import Raw, StrictServer
from support.strict.google import check
from support.strict.recordings import exchanges, request_of, rows

types = pytest.importorskip("google.genai.types")
Json = dict[str, Any]
LENS = GoogleLens()
QUESTION = {"role": "user", "parts": [{"text": "go"}]}
ROWS = ("gemini-3.5-flash", "gemini-2.5-flash")
NEXT = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}


def recorded() -> Iterator[tuple[str, str, list[Json], list[Json], bytes]]:
    """Yield each recorded answer: its name, the model, what it answers, its chunks, and its body as a stream."""
    for number, row in enumerate(exchanges(recorded_dir(), "gemini")):
        request = request_of(row)
        if request is None or row["status"] != 200:
            continue
        name, given = f"{number} {row['file']}", row["resp"]
        if isinstance(given, str):
            lines = [line[5:] for line in given.splitlines() if line.startswith("data:")]
            yield name, request.model, row["req"]["contents"], [json.loads(line) for line in lines], given.encode()
        else:
            chunks = given if isinstance(given, list) else [given]
            body = json.dumps(given, indent=1).encode() if isinstance(given, list) else body_of(chunks)
            yield name, request.model, row["req"]["contents"], chunks, body


def fixtures() -> Iterator[tuple[str, list[Json]]]:
    """Yield the name and the chunks of each recorded stream, and of each whole answer as a stream of one chunk."""
    for row in rows(recorded_dir(), "stream_chunks"):
        folder, _, name = row["file"].rpartition("/")
        if not folder.endswith("packages/google/src/__fixtures__"):
            continue
        if name.endswith(".chunks.txt"):
            yield name, [json.loads(line) for line in row["text"].splitlines() if line.strip()]
        elif "candidates" in json.loads(row["text"]):
            yield name, [json.loads(row["text"])]


def body_of(chunks: list[Json]) -> bytes:
    return "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks).encode()


def parts_in(chunks: list[Json]) -> list[Json]:
    """Return the parts of an answer as the SDK reads and dumps them, unsigned neighbours of one kind of text joined."""
    joined: list[Json] = []
    for chunk in chunks:
        for candidate in chunk.get("candidates", [])[:1]:
            content = types.Content.model_validate(candidate.get("content") or {})
            for part in content.model_dump(mode="json", exclude_none=True).get("parts", []):
                if "inline_data" in part:
                    # Media stays in the alphabet in which it came, so that a media store gives it back as it was.
                    blob = part["inline_data"]
                    blob["data"] = blob["data"].replace("-", "+").replace("_", "/")
                if part.get("text") == "" and part.keys() <= {"text", "thought"}:
                    continue
                last = joined[-1] if joined else {}
                if "text" in last and last.keys() == part.keys() <= {"text", "thought"}:
                    joined[-1] = {**last, "text": last["text"] + part["text"]}
                else:
                    joined.append(part)
    return joined


def usage_in(chunks: list[Json]) -> TokenUsage:
    told = [chunk["usageMetadata"] for chunk in chunks if "usageMetadata" in chunk][-1]
    thoughts = told.get("thoughtsTokenCount", 0)
    return TokenUsage(
        told.get("promptTokenCount", 0) + told.get("toolUsePromptTokenCount", 0),
        told.get("candidatesTokenCount", 0) + thoughts,
        told.get("cachedContentTokenCount", 0),
        reasoning_tokens=thoughts,
    )


def replay(server: StrictServer, model: str, asked: list[tuple[list[Json], bytes]]) -> list[Outcome]:
    """Ask with each list of messages and play the body as its answer."""
    server.script(*(Raw(body) for _, body in asked))
    row = model if model in ROWS else "gemini-3.5-flash"
    calls = [call_of(row, *messages) for messages, _ in asked]
    return ask_all(adapter_of(calls[0], server.url("google")), calls)


def expect_the_same(outcome: Outcome, chunks: list[Json], name: str) -> None:
    reply, parts = outcome.answered, parts_in(chunks)
    said = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    assert (outcome.text, reply.text) == (said, said), name
    assert outcome.reasoning == "".join(part["text"] for part in parts if part.get("thought")), name
    (content,) = reply.messages
    assert content == {"role": "model", "parts": parts}, name
    calls = [part["function_call"] for part in parts if "function_call" in part]
    assert [(call.name, call.arguments, call.problem) for call in reply.calls] == [
        (call["name"], call.get("args", {}), "") for call in calls
    ], name
    assert reply.usage == usage_in(chunks), name
    assert reply.served_model == chunks[-1].get("modelVersion", reply.served_model), name
    assert json.loads(json.dumps(content)) == content, name


def continued(before: list[Json], outcome: Outcome) -> list[Json]:
    """Return the conversation with the answer, and its tools answered or a question behind it."""
    reply = outcome.answered
    results = LENS.result_messages([ToolOutcome(call.id, call.name, "ok") for call in reply.calls])
    return [*before, *reply.messages, *(results or [QUESTION])]


def violations_of(server: StrictServer, model: str, conversations: list[list[Json]]) -> list[str]:
    """Send each conversation and return what the rules say of the requests that left."""
    before = len(server.exchanges)
    outcomes = replay(server, model, [(messages, body_of([NEXT])) for messages in conversations])
    assert [outcome.error for outcome in outcomes if outcome.error is not None] == []
    # Recorded audio is uploaded on the way.
    requests = [exchange.request for exchange in server.exchanges[before:] if exchange.request.operation == "generate"]
    assert len(requests) == len(conversations)
    return [str(violation) for request in requests for violation in check(request)]


@pytest.fixture
def lax_server() -> Iterator[StrictServer]:
    # Nobody here can sign what was recorded, so the rules are applied to the requests afterwards.
    with StrictServer(checks=False) as server:
        yield server


def test_recorded_answers_come_out_as_the_sdk_reads_them_and_can_be_sent_again(lax_server: StrictServer) -> None:
    by_model: dict[str, list[tuple[str, list[Json], list[Json], bytes]]] = {}
    for name, model, asked, chunks, body in recorded():
        by_model.setdefault(model, []).append((name, asked, chunks, body))
    for model, answers in by_model.items():
        outcomes = replay(lax_server, model, [(asked, body) for _, asked, _, body in answers])
        conversations = []
        for (name, asked, chunks, _), outcome in zip(answers, outcomes, strict=True):
            expect_the_same(outcome, chunks, name)
            conversations.append(continued(asked, outcome))
            plain = stored_turn([QUESTION, *outcome.answered.messages], retains_content=False)
            if not outcome.answered.calls:
                conversations.append([*asked, *plain[1:], QUESTION])
        assert violations_of(lax_server, model, conversations) == []
    assert sum(map(len, by_model.values())) > 100


def test_recorded_streams_come_out_as_the_sdk_reads_them(lax_server: StrictServer) -> None:
    whole = [(name, chunks) for name, chunks in fixtures() if "arguments" not in name and "no-args" not in name]
    assert len(whole) >= 8
    outcomes = replay(lax_server, "gemini-3.5-flash", [([QUESTION], body_of(chunks)) for _, chunks in whole])
    for (name, chunks), outcome in zip(whole, outcomes, strict=True):
        expect_the_same(outcome, chunks, name)
    assert violations_of(lax_server, "gemini-3.5-flash", [continued([QUESTION], each) for each in outcomes]) == []


def test_recorded_calls_in_pieces_are_put_together_and_can_be_sent_again(lax_server: StrictServer) -> None:
    pieces = {name: chunks for name, chunks in fixtures() if "arguments" in name or "no-args" in name}
    outcomes = replay(lax_server, "gemini-3.5-flash", [([QUESTION], body_of(chunks)) for chunks in pieces.values()])
    asked = {
        name: [(call.name, call.arguments, call.problem) for call in outcome.answered.calls]
        for name, outcome in zip(pieces, outcomes, strict=True)
    }
    nested = asked.pop("google-vertex-stream-tool-call-arguments-nested.1.chunks.txt")
    assert asked == {
        "google-stream-tool-call-arguments.chunks.txt": [
            ("getWeather", {"location": "Boston"}, ""),
            ("getWeather", {"location": "San Francisco"}, ""),
        ],
        "google-stream-no-args-tool-call.chunks.txt": [
            ("read_theme", {}, ""),
            *(("read_screen", {"id": name}, "") for name in "ABC"),
        ],
        "google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks.txt": [
            ("writeItems", {"operations": [
                {"action": "add", "description": "Fresh red apple", "itemid": "apple_001", "price": 0.5},
                {"action": "add", "description": "Ripe yellow banana", "itemid": "banana_001", "price": 0.3},
            ]}, ""),
        ],
    }  # fmt: skip
    ((name, arguments, problem),) = nested
    assert (name, problem) == ("cookRecipe", "")
    ingredients = arguments["recipe"]["ingredients"]
    assert len(ingredients) > 5
    assert all(each.keys() == {"name", "amount"} for each in ingredients)
    assert None not in arguments["recipe"].get("steps", ingredients)
    conversations = [continued([QUESTION], outcome) for outcome in outcomes]
    assert violations_of(lax_server, "gemini-3.5-flash", conversations) == []
