"""The present moment, as the toolkit writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the present moment in UTC, as ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
