"""The rows of a transcript: what a reader sees, one frozen value each, without any widget.

A row's ``key`` is stable over the life of the conversation, so that a view can keep what it has laid out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class AttachmentInfo:
    """A file that came with a question. ``size`` is bytes; ``summary`` is one line, ``notes`` what was not seen."""

    name: str
    sha256: str
    mime_type: str
    size: int
    kind: str = ""
    pages: int | None = None
    characters: int | None = None
    estimated_tokens: int | None = None
    pages_without_text: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool that had run before its turn was interrupted; ``content`` is its result as text, bounded."""

    name: str
    content: str = ""


@dataclass(frozen=True, slots=True)
class DividerRow:
    """The hairline that opens turn ``turn`` (from 1); ``model_change`` names the model when another one answers."""

    key: str
    turn: int
    model_change: str = ""


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """What the user asked, with the files that came along."""

    key: str
    turn: int
    text: str
    attachments: tuple[AttachmentInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class ReasoningRow:
    """The model's visible reasoning, folded; ``seconds`` is how long it took, ``None`` while it runs or if unknown."""

    key: str
    turn: int
    text: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool call and, once it is there, its result, folded."""

    key: str
    turn: int
    name: str
    arguments: str
    result: str | None = None
    is_error: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """The answer's Markdown; ``streaming`` while it still grows."""

    key: str
    turn: int
    text: str
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class StatusRow:
    """The one line that says what is going on before and between text; replaced, then gone."""

    key: str
    turn: int
    phase: str
    done: int = 0
    total: int = 0
    unit: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MetaRow:
    """The quiet line under an answer: who, tokens, US dollars, seconds."""

    key: str
    turn: int
    model: str
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    seconds: float | None


@dataclass(frozen=True, slots=True)
class InterruptedRow:
    """A turn that ended badly: its question, files, what had arrived, and why (``reason`` is a plain sentence).

    ``cause`` tells the buttons apart: ``stopped`` by the user, ``failed`` with an error, ``closed`` with the app,
    ``killed`` (the app ended without warning).
    """

    key: str
    turn: int
    question: str
    attachments: tuple[AttachmentInfo, ...]
    partial: str
    cause: Literal["stopped", "failed", "closed", "killed"]
    reason: str = ""
    details: str = ""
    tools: tuple[ToolRun, ...] = ()


Row = DividerRow | QuestionRow | ReasoningRow | ToolRow | AnswerRow | StatusRow | MetaRow | InterruptedRow
