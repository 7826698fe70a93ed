"""``--smoke``: one real turn on the local model, from the composer to the checkpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from turnleaf.services.rows import AnswerRow
from turnleaf.viewmodels.chat import ChatViewModel
from turnleaf.viewmodels.turn import TurnOutcome

if TYPE_CHECKING:
    from turnleaf.ui.desktop import Desktop

QUESTION = "My name is Alice and I love pizza."
READY_S = 30.0
TURN_S = 180.0


async def run_smoke(desktop: Desktop) -> str:
    """Run the turn in the window of `desktop`; return why it failed, or an empty text."""
    try:
        async with asyncio.timeout(READY_S):
            chat = await _ready_tab(desktop)
    except TimeoutError:
        return f"the window was not ready within {READY_S:.0f} s"
    page = desktop.window.page_of(chat)
    if page is None or chat.phase != "idle":
        return "no conversation could be opened"
    ended: asyncio.Future[TurnOutcome] = asyncio.get_running_loop().create_future()

    def on_ended(outcome: TurnOutcome) -> None:
        if not ended.done():
            ended.set_result(outcome)

    chat.turn_ended.connect(on_ended)
    page.card.edit.insert_text(QUESTION)
    page.send()
    try:
        outcome = await asyncio.wait_for(ended, TURN_S)
    except TimeoutError:
        return f"the local model did not answer within {TURN_S:.0f} s"
    return _verdict(desktop, chat, outcome)


async def _ready_tab(desktop: Desktop) -> ChatViewModel:
    if not desktop.is_ready:
        ready = asyncio.Event()
        desktop.ready.connect(ready.set)
        await ready.wait()
    chat = desktop.workspace.active
    assert chat is not None
    return chat


def _verdict(desktop: Desktop, chat: ChatViewModel, outcome: TurnOutcome) -> str:
    if not outcome.completed:
        reasons = [row for row in chat.rows if getattr(row, "reason", "")]
        words = [f"{getattr(row, 'reason', '')} {getattr(row, 'details', '')}".strip() for row in reasons]
        notice = outcome.notice.text if outcome.notice is not None else ""
        return " ".join(["the turn failed:", *words, notice]).strip()
    if outcome.notice is not None:
        return f"the turn ended with: {outcome.notice.text} {outcome.notice.details}".strip()
    answers = [row.text for row in chat.rows if isinstance(row, AnswerRow)]
    if not any(text.strip() for text in answers):
        return "the answer is empty"
    envelope = desktop.profile.sessions / f"{chat.session_id}.json"
    if not envelope.is_file():
        return f"no checkpoint was written to {envelope}"
    return ""
