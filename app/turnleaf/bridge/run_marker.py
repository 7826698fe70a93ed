"""Whether the last run of a profile ended as it should: a file that exists only while the app runs."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

log = logging.getLogger(__name__)


class RunMarker:
    """``started()`` says whether the run before was cut off; ``ended()`` says that this one was not."""

    def __init__(self, state: Path) -> None:
        self._path = state / "running"

    def started(self) -> bool:
        """Note that the app runs; return whether the last run left its note behind."""
        cut_off = self._path.exists()
        try:
            self._path.touch()
        except OSError as error:
            log.warning("cannot note that the app runs: %s", error.strerror or error)
        return cut_off

    def ended(self) -> None:
        """Note that the app has ended as it should."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
