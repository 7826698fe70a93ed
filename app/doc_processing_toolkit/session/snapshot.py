"""A session at one moment: a frozen shallow copy of its completed turns, that another thread may save."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doc_processing_toolkit.core.protocols import MediaStore, Message, Runner
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.envelope import write
from doc_processing_toolkit.envelope.schema import SessionData
from doc_processing_toolkit.history.boundaries import rebased
from doc_processing_toolkit.media.store import store_from
from doc_processing_toolkit.session.metadata import copy_metadata
from doc_processing_toolkit.session.state import SessionState


class _AgentsOwn:
    """Stands for "as the agent has it" where ``None`` means something."""


AGENTS_OWN = _AgentsOwn()


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """What a session held when it was taken; the session may go on meanwhile."""

    data: SessionData
    media_policy: str
    media_store: MediaStore | None

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.data.session_id

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of the completed turns; not to be changed."""
        return self.data.messages

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The accounting; not to be changed."""
        return self.data.metadata

    def to_dict(
        self,
        *,
        media: str | None = None,
        media_store: MediaStore | str | os.PathLike[str] | None = None,
        media_max_inline_bytes: int | _AgentsOwn | None = AGENTS_OWN,
    ) -> dict[str, Any]:
        """Return the version 3 envelope, detached and JSON-clean."""
        return write.detached(self.envelope(media, media_store))

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        media: str | None = None,
        media_store: MediaStore | str | os.PathLike[str] | None = None,
        media_max_inline_bytes: int | _AgentsOwn | None = AGENTS_OWN,
        indent: int | None = None,
    ) -> str:
        """Return the envelope as JSON text, and write it to ``path`` atomically when one is given.

        Raises ``OSError`` when the file cannot be written; what stood there is then untouched.
        """
        return self.save(path, media=media, media_store=media_store, indent=indent)[0]

    def save(
        self,
        path: str | os.PathLike[str] | None,
        *,
        media: str | None,
        media_store: MediaStore | str | os.PathLike[str] | None,
        indent: int | None,
    ) -> tuple[str, list[dict[str, Any]]]:
        """Do what :meth:`to_json` does, and return the text and the media report that it holds."""
        envelope = self.envelope(media, media_store)
        pieces = write.encode(envelope, indent=indent)
        if path is not None:
            write.write_file(Path(path), pieces)
        return "".join(pieces), list(envelope["media_report"])

    def envelope(self, media: str | None, media_store: MediaStore | str | os.PathLike[str] | None) -> dict[str, Any]:
        """Return the envelope over the session's own messages; see :func:`envelope.write.envelope_of`."""
        store = self.media_store if media_store is None else store_from(media_store)
        return write.envelope_of(self.data, self.media_policy if media is None else media, store)


def take_snapshot(state: SessionState, runner: Runner) -> SessionSnapshot:
    """Return a snapshot; the messages themselves are shared, since no one changes them in place."""
    dialect = runner.row.dialect
    dropped = _leading_system_messages(state.messages, dialect)
    metadata = copy_metadata(state.metadata)
    if dropped:
        metadata["run_boundaries"] = rebased(metadata["run_boundaries"], dropped)
    data = SessionData(
        session_id=state.session_id,
        provider=runner.provider,
        model=runner.model,
        sdk=runner.row.sdk,
        dialect=dialect,
        messages=state.messages[dropped:],
        metadata=metadata,
        history_config=state.config.to_dict(),
        late_injection_policy=state.late_injection_policy,
        max_follow_up_turns=state.max_follow_up_turns,
        prefix_fingerprint=runner.prefix_fingerprint(),
        reuse_anthropic_container=runner.reuse_anthropic_container,
        anthropic_container_id=state.anthropic_container_id,
        is_closed=state.is_closed,
        media_table=dict(state.media_table),
        media_report=list(state.media_report),
    )
    return SessionSnapshot(data, runner.media_policy, runner.media_store)


def _leading_system_messages(messages: Sequence[Message], dialect: str) -> int:
    """Return how many system messages open the history: instructions are never written (H05)."""
    lens = lens_of(dialect)
    count = 0
    while count < len(messages) and lens.system_text(messages[count]) is not None:
        count += 1
    return count
