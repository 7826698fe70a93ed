"""Media on its way to another row: by its bytes where they are at hand, else a line of text in its place (J09, K02)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from doc_processing_toolkit.conversion.neutral import Notes, Part
from doc_processing_toolkit.conversion.rules import RULES, TargetRules
from doc_processing_toolkit.core.errors import UnsupportedPartError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.dialects.view import InlineMedia, MediaPart, MediaReference, TextPart
from doc_processing_toolkit.media.placeholders import placeholder

_YOUTUBE = re.compile(r"https?://([\w-]+\.)*(youtube\.com|youtu\.be|youtube-nocookie\.com)(/|\Z)", re.IGNORECASE)
_WEB = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Fitting:
    """Decides what becomes of each media part at ``row``; ``uploads`` has the bytes of uploads by their address."""

    row: ModelRow
    source: str
    policy: str
    notes: Notes
    uploads: Mapping[str, InlineMedia] = field(default_factory=dict)

    @property
    def _rules(self) -> TargetRules:
        return RULES[self.row.dialect]

    def fit(self, part: Part, index: int) -> Part:
        """Return the part as the row takes it, or text in its place.

        Raises ``UnsupportedPartError`` under the policy ``"raise"`` for a part that the row does not take.
        """
        if isinstance(part, TextPart):
            return part
        if isinstance(part, MediaReference):
            return self._reference(part, index)
        if not self.row.takes(part.kind):
            return self._refused(part, part.kind, index, f"rows like {self.row.label} take {_listed(self.row)}")
        if not self._rules.takes_type(part.kind, part.mime_type, len(part.data)):
            return self._refused(part, part.kind, index, f"{self.row.label} does not take this {part.mime_type}")
        return part

    def _reference(self, part: MediaReference, index: int) -> Part:
        kept = self.uploads.get(part.uri)
        if part.kind == "google_file_uri" and kept is not None:
            return self.fit(MediaPart(kept.data, kept.mime_type or part.mime_type or "application/octet-stream"), index)
        if part.kind == "google_file_uri":
            return self._lost(part, index, "a Google upload whose bytes were not kept")
        if part.kind == "provider_file":
            return self._lost(part, index, f"a file at {self.source} whose bytes were not kept")
        if _YOUTUBE.match(part.uri):
            return part if self._rules.takes_youtube else self._lost(part, index, "a YouTube reference")
        if not part.uri.lower().startswith(_WEB):
            return self._lost(part, index, f"a reference that only {self.source} can follow")
        kind = kind_of(part)
        if not self.row.takes(kind):
            return self._refused(part, kind, index, f"rows like {self.row.label} take {_listed(self.row)}")
        if kind not in self._rules.url_kinds:
            return self._refused(part, kind, index, f"{self.row.label} takes no {kind} by its address")
        return part

    def _lost(self, part: MediaReference, index: int, detail: str) -> TextPart:
        self.notes.drop("media", index, detail)
        return TextPart(placeholder(part, f"not available on {self.row.label}"))

    def _refused(self, part: MediaPart | MediaReference, kind: str, index: int, reason: str) -> TextPart:
        if self.policy == "raise":
            raise UnsupportedPartError(
                f"{self.row.id} does not take the {kind} in message {index}; it takes {_listed(self.row)}"
            )
        self.notes.dropped_parts.append(
            {
                "kind": kind,
                "index": index,
                "reason": "input_type",
                "provider": self.row.provider,
                "model": self.row.id,
            }
        )
        self.notes.drop("media", index, reason)
        held = part if isinstance(part, MediaReference) else InlineMedia(part.data, part.mime_type)
        return TextPart(placeholder(held, f"not accepted by {self.row.label}"))


def kind_of(part: MediaReference) -> str:
    """Return the input type that a row must list for a reference."""
    family = (part.mime_type or "image").partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _listed(row: ModelRow) -> str:
    return ", ".join(row.input_types)
