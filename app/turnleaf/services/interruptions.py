"""What a journal means: the interrupted turn to show, its line in the ledger, and what a killed process left."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeGuard

from turnleaf.services.sidecar import InterruptedTurn, Journal, LedgerTurn, Sidecar

KILLED = "Turnleaf ended before the answer was complete."
NOT_WRITTEN = "Turnleaf ended before the answer could be saved; what had arrived is here."


def is_running(journal: Journal | None) -> TypeGuard[Journal]:
    """Whether the journal is that of a turn which has not ended."""
    return journal is not None and journal.cause is None and not journal.finished


def interrupted_turn(journal: Journal | None) -> InterruptedTurn | None:
    """Return the interrupted turn that the journal holds, ``None`` when it holds none."""
    if journal is None or journal.cause is None:
        return None
    return InterruptedTurn(
        number=journal.number,
        run=journal.run,
        question=journal.question,
        attachments=journal.attachments,
        model=journal.model,
        model_label=journal.model_label,
        partial=journal.partial,
        cause=journal.cause,
        reason=journal.reason,
        details=journal.details,
        tools=journal.tools,
    )


def interrupted_line(journal: Journal) -> LedgerTurn:
    """Return the ledger line of an interrupted turn that a later question leaves standing."""
    return LedgerTurn(
        number=journal.number,
        run=journal.run,
        question=journal.question,
        model=journal.model,
        model_label=journal.model_label,
        ended_at=datetime.now(UTC),
        attachments=journal.attachments,
        status="interrupted",
        partial=journal.partial,
        tools=journal.tools,
        cause=journal.cause or "killed",
        reason=journal.reason,
        details=journal.details,
    )


def turn_of_line(line: LedgerTurn) -> InterruptedTurn:
    """Return the interrupted turn that a ledger line keeps."""
    return InterruptedTurn(
        number=line.number,
        run=line.run,
        question=line.question,
        attachments=line.attachments,
        model=line.model,
        model_label=line.model_label,
        partial=line.partial,
        cause=line.cause or "killed",
        reason=line.reason,
        details=line.details,
        tools=line.tools,
    )


def settle_journal(sidecar: Sidecar, run_count: int) -> None:
    """Bring a sidecar in line with the envelope beside it, whatever was written last before the process ended.

    A turn whose run the envelope has reached is complete; any other that had not ended was killed.
    """
    journal = sidecar.journal
    if journal is None or journal.cause is not None:
        return
    has_line = any(line.number == journal.number for line in sidecar.ledger)
    if run_count >= journal.run:
        if not has_line:
            sidecar.ledger.append(_recovered_line(journal))
        sidecar.journal = None
        return
    sidecar.ledger = [line for line in sidecar.ledger if line.number != journal.number]
    journal.cause = "killed"
    journal.reason = NOT_WRITTEN if journal.finished else KILLED
    journal.finished = False


def _recovered_line(journal: Journal) -> LedgerTurn:
    """The line of a turn whose envelope was written but whose own line was not: its figures are not known."""
    return LedgerTurn(
        number=journal.number,
        run=journal.run,
        question=journal.question,
        model=journal.model,
        model_label=journal.model_label,
        ended_at=datetime.now(UTC),
        attachments=journal.attachments,
        cost_known=False,
        figures_known=False,
    )
