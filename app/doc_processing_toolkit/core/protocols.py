"""The seams: what a session needs of an agent, and what an agent promises to run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from doc_processing_toolkit.core.events import Event
from doc_processing_toolkit.core.kept_results import KeptResults
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.result import AgentResult

Message = dict[str, Any]
"""One message of a history, in its provider's own shape."""


@runtime_checkable
class MediaStore(Protocol):
    """Where a save puts media and a restore takes it from (002, J04)."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Keep ``data`` under its digest and return the reference; a second put of the same bytes changes nothing."""

    def get(self, ref: str) -> bytes:
        """Return the bytes behind a reference of :meth:`put`; may raise."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn to run.

    ``history`` is what goes before the question, ready to be sent; ``context`` is text that goes into the question's
    first part and is not stored. ``run`` is the turn's number from 1; ``is_streamed`` says that deltas are handed
    out as they come, so that a request which broke after one cannot be repeated.

    The rest is a session's alone: ``frozen_tools`` is the tool surface that it began with (E01), ``container_id`` the
    provider's container to go on in (H12), ``kept_results`` the rests of cut results (A05), and ``is_continued`` says
    that another turn is likely to follow. ``stored`` is the history as the session holds it, ``prepare`` makes of such
    a history what is sent (the messages, and the context), ``hides_results`` says that none of its tool results is,
    and ``estimate_gap`` by how many tokens the latest request was larger than estimated: what a compaction needs.
    """

    prompt: str
    files: tuple[Any, ...] = ()
    history: Sequence[Message] = ()
    context: str = ""
    output_schema: Any = None
    run: int = 1
    is_streamed: bool = False
    frozen_tools: tuple[Any, ...] | None = None
    container_id: str | None = None
    kept_results: KeptResults | None = None
    is_continued: bool = False
    stored: Sequence[Message] = ()
    prepare: Callable[[Sequence[Message]], tuple[list[Message], str]] | None = None
    hides_results: bool = False
    estimate_gap: int = 0


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a turn's compactions made of the history before it.

    ``history`` is to be stored instead of the session's own, ``sent_count`` is how many messages went before the
    question, and ``events`` tell each compaction.
    """

    history: list[Message]
    sent_count: int
    events: list[dict[str, Any]]


class Handle(Protocol):
    """What a session does with a running turn's handle."""

    def inject(self, text: str) -> None:
        """Give the model a message at the next safe point."""

    def take_undelivered(self) -> list[str]:
        """Return the messages that never reached the model, and forget them."""


class TurnRun(Protocol):
    """A turn that runs, or has run.

    ``question`` is the user message once it was built, else ``None``; ``injected`` the user messages that were
    delivered inside the turn; ``spent`` is a result that holds what the turn has cost so far. ``tool_surface`` are the
    tools that its requests carried, ``tool_drift`` how the agent's own have moved away from the frozen ones, and
    ``container_id`` the container of the latest answer. ``placed`` pairs messages of the history with those to be
    stored instead. ``compacted`` is ``None`` when the history is as it was, and
    ``estimate_gap`` is by how many tokens the latest request was larger than estimated.
    """

    @property
    def handle(self) -> Handle: ...
    @property
    def question(self) -> Message | None: ...
    @property
    def injected(self) -> list[Message]: ...
    @property
    def tool_surface(self) -> tuple[Any, ...]: ...
    @property
    def tool_drift(self) -> dict[str, Any] | None: ...
    @property
    def container_id(self) -> str | None: ...
    @property
    def placed(self) -> Sequence[tuple[Message, Message]]: ...
    @property
    def compacted(self) -> Compacted | None: ...
    @property
    def estimate_gap(self) -> int: ...

    def events(self) -> AsyncGenerator[Event, None]:
        """Run the turn; the last event is ``complete``. Raises what the turn raises."""

    def spent(self, error: str) -> AgentResult:
        """Return the account of a turn that did not complete, with ``error`` set."""


class Runner(Protocol):
    """What a session needs of an agent: the row, the settings that concern a session, and running a turn."""

    @property
    def row(self) -> ModelRow: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def session_history_config(self) -> Mapping[str, Any] | None: ...
    @property
    def media_policy(self) -> str: ...
    @property
    def media_store(self) -> MediaStore | None: ...
    @property
    def media_max_inline_bytes(self) -> int | None: ...
    @property
    def on_unsupported_part(self) -> str: ...
    @property
    def stream_history(self) -> str: ...
    @property
    def reuse_anthropic_container(self) -> bool: ...

    def prefix_fingerprint(self) -> dict[str, str]:
        """Return the SHA-256 digests of the system prompt and of the name-sorted tool surface."""

    def start_turn(self, request: TurnRequest) -> TurnRun:
        """Return the turn, ready to run; nothing has left yet."""

    def note_abandoned(self, result: AgentResult) -> None:
        """Remember the account of a stream that was closed early."""
