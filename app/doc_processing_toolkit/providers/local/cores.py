"""How many processor cores the local server may use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")


def default_threads() -> int:
    """Return the number of threads for the model: all physical cores but one, at least one.

    The engine's threads wait for each other in a busy loop, so that one thread too many costs more than one too few,
    and the window needs a core of its own.
    """
    return max(1, physical_cores() - 1)


def physical_cores() -> int:
    """Return how many physical cores this process may run on; outside Linux an estimate from the logical ones."""
    if not hasattr(os, "sched_getaffinity"):
        logical = os.cpu_count() or 1
        # Apple's own processors have one thread a core; the others are nearly always x86 with two.
        return logical if sys.platform == "darwin" else max(1, logical // 2)
    allowed = os.sched_getaffinity(0)
    siblings = {_siblings(cpu) for cpu in allowed}
    return len(allowed) if None in siblings else len(siblings)


def _siblings(cpu: int) -> str | None:
    """Return which logical processors share this one's core, as the kernel writes it; ``None`` when it does not say."""
    try:
        return (_TOPOLOGY / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
