"""What a session holds: its history and accounting, its reports, and the turn that runs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.kept_results import KeptResults
from doc_processing_toolkit.core.protocols import Handle, Message
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.history.config import HistoryConfig
from doc_processing_toolkit.session.metadata import new_metadata

LATE_POLICIES = ("surface", "new_turn")
BUSY = "a turn is already running on this session; wait for its end, or stop it first"


@dataclass(slots=True)
class SessionState:
    """The state behind a session's face. ``messages`` is replaced, never changed in place."""

    config: HistoryConfig
    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    messages: list[Message] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=new_metadata)
    late_injection_policy: str = "surface"
    max_follow_up_turns: int = 1
    is_closed: bool = False
    is_busy: bool = False
    handle: Handle | None = None
    last_turn_results: list[AgentResult] = field(default_factory=list)
    media_table: dict[str, Any] = field(default_factory=dict)
    media_report: list[dict[str, Any]] = field(default_factory=list)
    dropped_parts: list[dict[str, Any]] = field(default_factory=list)
    tool_surface_drift: list[dict[str, Any]] = field(default_factory=list)
    frozen_tools: tuple[Any, ...] | None = None
    # By how many tokens the latest request was larger than estimated, and the history that this holds for.
    estimate_gap: tuple[list[Message], int] | None = None
    kept_results: KeptResults = field(default_factory=KeptResults)
    anthropic_container_id: str | None = None
    converted_from: str | None = None
    prefix_change_report: dict[str, Any] | None = None
    restored_from_schema_version: int | None = None

    def require_idle(self) -> None:
        """Raise ``RuntimeError`` while a turn runs."""
        if self.is_busy:
            raise RuntimeError(BUSY)

    def require_open(self) -> None:
        """Raise ``RuntimeError`` when the session was closed."""
        if self.is_closed:
            raise RuntimeError("the session is closed; open another one, or restore it from its envelope")

    def park(self, texts: list[str]) -> None:
        """Keep messages that no turn could deliver; the host owns them (001, "Late hook messages")."""
        if texts:
            self.metadata["pending_injections"] = [*self.metadata.get("pending_injections", ()), *texts]

    def reset_boundaries(self) -> None:
        """Empty the run boundaries, and say at which run that was."""
        self.metadata["run_boundaries"] = []
        self.metadata["boundaries_reset_at_run"] = self.metadata["run_count"]


def check_late_policy(policy: Any, follow_ups: Any) -> None:
    """Raise ``ValueError`` for a policy or a count that cannot be."""
    if policy not in LATE_POLICIES:
        raise ValueError(f"late_injection_policy is {policy!r}; it must be one of {', '.join(LATE_POLICIES)}")
    if not isinstance(follow_ups, int) or isinstance(follow_ups, bool) or follow_ups < 0:
        raise ValueError(f"max_follow_up_turns is {follow_ups!r}; it must be a whole number of at least 0")
