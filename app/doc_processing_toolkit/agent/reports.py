"""What providers report beside their answers, collected over the requests of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core.result import AgentResult, MediaUpload
from doc_processing_toolkit.providers.base import Reply

# The reasons for which a model was not shown a block that another model wrote (Anthropic's and OpenAI's word).
_OTHER_MODEL = frozenset({"model_binding_mismatch", "model_mismatch"})


@dataclass(slots=True)
class Reports:
    """The reports of one run."""

    transformations: list[dict[str, Any]] = field(default_factory=list)
    uploads: list[MediaUpload] = field(default_factory=list)

    def take(self, reply: Reply) -> None:
        """Add what came with one answer."""
        self.transformations += reply.input_transformations
        self.uploads += reply.media_uploads

    def fill(self, result: AgentResult) -> AgentResult:
        """Put the reports into a result, and return it."""
        result.input_transformations = [dict(entry) for entry in self.transformations]
        result.model_binding_mismatches = [
            dict(entry) for entry in self.transformations if entry.get("reason") in _OTHER_MODEL
        ]
        result.media_uploads = list(self.uploads)
        return result
