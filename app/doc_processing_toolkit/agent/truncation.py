"""Cutting long tool results, and the built-in tool that reads on in them (A05)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent.settings import AgentSettings
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.core.kept_results import KeptResults

DEFAULT_RESULT_CHARACTERS = 100_000
READ_ON = "read_truncated_result"
IN_FINGERPRINT = f"built_in:{READ_ON}"
_DESCRIPTION = (
    "Read on in an earlier tool result that was cut. result_id is the id in the note at its end, "
    "offset the number of the character to begin at."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "result_id": {"type": "string", "description": "The id in the note at the end of the cut result."},
        "offset": {"type": "integer", "minimum": 0, "description": "The character to begin at, counted from 0."},
    },
    "required": ["result_id", "offset"],
}


@dataclass(frozen=True, slots=True)
class Truncation:
    """How long a tool result may be (0: any length), and where the rest of a cut one is kept, if it is."""

    most: int
    kept: KeptResults | None = None

    def cut(self, text: str) -> str:
        """Return the text, cut when it is too long, with a note that says so and how to read on."""
        if not self.most or len(text) <= self.most:
            return text
        note = f"cut: {self.most:,} of {len(text):,} characters"
        if self.kept is not None:
            result_id = self.kept.keep(text)
            note += f'; {READ_ON} with result_id "{result_id}" and offset {self.most} reads on'
        return f"{text[: self.most]}\n[{note}]"


def offers_reading_on(settings: AgentSettings) -> bool:
    """Whether the agent offers :data:`READ_ON`: results may be cut, and the model may choose to call it."""
    return (
        settings.truncated_result_read_chars is not None
        and settings.max_tool_result_chars != 0
        and settings.tool_choice in (None, "auto", "none")
    )


def truncation_of(settings: AgentSettings, kept: KeptResults) -> Truncation:
    """Return what an agent's settings make of long results; ``kept`` takes the rests where they can be read."""
    most = settings.max_tool_result_chars
    return Truncation(
        DEFAULT_RESULT_CHARACTERS if most is None else most, kept if offers_reading_on(settings) else None
    )


def reading_tool(kept: KeptResults, most: int) -> Tool:
    """Return the tool that reads up to ``most`` characters of a kept result at a time."""

    async def read_on(result_id: str, offset: int = 0) -> str:
        text = kept.get(str(result_id))
        if text is None:
            return f"The result {result_id!r} is no longer available. Call its tool again if the rest is needed."
        start = max(0, int(offset))
        piece, end = text[start : start + most], min(start + most, len(text))
        if end >= len(text):
            return f"{piece}\n[the end: {len(text):,} characters]"
        return f"{piece}\n[characters {start:,} to {end:,} of {len(text):,}; offset {end} reads on]"

    return Tool(READ_ON, _DESCRIPTION, _PARAMETERS, read_on)
