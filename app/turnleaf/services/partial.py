"""What has arrived of a turn that has not ended: its text so far and the tools that have run."""

from __future__ import annotations

import json
from typing import Any

from doc_processing_toolkit.core.events import Event, TextDelta, ToolCall, ToolCallResult
from turnleaf.services.rows import ToolRun

MAX_SHOWN_CHARACTERS = 20_000


class PartialAnswer:
    """Collects a running turn's events. Adding costs the piece's length, reading joins what is new."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_after_tool = False
        self.tools: tuple[ToolRun, ...] = ()

    @property
    def text(self) -> str:
        """The text so far; what stands before and after a tool round is told apart by a blank line."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, event: Event) -> bool:
        """Take an event in and return whether it belongs to what must not be lost."""
        match event:
            case TextDelta(text) if text:
                self.add_text(text)
            case ToolCall():
                self._is_after_tool = True
                return False
            case ToolCallResult():
                self.add_tool(event.name, shown(event.content))
            case _:
                return False
        return True

    def add_text(self, text: str) -> None:
        """Take a piece of the answer in."""
        if self._is_after_tool and self._pieces:
            self._pieces.append("\n\n")
        self._is_after_tool = False
        self._pieces.append(text)

    def add_tool(self, name: str, content: str) -> None:
        """Take a tool that has run in, with its result as text."""
        self._is_after_tool = True
        self.tools = (*self.tools, ToolRun(name, content))


def shown(value: Any) -> str:
    """Return a tool's arguments or result as text for showing, at most 20,000 characters and a note of the rest."""
    text = value if isinstance(value, str) else _as_json(value)
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    return f"{text[:MAX_SHOWN_CHARACTERS]}\n… ({len(text) - MAX_SHOWN_CHARACTERS:,} more characters)"


def _as_json(value: Any) -> str:
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)
