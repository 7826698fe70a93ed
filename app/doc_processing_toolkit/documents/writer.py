"""What a reader writes to: it counts characters, sends pieces, and says when the limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from doc_processing_toolkit.documents.cutting import cut_before
from doc_processing_toolkit.documents.protocol import PIECE_CHARACTERS, Message

_PROGRESS_EVERY_S = 0.05


class Remark(NamedTuple):
    """What is to be said about some pages; the words follow "Page 3" and "Pages 3 and 7"."""

    pages: tuple[int, ...]
    one: str
    many: str


class Reading(NamedTuple):
    """What a reader has to say about the text that it wrote."""

    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()
    encoding: str | None = None
    encoding_guessed: bool = False
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


class Writer:
    """Sends text in pieces, at most ``characters`` of it; ``is_full`` once something did not fit."""

    def __init__(self, send: Callable[[Message], None], characters: int) -> None:
        self.position = 0
        self.is_full = False
        self._send = send
        self._characters = characters
        self._pending: list[str] = []
        self._pending_characters = 0
        self._last_progress = 0.0

    def write(self, text: str) -> None:
        """Write text; what is beyond the limit is cut where it still reads well."""
        room = self._characters - self.position
        if len(text) > room:
            text = text[: cut_before(text, room, max(0, room - PIECE_CHARACTERS // 8))]
            self.is_full = True
        for start in range(0, len(text), PIECE_CHARACTERS):
            self._queue(text[start : start + PIECE_CHARACTERS])

    def write_section(self, label: str, text: str) -> bool:
        """Write a section under its mark line, unless none of it fits; return whether it fits whole."""
        mark = f"[{label}]\n" if text else f"[{label}]"
        gap = "\n\n" if self.position else ""
        if self._characters - self.position <= len(gap) + len(mark) - (not text):
            self.is_full = True
            return False
        self.write(gap)
        start = self.position
        self.write(mark + text)
        self._send({"type": "section", "label": label, "start": start, "end": self.position})
        return not self.is_full

    def report(self, done: int, total: int, unit: str) -> None:
        """Report progress, at most twenty times a second; the end is always reported."""
        now = time.monotonic()
        if done >= total or now - self._last_progress >= _PROGRESS_EVERY_S:
            self._last_progress = now
            self._send({"type": "progress", "done": done, "total": total, "unit": unit})

    def flush(self) -> None:
        """Send what is still held back."""
        if self._pending:
            self._send({"type": "text", "text": "".join(self._pending)})
        self._pending, self._pending_characters = [], 0

    def _queue(self, piece: str) -> None:
        if self._pending_characters + len(piece) > PIECE_CHARACTERS:
            self.flush()
        self._pending.append(piece)
        self._pending_characters += len(piece)
        self.position += len(piece)
