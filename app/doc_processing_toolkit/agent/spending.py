"""The account of one run: a record per request, and the sums that its result carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from doc_processing_toolkit.agent.prices import price
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.result import AgentResult, CostRecord
from doc_processing_toolkit.core.usage import TokenUsage


@dataclass(slots=True)
class Spending:
    """What a run has used so far."""

    row: ModelRow
    records: list[CostRecord] = field(default_factory=list)
    retry_count: int = 0
    reasoning_tokens: int = 0

    def bank(self, usage: TokenUsage, served_model: str, *, is_retry: bool) -> CostRecord:
        """Record one request and return its record."""
        cost, is_known = price(self.row, usage, served_model)
        record = CostRecord(
            provider=self.row.provider,
            model=served_model or self.row.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost=cost,
            cost_known=is_known,
            is_retry=is_retry,
            at=datetime.now(UTC),
        )
        self.records.append(record)
        self.reasoning_tokens += usage.reasoning_tokens
        return record

    def fill(self, result: AgentResult) -> AgentResult:
        """Put the sums into a result, and return it."""
        result.cost_records = list(self.records)
        result.cost = sum((record.cost for record in self.records), 0.0)
        result.cost_known = all(record.cost_known for record in self.records)
        result.input_tokens = sum(record.input_tokens for record in self.records)
        result.output_tokens = sum(record.output_tokens for record in self.records)
        result.cached_input_tokens = sum(record.cached_input_tokens for record in self.records)
        result.cache_write_tokens = sum(record.cache_write_tokens for record in self.records)
        result.reasoning_tokens = self.reasoning_tokens
        repeated = [record for record in self.records if record.is_retry]
        result.retry_count = self.retry_count
        result.retry_cost = sum((record.cost for record in repeated), 0.0)
        result.retry_input_tokens = sum(record.input_tokens for record in repeated)
        result.retry_output_tokens = sum(record.output_tokens for record in repeated)
        return result
