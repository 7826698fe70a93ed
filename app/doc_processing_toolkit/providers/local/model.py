"""Which model the local server loads, and with how much room."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_CONTEXT_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model to be served on this machine.

    ``path`` is a ``.gguf`` file, or ``None`` for the packaged demo model. ``template`` is a jinja chat template;
    ``None`` means the file's own, and where the file has none (as the packaged one) the transcript template.
    ``context_tokens`` is the window asked for, 0 for the default of 8,192; a file that was trained on less gets less.
    """

    path: Path | None = None
    template: str | None = None
    context_tokens: int = DEFAULT_CONTEXT_TOKENS
