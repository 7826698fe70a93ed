"""How full the model's window is and what was spent, for the meter and the status line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnleaf.services.attachment import Attachment

if TYPE_CHECKING:
    from doc_processing_toolkit.registry import ModelRow
    from turnleaf.services.sidecar import LedgerTurn

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Estimated tokens: of the history, of the next question, and how many fit; US dollars spent so far."""

    history_tokens: int = 0
    next_tokens: int = 0
    window: int | None = None
    spent: float = 0.0
    turns: int = 0

    @property
    def tokens(self) -> int:
        """What the next request will hold."""
        return self.history_tokens + self.next_tokens


def usage_of(ledger: Sequence[LedgerTurn], text: str, attachments: Sequence[Attachment], row: ModelRow | None) -> Usage:
    """Return the usage of a conversation with `text` and `attachments` in its composer."""
    completed = [line for line in ledger if line.status == "completed"]
    last = completed[-1] if completed else None
    files = sum(attachment.info.estimated_tokens or 0 for attachment in attachments)
    return Usage(
        history_tokens=last.input_tokens + last.output_tokens if last is not None else 0,
        next_tokens=files + -(-len(text) // CHARACTERS_PER_TOKEN),
        window=row.context_window if row is not None else None,
        spent=sum(line.cost for line in ledger),
        turns=max((line.number for line in ledger), default=0),
    )
