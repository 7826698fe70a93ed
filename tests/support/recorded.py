"""Owns where the recorded provider traffic and the toolkit's documents lie: named in the environment, or beside us.

TURNLEAF_RECORDED names the recordings, else they are in `shared/recorded` beside the clone; TURNLEAF_SPEC names the
documents, else they are in the folder `spec` beside the recordings.
"""

import os
from pathlib import Path

from support.requirements import unavailable

_CLONE = Path(__file__).resolve().parents[2]


def recorded_dir() -> Path:
    """Return the folder of the recordings; without it the calling test is skipped, or fails where all is required."""
    folder = _recorded()
    if not folder.is_dir():
        unavailable(f"the recorded provider traffic is not in {folder} (TURNLEAF_RECORDED names another folder)")
    return folder


def spec_dir() -> Path:
    """Return the folder of the documents; without it the calling test is skipped, or fails where all is required."""
    named = os.environ.get("TURNLEAF_SPEC")
    folder = Path(named) if named else _recorded().parent / "spec"
    if not folder.is_dir():
        unavailable(f"the toolkit's documents are not in {folder} (TURNLEAF_SPEC names another folder)")
    return folder


def _recorded() -> Path:
    named = os.environ.get("TURNLEAF_RECORDED")
    return Path(named) if named else _CLONE.parent / "shared" / "recorded"
