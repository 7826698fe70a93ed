"""The seams: what a session needs of an agent, and what an agent promises to run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from doc_processing_toolkit.core.events import Event
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
    """

    prompt: str
    files: tuple[Any, ...] = ()
    history: Sequence[Message] = ()
    context: str = ""
    output_schema: Any = None
    run: int = 1
    is_streamed: bool = False


class Handle(Protocol):
    """What a session does with a running turn's handle."""

    def inject(self, text: str) -> None:
        """Give the model a message at the next safe point."""

    def take_undelivered(self) -> list[str]:
        """Return the messages that never reached the model, and forget them."""


class TurnRun(Protocol):
    """A turn that runs, or has run.

    ``question`` is the user message once it was built, else ``None``; ``injected`` the user messages that were
    delivered inside the turn; ``spent`` is a result that holds what the turn has cost so far.
    """

    @property
    def handle(self) -> Handle: ...
    @property
    def question(self) -> Message | None: ...
    @property
    def injected(self) -> list[Message]: ...

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
