"""The lines of the conversation list, read from the files; what was read once is remembered until a file changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from doc_processing_toolkit.core.errors import EnvelopeError
from turnleaf.services.codec import CodecError, from_plain, to_plain
from turnleaf.services.conversation_files import META_SUFFIX, ConversationFiles, is_id
from turnleaf.services.envelope_file import read_envelope, run_count_of
from turnleaf.services.interruptions import settle_journal
from turnleaf.services.sidecar import LinkedFile, Sidecar
from turnleaf.services.sidecar_file import read_sidecar
from turnleaf.services.sidecar_rebuild import sidecar_of
from turnleaf.services.storage import write_json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One line of the conversation list. ``updated_at`` is aware; ``problem`` is a sentence when it cannot be opened.

    ``generation`` is the newest kept generation that can be opened instead of a damaged envelope. ``title`` may be
    empty.
    """

    session_id: str
    title: str
    updated_at: datetime
    turns: int
    model: str
    interrupted: bool
    problem: str = ""
    generation: str | None = None


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A line and the states of the two files (time of change in ns, size) that it was read from."""

    envelope: tuple[int, ...]
    sidecar: tuple[int, ...]
    is_empty: bool
    line: ConversationSummary


class SummaryReader:
    """Reads the list. Blocking; one thread at a time. ``cache`` is a file that may go at any time."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder = folder
        self._cache = cache
        self._known: dict[str, _Remembered] | None = None

    def read(self, live: Mapping[str, Sidecar] | None = None) -> list[ConversationSummary]:
        """Return a line for each conversation that holds something, newest first.

        `live` are the sidecars of open conversations: they know better than their files, which are not read then.
        """
        if self._known is None:
            self._known = self._load()
        live = live or {}
        ids = session_ids(self._folder)
        current = {session_id: self._line(session_id) for session_id in ids if session_id not in live}
        if current != self._known:
            self._known = current
            self._store(current)
        lines = [each.line for each in current.values() if not each.is_empty]
        lines += [_live_line(session_id, live[session_id]) for session_id in ids if session_id in live]
        return sorted(lines, key=lambda line: (line.updated_at, line.session_id), reverse=True)

    def _line(self, session_id: str) -> _Remembered:
        files = ConversationFiles(self._folder, session_id)
        envelope, sidecar = _state(files.envelope), _state(files.sidecar)
        known = (self._known or {}).get(session_id)
        if known is not None and (known.envelope, known.sidecar) == (envelope, sidecar):
            return known
        line, is_empty = _summary(files)
        return _Remembered(envelope, sidecar, is_empty, line)

    def _load(self) -> dict[str, _Remembered]:
        try:
            data = json.loads(self._cache.read_bytes())
            return {key: from_plain(_Remembered, value) for key, value in data.items()}
        except (OSError, ValueError, AttributeError, RecursionError):
            return {}

    def _store(self, current: dict[str, _Remembered]) -> None:
        try:
            write_json(self._cache, {key: to_plain(value) for key, value in current.items()})
        except (OSError, CodecError) as exc:
            log.info("the conversation list was not cached: %s", type(exc).__name__)


def session_ids(folder: Path) -> list[str]:
    """Return the ids of all conversations of which something is in `folder`."""
    names = [entry.name for entry in folder.glob("*.json")] if folder.is_dir() else []
    ids = {
        name.removesuffix(META_SUFFIX) if name.endswith(META_SUFFIX) else name.removesuffix(".json") for name in names
    }
    return sorted(filter(is_id, ids))


def stored_link(files: ConversationFiles) -> LinkedFile | None:
    """Return the user's own file that a conversation on disk is linked to, ``None`` when it is linked to none."""
    sidecar = _stored_sidecar(files)
    return sidecar.linked if sidecar is not None else None


def _state(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size


def _live_line(session_id: str, sidecar: Sidecar) -> ConversationSummary:
    """A running turn looks like a killed one on disk, but not here."""
    return _line_of(session_id, sidecar, sidecar.updated_at or datetime.now(UTC), interrupted=_is_card(sidecar))


def _is_card(sidecar: Sidecar) -> bool:
    return sidecar.journal is not None and sidecar.journal.cause is not None


def _line_of(session_id: str, sidecar: Sidecar, updated_at: datetime, *, interrupted: bool) -> ConversationSummary:
    completed = [line for line in tuple(sidecar.ledger) if line.status == "completed"]
    return ConversationSummary(
        session_id=session_id,
        title=sidecar.title,
        updated_at=updated_at,
        turns=len(completed),
        model=completed[-1].model_label if completed else "",
        interrupted=interrupted,
    )


def _summary(files: ConversationFiles) -> tuple[ConversationSummary, bool]:
    sidecar, problem, generation = _read(files)
    line = _line_of(
        files.session_id, sidecar, sidecar.updated_at or _changed_at(files), interrupted=sidecar.journal is not None
    )
    line = replace(line, problem=problem, generation=generation)
    return line, not (problem or files.envelope.exists() or sidecar.holds_something)


def _read(files: ConversationFiles) -> tuple[Sidecar, str, str | None]:
    """Return the sidecar as opening would have it, without changing anything, and what keeps it from opening."""
    sidecar = _stored_sidecar(files)
    if not files.envelope.exists():
        problem = "" if sidecar is not None else f"{files.sidecar}: is damaged"
        sidecar = sidecar or Sidecar()
        settle_journal(sidecar, 0)
        return sidecar, problem, None
    try:
        _, envelope = read_envelope(files.envelope)
    except (EnvelopeError, TypeError) as exc:
        generation = files.newest_good_generation()
        return sidecar or Sidecar(), str(exc), str(generation) if generation is not None else None
    sidecar = sidecar or sidecar_of(envelope)
    settle_journal(sidecar, run_count_of(envelope))
    return sidecar, "", None


def _stored_sidecar(files: ConversationFiles) -> Sidecar | None:
    try:
        found = read_sidecar(files.sidecar.read_bytes())
    except OSError:
        return None
    return found.sidecar if not found.problems or found.sidecar.holds_something else None


def _changed_at(files: ConversationFiles) -> datetime:
    states = [_state(files.envelope), _state(files.sidecar)]
    newest = max((state[0] for state in states if state), default=0)
    return datetime.fromtimestamp(newest / 1e9, UTC)
