"""Conversations in neutral terms, drawn by hypothesis, and each of them written in all four dialects by hand."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from doc_processing_toolkit.testing import PIXEL

Message = dict[str, Any]
DIALECTS = ("anthropic", "openai", "google", "chat")
PIXEL_64 = base64.b64encode(PIXEL).decode("ascii")
ROWS = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-6-luna",
    "google": "gemini-3.5-flash-lite",
    "chat": "fireworks/accounts/fireworks/models/kimi-k3",
}
PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "google": "google", "chat": "fireworks"}
IDS = (
    *("", "dup", "functions.bash:0", "l" * 94, "y" * 64 + "a", "y" * 64 + "b", "call_ok", "toolu_ok"),
    *("call_" + "z" * 80, "toolu_" + "w" * 58, "ü ", "1"),
)
_WORDS = ("so", "naïve 漢字", 'quote " and \\ slash', "line\nbreak", " spaces around ", "{}", "[1, 2]", "\U0001f600")


@dataclass(frozen=True)
class Outcome:
    text: str
    has_picture: bool = False
    is_error: bool = False


@dataclass(frozen=True)
class Asked:
    call_id: str
    name: str
    arguments: dict[str, Any]
    outcome: Outcome


@dataclass(frozen=True)
class Round:
    before: str
    calls: tuple[Asked, ...]
    after: str


@dataclass(frozen=True)
class Turn:
    question: str
    has_picture: bool
    rounds: tuple[Round, ...]
    answer: str
    thinks: bool


_arguments = st.dictionaries(
    st.sampled_from(("a", "b c", "ключ")),
    st.recursive(
        st.one_of(st.integers(-5, 5), st.booleans(), st.none(), st.sampled_from(_WORDS)),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Turn, ...]:
    """Every text is unlike every other, so that a lost one is noticed."""
    count = itertools.count(1)

    def text(*, blank: bool = False) -> str:
        if blank and draw(st.booleans()):
            return ""
        return f"t{next(count)} {draw(st.sampled_from(_WORDS))} #{next(count)}"

    def asked() -> Asked:
        outcome = Outcome(text(), draw(st.booleans()), draw(st.integers(0, 3)) == 0)
        arguments = {**draw(_arguments), "n": next(count)}
        return Asked(draw(st.sampled_from(IDS)), draw(st.sampled_from(("add", "find_it"))), arguments, outcome)

    def step() -> Round:
        calls = tuple(asked() for _ in range(draw(st.integers(1, 3))))
        return Round(text(blank=True), calls, text(blank=True))

    def turn() -> Turn:
        rounds = tuple(step() for _ in range(draw(st.integers(0, 2))))
        return Turn(text(), draw(st.booleans()), rounds, text(), draw(st.booleans()))

    return tuple(turn() for _ in range(draw(st.integers(1, 3))))


def texts_in(turns: tuple[Turn, ...]) -> Iterator[str]:
    """Yield every text that must survive."""
    for turn in turns:
        yield turn.question
        yield turn.answer
        for step in turn.rounds:
            yield from (text for text in (step.before, step.after) if text)
            yield from (asked.outcome.text for asked in step.calls)


def arguments_in(turns: tuple[Turn, ...]) -> list[dict[str, Any]]:
    """Return every call's arguments, in order."""
    return [asked.arguments for turn in turns for step in turn.rounds for asked in step.calls]


def pictures_in(turns: tuple[Turn, ...], dialect: str) -> int:
    """Return how many pictures the dialect's form of the conversation has."""
    asked = sum(turn.has_picture for turn in turns)
    found = sum(each.outcome.has_picture for turn in turns for step in turn.rounds for each in step.calls)
    return asked + (0 if dialect == "chat" else found)


def written(turns: tuple[Turn, ...], dialect: str) -> list[Message]:
    """Return the conversation as the dialect's own servers and SDKs shape it."""
    writer = {"anthropic": _anthropic, "openai": _openai, "google": _google, "chat": _chat}[dialect]
    return [message for turn in turns for message in writer(turn)]


def _anthropic(turn: Turn) -> Iterator[Message]:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL_64}}
    content: Any = [picture, {"type": "text", "text": turn.question}] if turn.has_picture else turn.question
    yield {"role": "user", "content": content}
    for step in turn.rounds:
        blocks: list[Any] = [{"type": "thinking", "thinking": "hm", "signature": "sig"}] if turn.thinks else []
        blocks += [{"type": "text", "text": text} for text in (step.before, step.after) if text]
        blocks += [
            {"type": "tool_use", "id": asked.call_id, "name": asked.name, "input": asked.arguments}
            for asked in step.calls
        ]
        yield {"role": "assistant", "content": blocks}
        results: list[Any] = []
        for asked in step.calls:
            said: Any = asked.outcome.text
            if asked.outcome.has_picture:
                said = [{"type": "text", "text": said}, picture]
            result = {"type": "tool_result", "tool_use_id": asked.call_id, "content": said}
            results.append({**result, "is_error": True} if asked.outcome.is_error else result)
        yield {"role": "user", "content": results}
    yield {"role": "assistant", "content": turn.answer}


def _openai(turn: Turn) -> Iterator[Message]:
    url = f"data:image/png;base64,{PIXEL_64}"
    picture = {"type": "input_image", "image_url": url, "detail": "auto"}
    content: Any = [{"type": "input_text", "text": turn.question}, picture] if turn.has_picture else turn.question
    yield {"role": "user", "content": content}
    for number, step in enumerate(turn.rounds):
        if turn.thinks:
            yield {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"}
        for text in (step.before,):
            if text:
                yield _output(text)
        for asked in step.calls:
            yield {
                "type": "function_call",
                "call_id": asked.call_id,
                "name": asked.name,
                "arguments": json.dumps(asked.arguments),
            }
        if step.after:
            yield _output(step.after)
        for asked in step.calls:
            said: Any = asked.outcome.text
            if asked.outcome.has_picture:
                said = [{"type": "input_text", "text": said}, picture]
            yield {"type": "function_call_output", "call_id": asked.call_id, "output": said}
    yield _output(turn.answer)


def _output(text: str) -> Message:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _google(turn: Turn) -> Iterator[Message]:
    picture = {"inline_data": {"mime_type": "image/png", "data": PIXEL_64}}
    yield {"role": "user", "parts": [{"text": turn.question}, *([picture] if turn.has_picture else [])]}
    for step in turn.rounds:
        parts: list[Any] = [{"text": "hm", "thought": True}] if turn.thinks else []
        parts += [{"text": step.before}] if step.before else []
        for number, asked in enumerate(step.calls):
            call: Message = {"function_call": {"name": asked.name, "args": asked.arguments}}
            if number == 0:
                call["thought_signature"] = "c2lnbmVk"
            if asked.call_id:
                call["function_call"]["id"] = asked.call_id
            parts.append(call)
        parts += [{"text": step.after}] if step.after else []
        yield {"role": "model", "parts": parts}
        yield {"role": "user", "parts": [_response(asked, picture) for asked in step.calls]}
    yield {"role": "model", "parts": [{"text": turn.answer}]}


def _response(asked: Asked, picture: Message) -> Message:
    key = "error" if asked.outcome.is_error else "result"
    response: Message = {"name": asked.name, "response": {key: asked.outcome.text}}
    if asked.call_id:
        response["id"] = asked.call_id
    if asked.outcome.has_picture:
        response["parts"] = [picture]
    return {"function_response": response}


def _chat(turn: Turn) -> Iterator[Message]:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL_64}"}}
    content: Any = [{"type": "text", "text": turn.question}, picture] if turn.has_picture else turn.question
    yield {"role": "user", "content": content}
    for step in turn.rounds:
        said = "\n\n".join(text for text in (step.before, step.after) if text)
        calls = [
            {
                "id": asked.call_id,
                "type": "function",
                "function": {"name": asked.name, "arguments": json.dumps(asked.arguments)},
            }
            for asked in step.calls
        ]
        message: Message = {"role": "assistant", "content": said or None, "tool_calls": calls}
        yield {**message, "reasoning_content": "hm"} if turn.thinks else message
        for asked in step.calls:
            yield {"role": "tool", "tool_call_id": asked.call_id, "content": asked.outcome.text}
    yield {"role": "assistant", "content": turn.answer}


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string of a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


def calls_in(messages: list[Message]) -> list[tuple[Any, Any]]:
    """Return id and arguments (as an object) of every call, whatever the dialect."""
    found: list[tuple[Any, Any]] = []
    for message in messages:
        if message.get("type") == "function_call":
            found.append((message["call_id"], json.loads(message["arguments"])))
        asked = message.get("tool_calls") or []
        found += [(call["id"], json.loads(call["function"]["arguments"])) for call in asked]
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        found += [(block["id"], block["input"]) for block in blocks if block.get("type") == "tool_use"]
        called = [part["function_call"] for part in message.get("parts") or () if "function_call" in part]
        found += [(call.get("id"), call["args"]) for call in called]
    return found
