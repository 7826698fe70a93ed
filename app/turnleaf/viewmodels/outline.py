"""The outline: one entry a turn, derived from the rows of the transcript."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from turnleaf.services.rows import AnswerRow, DividerRow, InterruptedRow, MetaRow, QuestionRow, Row, StatusRow

TurnState = Literal["done", "running", "interrupted"]
FIRST_WORDS = 90


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One turn: its number, the first words of its question, who answered with how many tokens, how it stands."""

    turn: int
    question: str = ""
    model: str = ""
    tokens: int = 0
    cost: float = 0.0
    files: int = 0
    state: TurnState = "done"


def outline_of(rows: Sequence[Row]) -> tuple[OutlineEntry, ...]:
    """Return one entry for each turn among `rows`, in order."""
    entries: dict[int, OutlineEntry] = {}
    for row in rows:
        entry = entries.get(row.turn, OutlineEntry(row.turn))
        match row:
            case DividerRow():
                entries[row.turn] = entry
            case QuestionRow():
                if not entry.question:
                    entry = replace(entry, question=first_words(row.text), files=len(row.attachments))
                entries[row.turn] = entry
            case StatusRow() | AnswerRow(streaming=True):
                entries[row.turn] = replace(entry, state="running")
            case MetaRow():
                tokens = row.input_tokens + row.output_tokens
                entries[row.turn] = replace(entry, model=row.model, tokens=tokens, cost=row.cost, state="done")
            case InterruptedRow():
                entries[row.turn] = replace(
                    entry,
                    question=entry.question or first_words(row.question),
                    files=len(row.attachments),
                    state="interrupted",
                )
            case _:
                entries.setdefault(row.turn, entry)
    return tuple(entries.values())


def first_words(text: str) -> str:
    """Return the beginning of a question on one line."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * FIRST_WORDS]).split())
    return words if len(words) <= FIRST_WORDS else words[: FIRST_WORDS - 1] + "…"


class OutlineRole(IntEnum):
    """What the model gives beside the text."""

    ENTRY = Qt.ItemDataRole.UserRole + 1


class OutlineModel(QAbstractListModel):
    """Shows entries to Qt. Holds nothing of its own."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[OutlineEntry, ...] = ()

    @property
    def entries(self) -> tuple[OutlineEntry, ...]:
        """The entries as they are shown."""
        return self._entries

    def show(self, entries: tuple[OutlineEntry, ...]) -> None:
        """Show `entries`; only what differs is announced."""
        old = self._entries
        common = min(len(old), len(entries))
        same = next((i for i in range(common) if old[i].turn != entries[i].turn), common)
        if same < len(old):
            self.beginRemoveRows(QModelIndex(), same, len(old) - 1)
            self._entries = old[:same]
            self.endRemoveRows()
        if same < len(entries):
            self.beginInsertRows(QModelIndex(), same, len(entries) - 1)
            self._entries = (*self._entries, *entries[same:])
            self.endInsertRows()
        self._entries = entries
        changed = [i for i in range(same) if old[i] != entries[i]]
        if changed:
            self.dataChanged.emit(self.index(changed[0], 0), self.index(changed[-1], 0))

    def row_of_turn(self, turn: int) -> int:
        """Return the row of turn `turn`, -1 when it is not there."""
        return next((row for row, entry in enumerate(self._entries) if entry.turn == turn), -1)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._entries)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self._entries):
            return None
        entry = self._entries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return f"{entry.turn}  {entry.question}"
            case Qt.ItemDataRole.ToolTipRole:
                # Qt takes a tip for rich text when it looks like it; a question must stay a question.
                return f"<p>{html.escape(entry.question)}</p>"
            case OutlineRole.ENTRY:
                return entry
            case _:
                return None
