"""The log file of a profile: rotating, without secrets, and the path of the crash log."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
from pathlib import Path
from typing import IO

from turnleaf.services.profile import Profile
from turnleaf.services.redaction import redact

MAX_LOG_BYTES = 1_000_000
KEPT_LOGS = 3


def log_path(profile: Profile) -> Path:
    """The log file; ``<name>.1`` … are the older ones."""
    return profile.state / "turnleaf.log"


def crash_log_path(profile: Profile) -> Path:
    """Where the interpreter's own crash traces go (``faulthandler``)."""
    return profile.state / "crash.log"


class LogFile:
    """This process's log records in the profile's log file, until ``close``."""

    def __init__(self, profile: Profile, *, level: str = "INFO") -> None:
        self.path = log_path(profile)
        self._handler = _PrivateHandler(self.path, maxBytes=MAX_LOG_BYTES, backupCount=KEPT_LOGS, encoding="utf-8")
        self._handler.setFormatter(_RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root = logging.getLogger()
        self._level_before = root.level
        root.addHandler(self._handler)
        root.setLevel(level)
        self._crash_file = _open_private(crash_log_path(profile))
        faulthandler.enable(self._crash_file)

    def close(self) -> None:
        """Write no more records here; doing so twice is harmless."""
        root = logging.getLogger()
        if self._handler in root.handlers:
            root.removeHandler(self._handler)
            root.setLevel(self._level_before)
            faulthandler.disable()
            self._crash_file.close()
        self._handler.close()


def set_up_logging(profile: Profile, *, level: str = "INFO") -> LogFile:
    """Send this process's log records to the profile's log file, secrets redacted, and crash traces beside it.

    ``DEBUG`` of the network libraries stays off: it would hold requests. Raises ``OSError`` when there is no file.
    """
    for name in ("httpx2", "httpcore2", "openai", "anthropic", "asyncio", "google_genai"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return LogFile(profile, level=level)


class _RedactingFormatter(logging.Formatter):
    """Redacts the finished line, so that arguments and tracebacks are covered too."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class _PrivateHandler(logging.handlers.RotatingFileHandler):
    """A rotating file that only its user can read; what cannot be logged must not disturb the app."""

    def _open(self) -> IO[str]:  # type: ignore[override]  # the stubs promise the concrete class
        return _open_private(Path(self.baseFilename))

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk loses log lines, nothing else."""


def _open_private(path: Path) -> IO[str]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")
