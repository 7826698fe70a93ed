"""A sidecar made from an envelope alone: for a file from outside, and where the sidecar is lost or damaged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from doc_processing_toolkit.envelope.read import ReadEnvelope
from doc_processing_toolkit.registry import find
from turnleaf.services.codec import within_reach
from turnleaf.services.envelope_file import boundaries_of
from turnleaf.services.model_checks import shown_name
from turnleaf.services.sidecar import Journal, LedgerTurn, Sidecar
from turnleaf.services.stored_turns import stored_turns
from turnleaf.services.titles import title_of

CHAT = "chat"


def sidecar_of(envelope: ReadEnvelope) -> Sidecar:
    """Return the sidecar that an envelope by itself allows: title, ledger without figures, interrupted turn."""
    ledger = ledger_of(envelope)
    sidecar = Sidecar(
        title=next((title for line in ledger if (title := title_of(line.question))), ""),
        ledger=ledger,
        journal=_journal_of(envelope, number=len(ledger) + 1),
        created_at=_time(envelope.metadata.get("created_at")),
        updated_at=_time(envelope.metadata.get("updated_at")),
    )
    if not sidecar.title and sidecar.journal is not None:
        sidecar.title = title_of(sidecar.journal.question)
    return sidecar


def ledger_of(envelope: ReadEnvelope) -> list[LedgerTurn]:
    """Return a ledger line for each turn that the history still addresses; what it cost is not known."""
    served = _served_models(envelope)
    default = envelope.model or ""
    turns = stored_turns(envelope.messages, [], boundaries_of(envelope), CHAT)
    runs = _runs(envelope, len(turns))
    return [
        LedgerTurn(
            number=turn.number,
            run=run,
            question=turn.question,
            model=(model := served.get(run, default)),
            model_label=_label(model),
            ended_at=_time(envelope.metadata.get("updated_at")) or datetime.now(UTC),
            attachments=turn.attachments,
            cost_known=False,
            figures_known=False,
        )
        for turn, run in zip(turns, runs, strict=True)
    ]


def _runs(envelope: ReadEnvelope, count: int) -> list[int]:
    """The run of each turn: as recorded where every turn is, else counted back from the end."""
    recorded = [record.get("run") for record in boundaries_of(envelope)]
    if len(recorded) == count and all(isinstance(run, int) for run in recorded):
        return [int(run) for run in recorded if run is not None]
    # Turns without a boundary get runs that no boundary has, so that nothing is matched with them.
    return [index - count for index in range(count)]


def _journal_of(envelope: ReadEnvelope, *, number: int) -> Journal | None:
    record = envelope.metadata.get("interrupted_turn")
    if not isinstance(record, Mapping) or not isinstance(record.get("message"), str):
        return None
    files = record.get("files_attached")
    lost = (
        f" {files} file(s) that came with it are not in the conversation's file."
        if isinstance(files, int) and files
        else ""
    )
    was_stopped = record.get("error_type") == "StreamAbandoned"
    run = record.get("run")
    return Journal(
        number=number,
        run=run if isinstance(run, int) else number,
        question=record["message"],
        attachments=(),
        model=envelope.model or "",
        model_label=_label(envelope.model or ""),
        started_at=_time(record.get("failed_at")) or datetime.now(UTC),
        cause="stopped" if was_stopped else "failed",
        reason=f"{'The answer was stopped.' if was_stopped else 'The turn failed.'}{lost}",
        details=str(record.get("error") or ""),
    )


def _served_models(envelope: ReadEnvelope) -> dict[int, str]:
    """Which registry row, else which model, answered a run; the last record of a run decides."""
    records = envelope.metadata.get("served_models")
    served: dict[int, str] = {}
    for record in records if isinstance(records, list) else ():
        if isinstance(record, Mapping) and isinstance(record.get("run"), int):
            name = record.get("row") or record.get("model")
            if isinstance(name, str):
                served[record["run"]] = name
    return served


def _label(model: str) -> str:
    if not model:
        return ""
    try:
        return find(model).label
    except ValueError:
        return shown_name(model)


def _time(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return within_reach(moment)
