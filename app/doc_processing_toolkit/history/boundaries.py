"""Where each recorded turn's messages sit, and where a history may be cut (001, "Run boundaries")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import Kind, Lens, MendingLens

Boundary = dict[str, int]


def boundary(run: int, start: int, end: int) -> Boundary:
    """Return the record of a completed turn: ``messages[start:end]`` is turn ``run``."""
    return {"run": run, "start": start, "end": end}


def legal_prefix(messages: Sequence[Message], count: int, lens: Lens) -> int:
    """Return the length of the longest legal prefix of at most ``count`` messages: no call in it lacks its result."""
    end = _standing(messages, min(count, len(messages)), lens)
    while (stranded := _first_stranded(messages[:end], lens)) is not None:
        end = _standing(messages, stranded, lens)
    return end


def cut_boundaries(records: Iterable[Boundary], count: int) -> list[Boundary]:
    """Return the records of the turns that are whole in the first ``count`` messages."""
    return [record for record in records if record["end"] <= count]


def valid_boundaries(records: Any, length: int) -> list[Boundary]:
    """Return the records that address a history of ``length`` messages; anything else is dropped, not trusted."""
    valid: list[Boundary] = []
    for record in records if isinstance(records, list) else ():
        found = _read(record)
        if found is not None and 0 <= found["start"] < found["end"] <= length:
            valid.append(found)
    return _ascending(valid)


def rebased(records: Iterable[Boundary], dropped: int) -> list[Boundary]:
    """Return the records for a history that lost its first ``dropped`` messages."""
    return [
        boundary(record["run"], max(0, record["start"] - dropped), record["end"] - dropped)
        for record in records
        if record["end"] > dropped
    ]


def turn_at(records: Sequence[Boundary], index: int) -> int | None:
    """Return the number, from 1, of the recorded turn that owns the message at ``index``."""
    for number, record in enumerate(records, start=1):
        if record["start"] <= index < record["end"]:
            return number
    return None


def _standing(messages: Sequence[Message], end: int, lens: Lens) -> int:
    return lens.longest_legal(messages, end) if isinstance(lens, MendingLens) else end


def _first_stranded(messages: Sequence[Message], lens: Lens) -> int | None:
    """Return where the last message stands that has a call without its result behind it."""
    answered: set[str | None] = set()
    in_answer = False
    for index in range(len(messages) - 1, -1, -1):
        views = lens.views(messages[index])
        if any(view.kind is Kind.CALL and view.call_id not in answered for view in views):
            return index
        if lens.role(messages[index]) == "assistant":
            # One answer may be several messages (OpenAI's items).
            in_answer = True
            continue
        if in_answer:
            # The round began behind this message: its results answer no earlier calls.
            answered, in_answer = set(), False
        answered |= {view.call_id for view in views if view.kind is Kind.RESULT}
    return None


def _read(record: Any) -> Boundary | None:
    if not isinstance(record, dict):
        return None
    values = [value for key in ("run", "start", "end") if type(value := record.get(key)) is int]
    return boundary(*values) if len(values) == 3 else None


def _ascending(records: list[Boundary]) -> list[Boundary]:
    """Return the records without those that overlap an earlier one."""
    kept: list[Boundary] = []
    for record in records:
        if not kept or record["start"] >= kept[-1]["end"]:
            kept.append(record)
    return kept
