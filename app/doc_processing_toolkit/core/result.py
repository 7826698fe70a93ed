"""What a run gives back: the answer, the transcript, the tokens and the money."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class CostRecord:
    """One request that was billed. Tokens are counts, ``cost`` is US dollars, ``at`` is UTC.

    ``input_tokens`` counts every prompt token once; the cached and cache-write counts are parts of it.
    ``is_summary`` marks a request that wrote a summary for a compaction, and answered nobody.
    """

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    cost: float
    cost_known: bool
    is_retry: bool
    at: datetime
    is_summary: bool = False


@dataclass(frozen=True, slots=True)
class MediaUpload:
    """A file that a run uploaded to a provider (J12). ``size`` is bytes, times are UTC."""

    uri: str
    name: str
    mime_type: str | None
    size: int
    sha256: str
    uploaded_at: datetime
    expiration_time: datetime | None


@dataclass(slots=True)
class AgentResult:
    """The outcome of one run (A03). ``output`` is ``None`` when ``error`` is set.

    ``messages`` is the provider's echoed transcript, JSON-clean; ``cost`` is US dollars and 0.0 for local models
    and where no price is known (``cost_known`` says which); ``duration_s`` is wall-clock seconds. Beside ``error``
    stand the server's own code for it and the HTTP status, where there were any.
    """

    output: Any
    messages: list[dict[str, Any]]
    model: str
    provider: str
    cost: float = 0.0
    cost_known: bool = True
    error: str | None = None
    error_code: str | None = None
    error_status: int | None = None
    stop_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    retry_cost: float = 0.0
    retry_count: int = 0
    retry_input_tokens: int = 0
    retry_output_tokens: int = 0
    cost_records: list[CostRecord] = field(default_factory=list)
    media_uploads: list[MediaUpload] = field(default_factory=list)
    input_transformations: list[dict[str, Any]] = field(default_factory=list)
    model_binding_mismatches: list[dict[str, Any]] = field(default_factory=list)
    iterations: int = 0
    duration_s: float = 0.0

    @property
    def total_tokens(self) -> int:
        """Prompt and answer tokens of the run together."""
        return self.input_tokens + self.output_tokens
