"""What stands beside an envelope: title, recipe, ledger of turns, journal of the running turn, draft and view state."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from turnleaf.services.rows import AttachmentInfo, ToolRun

InterruptionCause = Literal["stopped", "failed", "closed", "killed"]


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What a turn's rows show and its messages do not hold.

    ``timings`` are the seconds of its reasoning and tool rows in their order, ``failed_tools`` the positions among
    its tool rows of those that gave an error.
    """

    timings: tuple[float | None, ...] = ()
    failed_tools: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerTurn:
    """One turn of the outline: a completed one, or an interrupted one that a later question left standing.

    ``number`` counts the conversation's turns from 1 and never changes; ``run`` is the session's run number.
    ``cost`` is US dollars, ``seconds`` wall-clock, ``ended_at`` UTC. ``partial``, ``tools``, ``cause``, ``reason``
    and ``details`` belong to an interrupted one. Without ``figures_known`` tokens, cost and seconds say nothing: the
    line was made from an envelope alone. The ledger does not depend on ``run_boundaries``.
    """

    number: int
    run: int
    question: str
    model: str
    model_label: str
    ended_at: datetime
    attachments: tuple[AttachmentInfo, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cost_known: bool = True
    seconds: float | None = None
    facts: TurnFacts = TurnFacts()
    figures_known: bool = True
    status: Literal["completed", "interrupted"] = "completed"
    partial: str = ""
    tools: tuple[ToolRun, ...] = ()
    cause: InterruptionCause | None = None
    reason: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class InterruptedTurn:
    """A turn that has no answer in history: what was asked, what had arrived, and why it ended."""

    number: int
    run: int
    question: str
    attachments: tuple[AttachmentInfo, ...]
    model: str
    partial: str
    cause: InterruptionCause
    reason: str = ""
    details: str = ""
    tools: tuple[ToolRun, ...] = ()
    model_label: str = ""


@dataclass(slots=True)
class Journal:
    """The turn that is running (no ``cause``), that was interrupted (``cause``), or that is being written down.

    ``finished`` says that the turn has its answer and its line in the ledger, and that the envelope is about to
    follow. Whether it did is told by the envelope: a turn is complete when the envelope's run count has reached
    ``run``.
    """

    number: int
    run: int
    question: str
    attachments: tuple[AttachmentInfo, ...]
    model: str
    started_at: datetime
    model_label: str = ""
    partial: str = ""
    tools: tuple[ToolRun, ...] = ()
    cause: InterruptionCause | None = None
    reason: str = ""
    details: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the composer and is not sent: text and files (their bytes are in the media store)."""

    text: str = ""
    attachments: tuple[AttachmentInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """The user's own ``.json``: where, the revision of the conversation it holds, and its bytes' SHA-256."""

    path: str
    revision: int
    sha256: str


@dataclass(slots=True)
class Sidecar:
    """The content of ``<id>.meta.json``. ``revision`` counts the changes of the history."""

    title: str = ""
    renamed: bool = False
    recipe: dict[str, Any] = field(default_factory=dict)
    ledger: list[LedgerTurn] = field(default_factory=list)
    journal: Journal | None = None
    draft: Draft = field(default_factory=Draft)
    view: dict[str, Any] = field(default_factory=dict)
    linked: LinkedFile | None = None
    revision: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def holds_something(self) -> bool:
        """Whether there is anything worth keeping: a turn, a question, a draft, a title of the user's, a file."""
        draft = self.draft
        return bool(
            self.ledger or self.journal or draft.text.strip() or draft.attachments or self.renamed or self.linked
        )


@dataclass(frozen=True, slots=True)
class Completed:
    """A turn that has its answer; ``turn`` is its ledger line."""

    turn: LedgerTurn


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A turn that was stopped, failed, or ended with the app. ``reason`` is a plain sentence, ``details`` no secret."""

    cause: InterruptionCause
    reason: str = ""
    details: str = ""


TurnEnd = Completed | Interrupted
