"""Taking a history into another dialect: read, pair or refuse, re-key, write; nothing is changed in place (K01–K05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from doc_processing_toolkit.conversion.fitting import Fitting
from doc_processing_toolkit.conversion.neutral import Entry, Notes
from doc_processing_toolkit.conversion.pairing import pair
from doc_processing_toolkit.conversion.read import read
from doc_processing_toolkit.conversion.rekey import rekey
from doc_processing_toolkit.conversion.rules import RULES
from doc_processing_toolkit.conversion.write import Writer
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import InlineMedia


@dataclass(frozen=True, slots=True)
class Source:
    """Where a history comes from: its dialect, who wrote it, its turns, and the bytes of its uploads by address."""

    dialect: str
    name: str
    boundaries: Sequence[dict[str, int]] = ()
    uploads: Mapping[str, InlineMedia] | None = None


def convert(messages: Sequence[Message], source: Source, row: ModelRow, policy: str) -> tuple[list[Message], Notes]:
    """Return the history in the row's dialect, and what there is to report.

    Raises ``SessionCompatibilityError`` for an open round, a nameless call or a result without its call, and
    ``UnsupportedPartError`` under the policy ``"raise"`` for a part that the row does not take.
    """
    notes = Notes()
    entries = read(messages, source.dialect, notes)
    pair(entries, source.boundaries)
    turns = _rounds(entries)
    rekey((call for entry in turns for call in entry.calls), RULES[row.dialect], notes)
    fitting = Fitting(row, source.name, policy, notes, source.uploads or {})
    written = Writer(row, fitting, notes).write(turns)
    notes.report.sort(key=_place)
    return written, notes


def _place(entry: Mapping[str, object]) -> int:
    index = entry["index"]
    return index if isinstance(index, int) else 0


def _rounds(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with the parts of one answer together; results stand with their calls."""
    made: list[Entry] = []
    last: Entry | None = None
    for entry in entries:
        if last is not None and last.role == entry.role == "assistant" and (last.calls or entry.calls):
            last.parts += entry.parts
            last.calls += entry.calls
            continue
        last = entry
        if entry.parts or entry.calls:
            made.append(entry)
    return made
