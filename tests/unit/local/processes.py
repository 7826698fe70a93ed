"""Looks at processes from outside."""

from __future__ import annotations

import time
from pathlib import Path

import psutil


def runs(pid: int) -> bool:
    """Return whether the process runs; one that has ended and was not reaped does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def ends_within(pid: int, seconds: float) -> bool:
    """Return whether the process ends in time."""
    deadline = time.monotonic() + seconds
    while runs(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def started_for(model: Path) -> list[int]:
    """Return the process ids of the miniature servers that were started for a model file, in order."""
    log = model.with_suffix(".pids")
    return [int(line) for line in log.read_text().split()] if log.exists() else []
