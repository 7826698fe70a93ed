"""Owns where the recorded provider traffic lies: TURNLEAF_RECORDED, else `shared/recorded` beside the clone."""

import os
from pathlib import Path

from support.requirements import unavailable

_CLONE = Path(__file__).resolve().parents[2]


def recorded_dir() -> Path:
    """Return the folder of the recordings; without it the calling test is skipped, or fails where all is required."""
    named = os.environ.get("TURNLEAF_RECORDED")
    folder = Path(named) if named else _CLONE.parent / "shared" / "recorded"
    if not folder.is_dir():
        unavailable(f"the recorded provider traffic is not in {folder} (TURNLEAF_RECORDED names another folder)")
    return folder
