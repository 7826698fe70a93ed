"""The form in which a dialect stores a completed turn: how much of its final answer stays native (B07–B09)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from doc_processing_toolkit.core import switches
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects import anthropic_turns, google_turns


def stored_form(turn: Sequence[Message], row: ModelRow) -> list[Message]:
    """Return a turn's messages, from its question to its answer, as a session of this row stores them.

    The switches of the environment are read now. A dialect that is not named here stores what its adapter gave.
    """
    form = _FORMS.get(row.dialect)
    return list(turn) if form is None else form(turn, row)


def _anthropic(turn: Sequence[Message], row: ModelRow) -> list[Message]:
    is_retained = not switches.is_off(switches.ANTHROPIC_RETAIN_FINAL_TURN)
    return anthropic_turns.stored_turn(turn, retains_thinking=is_retained and row.produces_preserved_thinking_blocks)


def _google(turn: Sequence[Message], row: ModelRow) -> list[Message]:
    return google_turns.stored_turn(turn, retains_content=not switches.is_off(switches.GOOGLE_RETAIN_FINAL_TURN))


_FORMS: Mapping[str, Callable[[Sequence[Message], ModelRow], list[Message]]] = {
    "anthropic": _anthropic,
    "google": _google,
}
