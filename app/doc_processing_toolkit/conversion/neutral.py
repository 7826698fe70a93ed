"""A history between two dialects: who said what, which calls were made, and what they came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import MediaPart, MediaReference, TextPart

Part = TextPart | MediaPart | MediaReference


@dataclass(slots=True, eq=False)
class Call:
    """A tool call: the message that made it, its old id (``None`` where it had none), its arguments as they stood.

    ``step`` numbers the model's answers, so that calls of one answer can be told; the result is set by the pairing.
    """

    index: int
    old_id: str | None
    name: str | None
    arguments: Any
    step: int = 0
    result: Result | None = None
    new_id: str = ""


@dataclass(slots=True, eq=False)
class Result:
    """What a tool call came to, with the id and the name that the result gave."""

    index: int
    call_id: str | None
    name: str | None
    parts: list[Part]
    is_error: bool = False


@dataclass(slots=True, eq=False)
class Entry:
    """One message's worth of a history. ``plain`` is the message itself where it is plain text in every dialect."""

    index: int
    role: str
    parts: list[Part] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    plain: Message | None = None


@dataclass(slots=True, eq=False)
class Notes:
    """What a conversion has to report: entries without their stamp, and the parts that the row does not take."""

    report: list[dict[str, Any]] = field(default_factory=list)
    dropped_parts: list[dict[str, Any]] = field(default_factory=list)

    def drop(self, artefact: str, index: int, detail: str) -> None:
        """Note something that could not come along."""
        self.report.append({"kind": "dropped", "artefact": artefact, "index": index, "detail": detail})
