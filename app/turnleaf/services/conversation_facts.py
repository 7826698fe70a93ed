"""What an open conversation says about itself: titles, files, how it was saved, what is worth keeping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnleaf.services.conversation_store import ConversationStore, SaveState
from turnleaf.services.interruptions import interrupted_turn
from turnleaf.services.sidecar import InterruptedTurn, Sidecar

UNREAD_FILES = "unread_files"
"""The key of the view state that holds the paths of files which are still being read."""


class ConversationFacts:
    """The facts of a conversation; nothing here changes it. ``Conversation`` sets the fields."""

    sidecar: Sidecar
    _store: ConversationStore
    _envelope: Mapping[str, Any] | None
    _has_history: bool
    _is_leaving: bool

    @property
    def save_state(self) -> SaveState:
        """When everything was on disk last, or what could not be written."""
        return self._store.state

    @property
    def on_save_state(self) -> Callable[[SaveState], None] | None:
        """What is called on the loop after each write, also after one that failed."""
        return self._store.on_state

    @on_save_state.setter
    def on_save_state(self, listener: Callable[[SaveState], None] | None) -> None:
        self._store.on_state = listener

    @property
    def title(self) -> str:
        """The user's title, else the first words of the first question, else empty."""
        return self.sidecar.title

    @property
    def linked_file(self) -> Path | None:
        """The user's own ``.json``, the target of *Save*."""
        return Path(self.sidecar.linked.path) if self.sidecar.linked is not None else None

    @property
    def behind_file(self) -> bool:
        """Whether the linked file lacks what the conversation holds (the title marks it)."""
        linked = self.sidecar.linked
        return linked is not None and linked.revision != self.sidecar.revision

    @property
    def interrupted(self) -> InterruptedTurn | None:
        """The turn that has no answer, from the journal; also after kill -9. ``None`` while a turn runs."""
        return interrupted_turn(self.sidecar.journal)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing worth keeping: no turn, no question, no draft, no title of the user's, no file."""
        return not (
            self.sidecar.holds_something
            or self._envelope
            or self._store.unsaved
            or self._has_history
            or self.unread_files
        )

    @property
    def unread_files(self) -> tuple[str, ...]:
        """The paths of files that were attached and not yet read when this was written; they are read again."""
        paths = self.sidecar.view.get(UNREAD_FILES)
        return tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()

    @property
    def is_closed(self) -> bool:
        """Whether this object writes nothing any more."""
        return self._store.is_closed

    @property
    def is_leaving(self) -> bool:
        """Whether this object is being closed: who wants the conversation waits for ``gone`` and opens it anew."""
        return self._is_leaving and not self.is_closed

    @property
    def next_number(self) -> int:
        """The number that a new turn gets in the outline."""
        journal = self.sidecar.journal
        known = [line.number for line in self.sidecar.ledger]
        return max([*known, journal.number if journal is not None else 0], default=0) + 1
