"""Writing the summary that stands for a part of a conversation: requests of their own, their cost the turn's."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.agent.watch import Watch
from doc_processing_toolkit.core.errors import AgentError
from doc_processing_toolkit.core.events import Complete
from doc_processing_toolkit.core.protocols import TurnRequest, TurnRun

INSTRUCTIONS = (
    "You write summaries of conversations between a user and an assistant. Keep every name, number, date, decision, "
    "open question and file that later messages may lean on. Write plain sentences, and nothing besides the summary."
)
_ASKED = "Summarise this part of a conversation:\n\n{text}"
_ASKED_ON = "The summary so far:\n\n{summary}\n\nGo on with this part, and write the summary of all:\n\n{text}"
# One request reads this much, so that a small model's window holds it with its answer.
PIECE_CHARACTERS = 24_000


class SummaryFailedError(AgentError):
    """No summary came; nothing was changed."""


async def summarise(
    text: str, run: int, begin: Callable[[TurnRequest], TurnRun], spending: Spending, watch: Watch
) -> str:
    """Return the summary of a text, written piece by piece.

    Raises ``SummaryFailedError`` when the model gives none, and what ends the turn. What it cost is banked in any case.
    """
    summary = ""
    for start in range(0, len(text), PIECE_CHARACTERS):
        piece = text[start : start + PIECE_CHARACTERS]
        asked = _ASKED_ON.format(summary=summary, text=piece) if summary else _ASKED.format(text=piece)
        summary = await _written(begin(TurnRequest(asked, run=run)), spending, watch)
    if not summary:
        raise SummaryFailedError("there was nothing to summarise")
    return summary


async def _written(turn: TurnRun, spending: Spending, watch: Watch) -> str:
    output: str | None = None
    problem = "it gave no text"
    try:
        async with contextlib.aclosing(turn.events()) as events:
            while (event := await watch.wait_for(anext(events, None))) is not None:
                watch.check()
                if isinstance(event, Complete):
                    output, problem = event.result.output, event.result.error or problem
                    break
    finally:
        account = turn.spent("summary")
        spending.records += [dataclasses.replace(record, is_summary=True) for record in account.cost_records]
        spending.retry_count += account.retry_count
        spending.reasoning_tokens += account.reasoning_tokens
    if not isinstance(output, str) or not output.strip():
        raise SummaryFailedError(f"the model did not write a summary: {problem}")
    return output.strip()
