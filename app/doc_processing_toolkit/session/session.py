"""The session's face: what a host calls; the work is in the modules beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from doc_processing_toolkit.core.aio import Closing, EventStream
from doc_processing_toolkit.core.events import Complete, Event
from doc_processing_toolkit.core.protocols import Handle, MediaStore, Message, Runner
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.history.config import resolve_history_config
from doc_processing_toolkit.session import editing, rebind, restore
from doc_processing_toolkit.session.metadata import copy_metadata
from doc_processing_toolkit.session.report import persistence_report
from doc_processing_toolkit.session.snapshot import AGENTS_OWN, SessionSnapshot, take_snapshot
from doc_processing_toolkit.session.state import SessionState, check_late_policy
from doc_processing_toolkit.session.turn import checked_question, run_turns

Store = MediaStore | str | os.PathLike[str] | None


class AgentSession:
    """A conversation with an agent: its provider's own history, its accounting, one turn at a time.

    Nothing is written to disk by itself. History changes once per completed turn; a turn that fails leaves every
    completed one in place and its question on :attr:`interrupted_turn`.
    """

    def __init__(
        self,
        agent: Runner,
        *,
        session_history_config: Mapping[str, Any] | None = None,
        late_injection_policy: str = "surface",
        max_follow_up_turns: int = 1,
    ) -> None:
        check_late_policy(late_injection_policy, max_follow_up_turns)
        self.agent = agent
        self._state = SessionState(
            config=resolve_history_config(session_history_config, agent.session_history_config),
            late_injection_policy=late_injection_policy,
            max_follow_up_turns=max_follow_up_turns,
        )

    # Turns.

    async def run(self, prompt: str, *, files: Iterable[Any] = (), output_schema: Any = None) -> AgentResult:
        """Ask within the conversation, and return the result of the last turn (a late message may add one).

        Raises ``RuntimeError`` while another turn runs or when the session is closed, and what the turn raises;
        an error of the server comes back as a result with ``error`` set.
        """
        question, given = checked_question(prompt, files)
        async for event in run_turns(self._state, self.agent, question, given, output_schema, None):
            if isinstance(event, Complete):
                result = event.result
        return result

    def stream(self, prompt: str, *, files: Iterable[Any] = (), output_schema: Any = None) -> EventStream[Event]:
        """Ask within the conversation, as a stream of events; the last one is ``complete``.

        The turn starts when the first event is asked for. Raises as :meth:`run` does.
        """
        self._state.require_open()
        self._state.require_idle()
        question, given = checked_question(prompt, files)
        closing = Closing()
        return EventStream(run_turns(self._state, self.agent, question, given, output_schema, closing), closing)

    def inject(self, text: str) -> None:
        """Give the model a message: inside the running turn if there is one, else it waits in the pending ones."""
        if not isinstance(text, str) or not text.strip():
            raise ValueError("a message to inject must be text that is not empty")
        state = self._state
        if state.is_busy and state.handle is not None:
            state.handle.inject(text)
        else:
            state.park([text])

    @property
    def run_handle(self) -> Handle | None:
        """The handle of this session's latest turn, ``None`` before the first."""
        return self._state.handle

    # History.

    def get_history(self) -> list[Message]:
        """Return the messages, every turn with its tool calls and results, as a list of its own."""
        return list(self._state.messages)

    def clear(self) -> None:
        """Empty the history; the session stays open, and what it has cost stays counted."""
        editing.clear(self._state)

    def truncate_to(self, message_count: int, *, drop_orphans: bool = True) -> int:
        """Cut the history down to its first messages, and return how many were kept.

        The cut moves back until no tool call is without its result, unless ``drop_orphans`` is off.
        """
        return editing.truncate_to(self._state, self.agent.row.dialect, message_count, drop_orphans=drop_orphans)

    def truncate_to_turn(self, n: int, *, drop_orphans: bool = True) -> int:
        """Keep the first ``n`` recorded turns, and return how many messages were kept."""
        count = editing.end_of_turn(self._state, n)
        return editing.truncate_to(self._state, self.agent.row.dialect, count, drop_orphans=drop_orphans)

    def fork(self, turn: int | None = None) -> AgentSession:
        """Return a detached copy with a new id, cut after the recorded turn ``turn`` (``None``: not cut)."""
        return self._over(self.agent, editing.fork(self._state, self.agent.row.dialect, turn))

    def rebind(self, new_agent: Runner) -> None:
        """Continue with another agent, from the next turn on.

        Raises ``SessionCompatibilityError`` or ``UnsupportedPartError`` for a history that cannot go there; nothing
        is changed then. Raises ``RuntimeError`` while a turn runs.
        """
        rebind.rebind(self._state, self.agent, new_agent)
        self.agent = new_agent

    def preview_rebind(self, new_agent: Runner) -> list[dict[str, Any]]:
        """Return the report that :meth:`rebind` would give, and change nothing."""
        return rebind.preview(self._state, self.agent, new_agent)

    # Saving and restoring.

    def snapshot(self) -> SessionSnapshot:
        """Return a frozen shallow copy of the completed turns, that another thread may save."""
        return take_snapshot(self._state, self.agent)

    def to_dict(
        self,
        *,
        media: str | None = None,
        media_store: Store = None,
        media_max_inline_bytes: Any = AGENTS_OWN,
    ) -> dict[str, Any]:
        """Return the version 3 envelope, detached. Raises ``ValueError`` for ``externalize`` without a store."""
        saved = self.snapshot().to_dict(media=media, media_store=media_store)
        self._state.media_report = [dict(entry) for entry in saved["media_report"]]
        return saved

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        media: str | None = None,
        media_store: Store = None,
        media_max_inline_bytes: Any = AGENTS_OWN,
        indent: int | None = None,
    ) -> str:
        """Return the envelope as JSON text, and write it to ``path`` atomically when one is given (mode 0600)."""
        text, report = self.snapshot().save(path, media=media, media_store=media_store, indent=indent)
        self._state.media_report = report
        return text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, agent: Runner, media_store: Store = None) -> AgentSession:
        """Return the session that an envelope holds, continued by ``agent``.

        Raises ``EnvelopeError`` that names the place of the damage, ``TypeError`` for what is no mapping,
        ``SessionCompatibilityError`` and ``UnsupportedPartError`` for a history that ``agent`` cannot continue.
        """
        return cls._over(agent, restore.restore(data, agent, media_store, source="the envelope"))

    @classmethod
    def from_json(
        cls, source: str | bytes | os.PathLike[str], *, agent: Runner, media_store: Store = None
    ) -> AgentSession:
        """Return the session in JSON text, UTF-8 bytes, or the file at a path; raises as :meth:`from_dict` does."""
        return cls._over(agent, restore.restore_json(source, agent, media_store))

    @property
    def persistence_report(self) -> dict[str, Any]:
        """What :meth:`to_dict` would write: ``size_bytes``, ``message_count``, and a record per media part."""
        return persistence_report(self.snapshot())

    # Lifecycle.

    def close(self) -> None:
        """Close the session: no more turns. What it holds can still be read and saved."""
        self._state.is_closed = True
        self._state.kept_results.release()

    def __enter__(self) -> AgentSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> AgentSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AgentSession({self.session_id!r}, {self.agent.model!r}, {len(self._state.messages)} messages)"

    # Views.

    @property
    def session_id(self) -> str:
        """The session's id, a UUID for one that began here."""
        return self._state.session_id

    @property
    def messages(self) -> list[Message]:
        """The history: a plain list of messages in the provider's own shape."""
        return self._state.messages

    @property
    def metadata(self) -> dict[str, Any]:
        """The accounting: tokens, cost, runs, boundaries, parked messages, served models."""
        return self._state.metadata

    @property
    def run_boundaries(self) -> list[dict[str, int]]:
        """One ``{"run", "start", "end"}`` per completed turn that the history still addresses."""
        return [dict(record) for record in self._state.metadata["run_boundaries"]]

    @property
    def last_turn_results(self) -> list[AgentResult]:
        """Every result of the latest call, in order."""
        return list(self._state.last_turn_results)

    @property
    def interrupted_turn(self) -> dict[str, Any] | None:
        """The question of a turn that failed, and why; ``None`` when the latest one did not."""
        record = self._state.metadata.get("interrupted_turn")
        return copy_metadata(record) if record is not None else None

    @property
    def pending_injections(self) -> list[str]:
        """The messages that no turn could deliver."""
        return list(self._state.metadata.get("pending_injections", ()))

    @property
    def turn_in_flight(self) -> bool:
        """Whether a turn runs."""
        return self._state.is_busy

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._state.is_closed

    @property
    def late_injection_policy(self) -> str:
        """What becomes of a message that comes too late for its turn: ``surface`` or ``new_turn``."""
        return self._state.late_injection_policy

    @property
    def max_follow_up_turns(self) -> int:
        """How many follow-up turns one call may add."""
        return self._state.max_follow_up_turns

    @property
    def media_report(self) -> list[dict[str, Any]]:
        """What saves and restores could not keep."""
        return [dict(entry) for entry in self._state.media_report]

    @property
    def dropped_parts(self) -> list[dict[str, Any]]:
        """The stored parts that the row does not take, replaced at a restore or a rebind."""
        return [dict(entry) for entry in self._state.dropped_parts]

    @property
    def conversion_report(self) -> list[dict[str, Any]]:
        """What crossings to other providers dropped and re-keyed."""
        return [dict(entry) for entry in self._state.metadata.get("conversion_report", ())]

    @property
    def converted_from(self) -> str | None:
        """Where the history came from when the latest restore or rebind converted it."""
        return self._state.converted_from

    @property
    def prefix_changed_on_resume(self) -> bool:
        """Whether instructions or tools are others than those that the envelope was saved under."""
        return self._state.prefix_change_report is not None

    @property
    def prefix_change_report(self) -> dict[str, Any] | None:
        """What moved: ``changed``, and the two fingerprints ``saved`` and ``current``."""
        report = self._state.prefix_change_report
        return copy_metadata(report) if report is not None else None

    @property
    def restored_from_schema_version(self) -> int | None:
        """The version that the envelope declared (1 when it declared none); ``None`` for a session that began here."""
        return self._state.restored_from_schema_version

    @property
    def tool_surface_drift(self) -> list[dict[str, Any]]:
        """How the tools moved away from those that the session began with."""
        return [dict(entry) for entry in self._state.tool_surface_drift]

    @classmethod
    def _over(cls, agent: Runner, state: SessionState) -> AgentSession:
        session = cls(agent)
        session._state = state
        return session
