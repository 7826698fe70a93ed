"""What an extraction may cost, and how it reports where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """The most that reading one document may take.

    ``seconds`` is wall-clock time from the start of the process, ``memory_bytes`` the address space of the process
    (on macOS and Windows: its resident memory, looked at every 50 ms). Past ``source_bytes`` a PDF is refused and a
    text is read up to there; past ``pages`` and ``characters`` the text so far is kept, with a note.
    """

    seconds: float = 120.0
    memory_bytes: int = 1 << 30
    source_bytes: int = 256 << 20
    pages: int = 5_000
    characters: int = 5_000_000

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_bytes", "source_bytes", "pages", "characters"):
            if getattr(self, name) <= 0:
                raise ValueError(f"limit {name} must be positive, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class ExtractionProgress:
    """``done`` of ``total`` pages or bytes are read; a ``total`` of 0 is unknown."""

    done: int
    total: int
    unit: Literal["pages", "bytes"]
