"""Late messages: those that a turn could no longer deliver are parked, or sent as the next turn (F01–F03)."""

from __future__ import annotations

import logging

from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.session.state import SessionState

log = logging.getLogger(__name__)


def next_follow_up(state: SessionState, prompt: str, waiting: list[str], result: AgentResult) -> str | None:
    """Return the message that goes out as the next turn, ``None`` when there is none.

    ``waiting`` are the late messages of this call in order; the one returned stays in it until it is sent. No message
    is ever dropped: under ``"surface"``, past the cap, after a failure, or when it repeats what produced it, it is
    parked.
    """
    if not waiting:
        return None
    if state.late_injection_policy == "new_turn":
        reason = _refusal(state, prompt, waiting[0], result)
        if reason is None:
            return waiting[0]
        log.warning("%d late message(s) kept in pending_injections: %s", len(waiting), reason)
    state.park(waiting)
    waiting.clear()
    return None


def _refusal(state: SessionState, prompt: str, text: str, result: AgentResult) -> str | None:
    if result.error is not None:
        return "the turn failed"
    if len(state.last_turn_results) > state.max_follow_up_turns:
        return f"max_follow_up_turns ({state.max_follow_up_turns}) is reached"
    if text == prompt:
        return "it repeats the message that produced it"
    return None
