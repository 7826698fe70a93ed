"""The rests of tool results that were cut: text in memory, for as long as its session or its turn lives (A05)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field


@dataclass(slots=True)
class KeptResults:
    """Texts by id. An id is never given twice, so that one which an old history names cannot reach a newer text."""

    _texts: dict[str, str] = field(default_factory=dict)

    def keep(self, text: str) -> str:
        """Keep a text and return its id."""
        result_id = secrets.token_hex(6)
        self._texts[result_id] = text
        return result_id

    def get(self, result_id: str) -> str | None:
        """Return the text, ``None`` when it is not kept here, or no more."""
        return self._texts.get(result_id)

    def copy(self) -> KeptResults:
        """Return a copy that can be released by itself."""
        return KeptResults(dict(self._texts))

    def release(self) -> None:
        """Forget every text."""
        self._texts.clear()
