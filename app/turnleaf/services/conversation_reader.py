"""Opening a conversation from its files, whatever the process that wrote them had come to."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.errors import EnvelopeError
from doc_processing_toolkit.envelope.read import ReadEnvelope
from turnleaf.services.conversation_files import ConversationFiles
from turnleaf.services.envelope_file import read_envelope, run_count_of
from turnleaf.services.errors import ConversationDamagedError, ConversationNotFoundError
from turnleaf.services.interruptions import settle_journal
from turnleaf.services.sidecar import LedgerTurn, Sidecar
from turnleaf.services.sidecar_file import SidecarEncoder, read_sidecar
from turnleaf.services.sidecar_rebuild import sidecar_of
from turnleaf.services.storage import keep_damaged, move_aside

log = logging.getLogger(__name__)

RECOVERED = "The conversation's file was damaged; this is what could be recovered of it."
LOST_ANSWER = "This turn's answer was lost with the damaged file."


@dataclass(frozen=True, slots=True)
class OpenedFiles:
    """What a conversation's files hold: the envelope as it stands (``None``: there is none yet) and the sidecar."""

    envelope: dict[str, Any] | None
    sidecar: Sidecar
    problems: tuple[str, ...] = ()


def open_files(files: ConversationFiles) -> OpenedFiles:
    """Read a conversation. Blocking.

    Raises ``ConversationNotFoundError``, and ``ConversationDamagedError`` when the envelope cannot be read. A damaged
    sidecar is kept aside, what can be read of it is used, and the envelope says the rest.
    """
    if not files.exists:
        raise ConversationNotFoundError(f"there is no conversation {files.session_id} in {files.folder}")
    raw, envelope = None, None
    if files.envelope.exists():
        try:
            raw, envelope = read_envelope(files.envelope)
        except (EnvelopeError, TypeError) as exc:
            raise ConversationDamagedError(
                f"the conversation's file cannot be read: {exc}",
                session_id=files.session_id,
                generation=files.newest_good_generation(),
                can_recover=_questions_are_kept(files),
            ) from exc
    sidecar, problems = _sidecar(files, envelope)
    settle_journal(sidecar, run_count_of(envelope) if envelope is not None else 0)
    return OpenedFiles(raw, sidecar, problems)


def recover_files(files: ConversationFiles) -> OpenedFiles:
    """Move a damaged envelope aside, put the newest good generation in its place, and read that.

    Turns that only the damaged file had stay in the ledger, as interrupted ones; where there is no generation, that
    is all of them. Raises as ``open_files`` does when there is nothing to recover, or nothing is damaged.
    """
    try:
        return open_files(files)
    except ConversationDamagedError as damage:
        if not damage.can_recover:
            raise
        generation = damage.generation
    move_aside(files.envelope)
    run_count = 0
    if generation is not None:
        write_atomically(files.envelope, (generation.read_bytes(),))
        run_count = run_count_of(read_envelope(files.envelope)[1])
    opened = open_files(files)
    ledger = opened.sidecar.ledger
    ledger[:] = [_without_answer(line) if line.run > run_count else line for line in ledger]
    return OpenedFiles(opened.envelope, opened.sidecar, (*opened.problems, RECOVERED))


def _questions_are_kept(files: ConversationFiles) -> bool:
    try:
        return read_sidecar(files.sidecar.read_bytes()).sidecar.holds_something
    except OSError:
        return False


def _sidecar(files: ConversationFiles, envelope: ReadEnvelope | None) -> tuple[Sidecar, tuple[str, ...]]:
    try:
        content = files.sidecar.read_bytes()
    except FileNotFoundError:
        return (sidecar_of(envelope) if envelope is not None else Sidecar()), ()
    except OSError as exc:
        log.warning("a sidecar cannot be read: %s", exc.strerror)
        content = b""
    found = read_sidecar(content)
    if not found.problems:
        return found.sidecar, ()
    kept = keep_damaged(files.sidecar)
    log.warning("a damaged sidecar is kept as %s: %s", kept.name, "; ".join(found.problems)[:500])
    sidecar = _completed(found.sidecar, envelope)
    write_atomically(files.sidecar, SidecarEncoder().capture(sidecar)())
    return sidecar, (
        f"The notes beside this conversation were damaged; what can be read is here, all of it in {kept}.",
    )


def _completed(sidecar: Sidecar, envelope: ReadEnvelope | None) -> Sidecar:
    """Fill what a damaged sidecar does not say with what the envelope does."""
    if envelope is None:
        return sidecar
    rebuilt = sidecar_of(envelope)
    known = {line.run: line for line in sidecar.ledger if line.status == "completed"}
    if not known.keys() >= {line.run for line in rebuilt.ledger}:
        cards = [line for line in sidecar.ledger if line.status == "interrupted"]
        lines = [*(known.get(line.run, line) for line in rebuilt.ledger), *cards]
        sidecar.ledger = [replace(line, number=number) for number, line in enumerate(lines, start=1)]
    if sidecar.journal is None and rebuilt.journal is not None:
        number = max((line.number for line in sidecar.ledger), default=0) + 1
        sidecar.journal = replace(rebuilt.journal, number=number)
    sidecar.title = sidecar.title or rebuilt.title
    return sidecar


def _without_answer(line: LedgerTurn) -> LedgerTurn:
    if line.status == "interrupted":
        return line
    return replace(line, status="interrupted", cause="killed", reason=LOST_ANSWER, figures_known=False)
