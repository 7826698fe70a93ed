"""Which result belongs to which call, and what is refused because nobody can say (K03)."""

from __future__ import annotations

from collections.abc import Sequence

from doc_processing_toolkit.conversion.neutral import Call, Entry, Result
from doc_processing_toolkit.core.errors import SessionCompatibilityError


class HistoryRefusedError(SessionCompatibilityError):
    """A history that no other provider would take; ``turn`` is the number, from 1, of the turn at fault."""

    def __init__(self, text: str, turn: int | None) -> None:
        super().__init__(text)
        self.turn = turn


def pair(entries: Sequence[Entry], boundaries: Sequence[dict[str, int]]) -> None:
    """Give every call its result: by id, else by position among the calls of one answer.

    Raises :class:`HistoryRefusedError` for a call without a name or a result, and for a result without a call.
    """
    waiting: list[Call] = []
    step, in_answer = 0, False
    for entry in entries:
        if entry.role == "assistant" and not in_answer:
            step += 1
        in_answer = entry.role == "assistant"
        for call in entry.calls:
            if not call.name:
                raise _refused(call.index, "holds a tool call without a name", entries, boundaries)
            call.step = step
            waiting.append(call)
        for result in entry.results:
            found = _called(result, waiting)
            if found is None:
                raise _refused(result.index, "holds a tool result that matches no call", entries, boundaries)
            found.result = result
            waiting.remove(found)
    if waiting:
        first = waiting[0]
        problem = "ends inside a tool round" if first.step == step else "holds a tool call without its result"
        raise _refused(first.index, problem, entries, boundaries)


def _called(result: Result, waiting: Sequence[Call]) -> Call | None:
    """Return the call that a result answers: of the latest answer that has one, the first."""
    found: Call | None = None
    for fits in (_has_same_id, _stands_for):
        for call in waiting:
            if fits(call, result) and (found is None or call.step > found.step):
                found = call
        if found is not None:
            return found
    return None


def _has_same_id(call: Call, result: Result) -> bool:
    return result.call_id is not None and call.old_id == result.call_id


def _stands_for(call: Call, result: Result) -> bool:
    """Whether position may decide: one of the two has no id, and the names do not say otherwise."""
    is_loose = call.old_id is None or result.call_id is None
    return is_loose and (not result.name or result.name == call.name)


def _refused(
    index: int, problem: str, entries: Sequence[Entry], boundaries: Sequence[dict[str, int]]
) -> HistoryRefusedError:
    turn = _turn(index, entries, boundaries)
    return HistoryRefusedError(f"turn {turn} (message {index}) {problem}; truncate before it first", turn)


def _turn(index: int, entries: Sequence[Entry], boundaries: Sequence[dict[str, int]]) -> int:
    """Return the number of the recorded turn, else count the questions up to the message."""
    for number, record in enumerate(boundaries, start=1):
        if record["start"] <= index < record["end"]:
            return number
    asked = [entry.index for entry in entries if entry.role == "user" and entry.parts and not entry.results]
    counted = max(1, sum(place <= index for place in asked))
    return max(counted, len(boundaries) + 1) if boundaries and index >= boundaries[-1]["end"] else counted
