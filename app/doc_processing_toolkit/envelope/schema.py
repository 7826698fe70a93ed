"""The envelope: its keys, and a session's content as the writer takes it and the reader gives it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.protocols import Message

SCHEMA_VERSION = 3
KEYS = (
    "schema_version",
    "session_id",
    "provider",
    "model",
    "toolkit_version",
    "saved_at",
    "sdk",
    "media_policy",
    "media",
    "media_report",
    "messages",
    "metadata",
    "session_history_config",
    "late_injection_policy",
    "max_follow_up_turns",
    "prefix_fingerprint",
    "reuse_anthropic_container",
    "anthropic_container_id",
    "closed",
)


@dataclass(frozen=True, slots=True)
class SessionData:
    """What a save writes: the content of a session at one moment. Nothing in it is changed afterwards."""

    session_id: str
    provider: str
    model: str
    sdk: str
    dialect: str
    messages: Sequence[Message]
    metadata: Mapping[str, Any]
    history_config: Mapping[str, Any]
    late_injection_policy: str
    max_follow_up_turns: int
    prefix_fingerprint: Mapping[str, str]
    reuse_anthropic_container: bool
    anthropic_container_id: str | None
    is_closed: bool
    media_table: Mapping[str, Any] = field(default_factory=dict)
    media_report: Sequence[Mapping[str, Any]] = ()
