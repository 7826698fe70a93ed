"""Random legal histories in each of the four dialects, what makes one legal, and a model that speaks any of them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from doc_processing_toolkit import Agent
from doc_processing_toolkit.core.events import TextDelta
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.openai_items import as_stored
from doc_processing_toolkit.dialects.view import Kind, Lens, MediaPart, TextPart, ToolOutcome
from doc_processing_toolkit.providers.base import AdapterEvent, CallAsked, ModelCall, Reply, RequestFailedError

MODELS: Mapping[str, str] = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-6-luna",
    "google": "gemini-3.5-flash-lite",
    "chat": "openai-compatible/m",
}
DIALECTS = tuple(MODELS)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Answer:
    """What a model says at once: its thoughts, text, and calls as ``(id, n)``. No two of a history share a mark."""

    text: str = ""
    thought: str = ""
    calls: tuple[tuple[str, int], ...] = ()
    mark: str = ""


# Writing an answer in each dialect's own shape, as its adapter would store it.


def _chat(answer: Answer) -> list[Message]:
    message: Message = {"role": "assistant", "content": answer.text or None}
    if answer.thought:
        message["reasoning_content"] = answer.thought
    if answer.calls:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": "look", "arguments": json.dumps({"n": n})}}
            for call, n in answer.calls
        ]
    return [message]


def _anthropic(answer: Answer) -> list[Message]:
    blocks: list[Any] = []
    if answer.thought:
        blocks.append({"type": "thinking", "thinking": answer.thought, "signature": "c2ln"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    blocks += [{"type": "tool_use", "id": call, "name": "look", "input": {"n": n}} for call, n in answer.calls]
    return [{"role": "assistant", "content": blocks}]


def _openai(answer: Answer) -> list[Message]:
    mark = answer.mark
    items: list[Message] = []
    if answer.thought:
        summary = [{"type": "summary_text", "text": answer.thought}]
        items.append({"type": "reasoning", "id": f"rs_{mark}", "summary": summary, "encrypted_content": "ZW5j"})
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append({"type": "message", "role": "assistant", "id": f"msg_{mark}", "content": [part]})
    for call, n in answer.calls:
        arguments = json.dumps({"n": n})
        items.append(
            {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": "look", "arguments": arguments}
        )
    return as_stored(items, keeps_payloads=True)


def _google(answer: Answer) -> list[Message]:
    parts: list[Any] = []
    if answer.thought:
        parts.append({"text": answer.thought, "thought": True})
    if answer.text:
        parts.append({"text": answer.text, "thought_signature": "c2ln", "function_call": None})
    parts += [{"function_call": {"id": call, "name": "look", "args": {"n": n}}} for call, n in answer.calls]
    return [{"role": "model", "parts": parts}]


_WRITERS: Mapping[str, Callable[[Answer], list[Message]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "google": _google,
    "chat": _chat,
}


def written(dialect: str, answer: Answer) -> list[Message]:
    """Return an answer as the messages of a dialect."""
    return _WRITERS[dialect](answer)


@st.composite
def answers(draw: st.DrawFn, ids: Iterator[int], *, calls: int = 0) -> Answer:
    """Return an answer with so many calls; one without calls says something."""
    text = (
        draw(st.sampled_from(["", "Let me look."])) if calls else draw(st.sampled_from(["Yes.", "Nö – 好", "x" * 700]))
    )
    thought = draw(st.sampled_from(["", "hm"]))
    numbers = list(itertools.islice(ids, calls))
    return Answer(text, thought, tuple((f"call_{number}", number) for number in numbers), str(next(ids)))


@st.composite
def turns(draw: st.DrawFn, dialect: str, ids: Iterator[int]) -> list[Message]:
    """Return one whole turn: a question, tool rounds, and an answer."""
    lens = lens_of(dialect)
    question: list[Any] = [TextPart(draw(st.sampled_from(["Why?", "Ünd 好?", "y" * 300])))]
    if draw(st.booleans()):
        question.insert(0, MediaPart(PIXEL, "image/png", "dot.png"))
    messages = [lens.user_message(question)]
    for count in draw(st.lists(st.integers(1, 3), max_size=2)):
        answer = draw(answers(ids, calls=count))
        messages += written(dialect, answer)
        outcomes = [ToolOutcome(call, "look", draw(_contents)) for call, _ in answer.calls]
        messages += lens.result_messages(outcomes)
        if draw(st.integers(0, 5)) == 0:
            messages.append(lens.user_message([TextPart("And quickly.")]))
    return [*messages, *written(dialect, draw(answers(ids)))]


_contents = st.sampled_from(
    ["", "short", "z" * 900, (TextPart("seen"), MediaPart(PIXEL, "image/png")), (TextPart("w" * 600),)]
)


@st.composite
def histories(draw: st.DrawFn, dialect: str, *, most: int = 5) -> list[list[Message]]:
    """Return a history as a list of turns."""
    ids = itertools.count()
    return [draw(turns(dialect, ids)) for _ in range(draw(st.integers(1, most)))]


def problems(messages: Sequence[Message], lens: Lens) -> list[str]:
    """Return what a server would refuse: calls and results that do not pair, reasoning without a follower."""
    found: list[str] = []
    waiting: dict[str, int] = {}
    for index, message in enumerate(messages):
        views = lens.views(message)
        kinds = {view.kind for view in views}
        if not views:
            found.append(f"message {index} is empty")
        if waiting and Kind.RESULT not in kinds and lens.role(message) != "assistant":
            found.append(f"message {index} comes before the results of {sorted(waiting)}")
            waiting.clear()
        for view in views:
            if view.kind is Kind.CALL:
                waiting[str(view.call_id)] = index
            elif view.kind is Kind.RESULT and waiting.pop(str(view.call_id), None) is None:
                found.append(f"message {index} answers {view.call_id}, which nobody asked")
        if message.get("type") == "reasoning":
            after = messages[index + 1] if index + 1 < len(messages) else {}
            if not after or lens.role(after) != "assistant":
                found.append(f"reasoning item {index} has no follower")
    if waiting:
        found.append(f"calls without results: {sorted(waiting)}")
    return found


# A model that answers in any dialect.


@dataclass
class Step:
    """What the model does with one request: ``say``, ``fail``, ``cut`` (after a delta) or ``hang``."""

    act: str = "say"
    answer: Answer = field(default_factory=lambda: Answer("Yes."))


class NativeAdapter:
    """Plays steps in a dialect's own shape, and checks that what it is sent is legal."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.steps: list[Step] = []
        self.found: list[str] = []
        self.requests: list[list[Message]] = []
        self.is_hanging = asyncio.Event()

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Answer a request with the next step."""
        self.found += problems(call.messages, lens_of(self.dialect))
        self.requests.append(list(call.messages))
        step = self.steps.pop(0) if self.steps else Step()
        if step.act == "fail":
            raise RequestFailedError("refused", is_retryable=False, provider=self.dialect)
        if step.answer.text:
            yield TextDelta(step.answer.text)
        if step.act == "cut":
            raise RequestFailedError("the connection broke", is_retryable=True, provider=self.dialect)
        if step.act == "hang":
            self.is_hanging.set()
            await asyncio.sleep(60)
        asked = tuple(CallAsked(call_id, "look", {"n": n}) for call_id, n in step.answer.calls)
        yield Reply(
            tuple(written(self.dialect, step.answer)),
            step.answer.text,
            asked,
            "tool_use" if asked else "end_turn",
            TokenUsage(input_tokens=10, output_tokens=2),
            call.row.model,
        )


class NativeAgent(Agent):
    """An agent of a dialect whose model plays steps; it has one tool, ``look``."""

    def __init__(self, dialect: str, **settings: Any) -> None:
        def look(n: int) -> str:
            """Look something up."""
            return f"{n}: " + "seen " * (n % 3 * 100)

        super().__init__(MODELS[dialect], tools=[look], max_retries=0, **settings)
        self.native = NativeAdapter(dialect)
        self._adapter = self.native
