"""What the window looks like between two starts: open tabs, the active one, closed ones, geometry."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace

from turnleaf.services.codec import CodecError, from_plain, to_plain
from turnleaf.services.profile import Profile
from turnleaf.services.storage import DelayedWrite, OrderedWriter, move_aside, write_json

log = logging.getLogger(__name__)

WRITE_DELAY_S = 0.2
MAX_CLOSED = 25


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """``tabs`` are session ids in order, ``closed`` those to reopen (latest last).

    ``geometry`` and ``window_state`` are the window toolkit's own bytes.
    """

    tabs: tuple[str, ...] = ()
    active: str | None = None
    closed: tuple[str, ...] = ()
    geometry: bytes = b""
    window_state: bytes = b""


class Workspace:
    """Keeps the state; every change is on disk within 300 ms. Calls on the event loop's thread."""

    def __init__(self, profile: Profile) -> None:
        self.path = profile.state / "workspace.json"
        self._state = WorkspaceState()
        self._writer = OrderedWriter("workspace")
        self._delayed = DelayedWrite(self._write)

    @property
    def state(self) -> WorkspaceState:
        """The state as it is to be restored."""
        return self._state

    async def load(self) -> WorkspaceState:
        """Read the state; a damaged file is moved aside and gives the empty state."""
        self._state = await asyncio.to_thread(self.read)
        return self._state

    def read(self) -> WorkspaceState:
        """Read the state. Blocking, a few kilobytes; for a start that needs the tabs before the loop runs."""
        try:
            self._state = from_plain(WorkspaceState, json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            self._state = WorkspaceState()
        except OSError as exc:
            log.warning("the open tabs could not be read: %s", exc)
        except (CodecError, ValueError, RecursionError):
            self._set_aside()
        return self._state

    def set_tabs(self, tabs: tuple[str, ...], active: str | None) -> None:
        """Remember the open tabs, in order, and the active one; a tab that has gone can be reopened."""
        old = self._state
        gone = tuple(tab for tab in old.tabs if tab not in tabs)
        closed = tuple(tab for tab in old.closed if tab not in tabs and tab not in gone) + gone
        self._change(replace(old, tabs=tuple(tabs), active=active, closed=closed[-MAX_CLOSED:]))

    def set_geometry(self, geometry: bytes, window_state: bytes = b"") -> None:
        """Remember the window's place and the state of its panes (opaque bytes)."""
        self._change(replace(self._state, geometry=bytes(geometry), window_state=bytes(window_state)))

    def reopen(self) -> str | None:
        """Take the tab that was closed last off the stack, ``None`` when there is none."""
        closed = self._state.closed
        if not closed:
            return None
        self._change(replace(self._state, closed=closed[:-1]))
        return closed[-1]

    def forget(self, session_id: str) -> None:
        """Take a conversation that is gone off the stack of closed tabs."""
        self._change(replace(self._state, closed=tuple(tab for tab in self._state.closed if tab != session_id)))

    async def flush(self) -> None:
        """Return when the state is on disk, or could not be written (that is logged: the tabs are no user's work)."""
        await self._delayed.finish()
        if self._delayed.is_due:
            self._delayed.settle()
            await self._write()

    def _change(self, state: WorkspaceState) -> None:
        if state != self._state:
            self._state = state
            self._delayed.mark(WRITE_DELAY_S)

    async def _write(self) -> bool:
        content = to_plain(self._state)
        try:
            await self._writer.run(lambda: write_json(self.path, content))
        except OSError as exc:
            log.warning("the open tabs could not be saved: %s", exc)
            return False
        return True

    def _set_aside(self) -> None:
        self._state = WorkspaceState()
        try:
            log.warning("the open tabs were damaged and are now in %s", move_aside(self.path))
        except OSError as exc:
            log.warning("the damaged file of the open tabs could not be moved aside: %s", exc)
