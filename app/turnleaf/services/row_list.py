"""The list of rows behind a transcript: every change is recorded, growing text is joined once a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from turnleaf.services.rows import AnswerRow, ReasoningRow, Row


@dataclass(frozen=True, slots=True)
class RowChange:
    """One change of the list of rows, to be applied in order. ``row`` is the row as it is now, or the one that goes.

    ``appended`` is the new end of the text when an update does nothing but add to it, else empty.
    """

    kind: Literal["insert", "update", "remove"]
    index: int
    row: Row
    appended: str = ""


class RowList:
    """Rows by key, in order, and the changes since they were taken last."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._changes: list[RowChange] = []
        self._inserted: dict[str, int] = {}
        self._changed: dict[str, bool] = {}
        self._pieces: dict[str, list[str]] = {}

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as they stood when the changes were taken last."""
        return tuple(self._rows)

    def insert(self, row: Row, *, at: int | None = None) -> None:
        """Put a row in, at the end unless told where."""
        index = len(self._rows) if at is None else at
        self._rows.insert(index, row)
        self._inserted[row.key] = len(self._changes)
        self._changes.append(RowChange("insert", index, row))

    def update(self, row: Row) -> None:
        """Replace the row with this key; pieces that have arrived for it are not part of the new one."""
        self._pieces.pop(row.key, None)
        self._rows[self._index(row.key)] = row
        self._changed[row.key] = True

    def grow(self, key: str, text: str) -> None:
        """Add to the text of an answer or of reasoning; costs the length of the piece."""
        self._pieces.setdefault(key, []).append(text)
        self._changed.setdefault(key, False)

    def get(self, key: str) -> Row | None:
        """Return the row with this key, its text complete."""
        index = self._find(key)
        if index is None:
            return None
        self._join(key, index)
        return self._rows[index]

    def remove(self, key: str) -> None:
        """Take the row with this key out; nothing when there is none."""
        index = self._find(key)
        if index is None:
            return
        self._pieces.pop(key, None)
        self._changed.pop(key, None)
        self._inserted.pop(key, None)
        self._changes.append(RowChange("remove", index, self._rows.pop(index)))

    def take_changes(self) -> list[RowChange]:
        """Return what has changed since the last call, each row at most once besides its removal."""
        for key, is_replaced in self._changed.items():
            index = self._index(key)
            appended = "" if is_replaced else "".join(self._pieces.get(key, ()))
            self._join(key, index)
            row = self._rows[index]
            if key in self._inserted:
                position = self._inserted[key]
                self._changes[position] = replace(self._changes[position], row=row)
            else:
                self._changes.append(RowChange("update", index, row, appended))
        changes = self._changes
        self._changes, self._inserted, self._changed = [], {}, {}
        return changes

    def _join(self, key: str, index: int) -> None:
        pieces = self._pieces.pop(key, None)
        row = self._rows[index]
        if pieces and isinstance(row, AnswerRow | ReasoningRow):
            self._rows[index] = replace(row, text="".join((row.text, *pieces)))

    def _index(self, key: str) -> int:
        index = self._find(key)
        if index is None:
            raise KeyError(key)
        return index

    def _find(self, key: str) -> int | None:
        # From the end: what changes is nearly always in the last turn.
        return next((i for i in range(len(self._rows) - 1, -1, -1) if self._rows[i].key == key), None)
