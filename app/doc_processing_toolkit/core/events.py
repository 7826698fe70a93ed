"""The events of a stream: frozen dataclasses, told apart by their ``type`` string.

``turn_start`` opens every turn, ``complete`` comes exactly once and last. A consumer ignores types it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from doc_processing_toolkit.core.result import AgentResult

ProgressPhase = Literal["waiting", "assembling_weights", "starting_model", "reading_prompt", "reading_document"]


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn begins; ``run`` is its number in the session, from 1."""

    run: int
    type: Literal["turn_start"] = "turn_start"


@dataclass(frozen=True, slots=True)
class Progress:
    """Work before the first token: a queue, a model that loads, a prompt that is read, a document that is extracted.

    ``done`` and ``total`` are in ``unit`` (``"tokens"``, ``"bytes"``, ``"pages"``, ``"requests"``); a total of 0
    is unknown.
    """

    phase: ProgressPhase
    done: int = 0
    total: int = 0
    unit: str = ""
    detail: str = ""
    type: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str
    type: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's visible reasoning."""

    text: str
    type: Literal["reasoning_delta"] = "reasoning_delta"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model calls a tool; ``arguments`` is the decoded JSON object."""

    id: str
    name: str
    arguments: dict[str, Any]
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """A tool has answered; ``duration_s`` is wall-clock seconds."""

    id: str
    name: str
    content: Any
    is_error: bool
    duration_s: float
    type: Literal["tool_call_result"] = "tool_call_result"


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and is sent again as attempt ``attempt`` (from 2) after ``delay_s`` seconds."""

    attempt: int
    delay_s: float
    reason: str
    type: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True)
class Usage:
    """What one request cost: token counts and US dollars."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost: float
    type: Literal["usage"] = "usage"


@dataclass(frozen=True, slots=True)
class Injected:
    """A message of the host's was handed to the model inside the running turn."""

    text: str
    type: Literal["injected"] = "injected"


@dataclass(frozen=True, slots=True)
class TurnComplete:
    """A turn that is followed by another of the same call has ended (F04)."""

    result: AgentResult
    type: Literal["turn_complete"] = "turn_complete"


@dataclass(frozen=True, slots=True)
class Complete:
    """The last event of a stream. The session's history holds the turn from here on."""

    result: AgentResult
    type: Literal["complete"] = "complete"


Event = (
    TurnStart
    | Progress
    | TextDelta
    | ReasoningDelta
    | ToolCall
    | ToolCallResult
    | Retry
    | Usage
    | Injected
    | TurnComplete
    | Complete
)
