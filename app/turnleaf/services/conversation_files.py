"""The files of one conversation, and the blocking work on them; nothing here knows what a turn is."""

from __future__ import annotations

import contextlib
import logging
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from doc_processing_toolkit.core.errors import EnvelopeError
from turnleaf.services.envelope_file import read_envelope
from turnleaf.services.storage import second_name

if TYPE_CHECKING:
    from doc_processing_toolkit import DirectoryMediaStore
    from doc_processing_toolkit.session.snapshot import SessionSnapshot

log = logging.getLogger(__name__)

PREVIOUS = "previous.json"
META_SUFFIX = ".meta.json"
# Ours are UUIDs; a file that was copied there by hand may have another plain name.
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def is_id(name: str) -> bool:
    """Whether a name can be a conversation's id, and so a part of a file's name."""
    return _ID.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """Where a conversation's envelope, sidecar and kept generations are."""

    folder: Path
    session_id: str

    @property
    def envelope(self) -> Path:
        """``<id>.json``, the session as the toolkit writes it."""
        return self.folder / f"{self.session_id}.json"

    @property
    def sidecar(self) -> Path:
        """``<id>.meta.json``, what stands beside it."""
        return self.folder / f"{self.session_id}{META_SUFFIX}"

    @property
    def history(self) -> Path:
        """``<id>.history``, the folder of kept generations."""
        return self.folder / f"{self.session_id}.history"

    @property
    def exists(self) -> bool:
        """Whether anything of the conversation is on disk."""
        return self.envelope.exists() or self.sidecar.exists()

    def write_envelope(self, snapshot: SessionSnapshot, media: DirectoryMediaStore) -> None:
        """Write a snapshot durably, its media in the store; the envelope before it stays as ``previous.json``."""
        self._keep_previous()
        snapshot.to_json(path=self.envelope, media="externalize", media_store=media)

    def keep_generation(self, label: str) -> Path | None:
        """Keep the envelope as it is under a name with time and label; ``None`` when there is none. May raise."""
        if not self.envelope.exists():
            return None
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        plain = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40] or "kept"
        target = self.history / f"{stamp}-{plain}.json"
        self.history.mkdir(mode=0o700, exist_ok=True)
        second_name(self.envelope, target)
        return target

    def generations(self) -> list[Path]:
        """Return the kept envelopes, newest first."""
        try:
            found = [(entry.stat().st_mtime_ns, entry) for entry in self.history.glob("*.json")]
        except OSError:
            return []
        return [entry for _, entry in sorted(found, reverse=True)]

    def newest_good_generation(self) -> Path | None:
        """Return the newest kept envelope that can be read, ``None`` when there is none. Blocking."""
        for generation in self.generations():
            try:
                read_envelope(generation)
            except (EnvelopeError, TypeError):
                continue
            return generation
        return None

    def remove(self) -> None:
        """Delete what is on disk of a conversation that holds nothing."""
        self.sidecar.unlink(missing_ok=True)
        self.envelope.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.history.rmdir()

    def _keep_previous(self) -> None:
        if not self.envelope.exists():
            return
        try:
            self.history.mkdir(mode=0o700, exist_ok=True)
            second_name(self.envelope, self.history / PREVIOUS)
        except OSError as exc:
            # The new envelope matters more than the spare copy of the old one.
            log.warning("the previous generation of a conversation could not be kept: %s", exc)
