"""What the window does with a conversation, without a window: ask, journal, stream, checkpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from doc_processing_toolkit import Agent, AgentSession
from doc_processing_toolkit.core.events import Complete
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.testing import scripted_agent
from turnleaf.services.attachment import Attachment
from turnleaf.services.conversation import Conversation
from turnleaf.services.library import Library
from turnleaf.services.profile import Profile, open_profile
from turnleaf.services.reducer import QuestionAsked, Transcript, TurnInterrupted
from turnleaf.services.rows import AttachmentInfo
from turnleaf.services.sidecar import Completed, Interrupted, InterruptionCause, LedgerTurn

MODEL = "scripted/demo"


def profile_at(path: Path) -> Profile:
    return open_profile(path / "profile")


def library_at(path: Path) -> Library:
    return Library(profile_at(path))


def agent(*replies: Any, **settings: Any) -> Agent:
    return scripted_agent(replies, stream_history="native", **settings)


def stored_file(library: Library, name: str = "paper.txt", data: bytes = b"some text") -> Attachment:
    """A file whose bytes are in the media store, as the intake leaves it (its text plays no part here)."""
    sha256 = hashlib.sha256(data).hexdigest()
    library.media.put(sha256, "text/plain", data)
    info = AttachmentInfo(name, sha256, "text/plain", len(data), "text", None, len(data), 3)
    return Attachment(info=info, document=None)


async def ask(
    conversation: Conversation,
    session: AgentSession,
    question: str,
    attachments: Sequence[Attachment] = (),
    transcript: Transcript | None = None,
) -> AgentResult:
    """One completed turn, from the journal to the checkpoint."""
    transcript = transcript or Transcript()
    number, run = await begin(conversation, session, question, attachments, transcript)
    result = await stream(conversation, session, question, transcript)
    line = ledger_line(number, run, question, attachments, result, transcript)
    await conversation.checkpoint(session, ended=Completed(line))
    return result


async def begin(
    conversation: Conversation,
    session: AgentSession,
    question: str,
    attachments: Sequence[Attachment] = (),
    transcript: Transcript | None = None,
    **options: Any,
) -> tuple[int, int]:
    run = session.metadata["run_count"] + 1
    number = await conversation.begin_turn(
        question=question, attachments=attachments, run=run, model=MODEL, model_label="Demo", **options
    )
    if transcript is not None:
        transcript.apply(QuestionAsked(number, question, tuple(each.info for each in attachments), "Demo"))
    return number, run


async def stream(
    conversation: Conversation, session: AgentSession, question: str, transcript: Transcript | None = None
) -> AgentResult:
    result: AgentResult | None = None
    async for event in session.stream(question):
        conversation.note_event(event)
        if transcript is not None:
            transcript.apply(event)
        if isinstance(event, Complete):
            result = event.result
    assert result is not None
    return result


async def interrupt(
    conversation: Conversation,
    session: AgentSession,
    question: str,
    *,
    cause: InterruptionCause = "failed",
    reason: str = "The server went away.",
    transcript: Transcript | None = None,
    attachments: Sequence[Attachment] = (),
) -> None:
    """One turn that fails: the script raises, or has only a part of the answer."""
    await begin(conversation, session, question, attachments, transcript)
    try:
        await stream(conversation, session, question, transcript)
    except Exception as error:  # noqa: BLE001 - whatever the script raises is the failure of the turn
        details = str(error)
    else:
        raise AssertionError("the script was to fail")
    if transcript is not None:
        transcript.apply(TurnInterrupted(cause, reason, details))
    await conversation.checkpoint(session, ended=Interrupted(cause, reason, details))


def ledger_line(
    number: int,
    run: int,
    question: str,
    attachments: Sequence[Attachment],
    result: AgentResult,
    transcript: Transcript,
) -> LedgerTurn:
    return LedgerTurn(
        number=number,
        run=run,
        question=question,
        model=MODEL,
        model_label="Demo",
        ended_at=datetime.now(UTC),
        attachments=tuple(each.info for each in attachments),
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        cost=result.cost,
        cost_known=result.cost_known,
        seconds=result.duration_s,
        facts=transcript.turn_facts(),
    )


def texts(session: AgentSession) -> list[str]:
    return [str(message.get("content")) for message in session.messages]


def files_in(profile: Profile) -> list[str]:
    """Everything on disk in the sessions folder, by name."""
    return sorted(path.relative_to(profile.sessions).as_posix() for path in profile.sessions.rglob("*"))


def envelope(session_id: str = "0b0c0d0e-0000-4000-8000-000000000001", **values: Any) -> dict[str, Any]:
    return {
        "schema_version": 3,
        "session_id": session_id,
        "provider": "local",
        "model": "local/gemma-3-270m",
        "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}],
        "metadata": {
            "run_count": 1,
            "total_cost": 0.5,
            "run_boundaries": [{"run": 1, "start": 0, "end": 2}],
            "served_models": [{"run": 1, "provider": "local", "model": "local", "row": "local/gemma-3-270m"}],
        },
        **values,
    }


def outside(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


async def made(library: Library, *questions: str, answers: tuple[str, ...] = ()) -> Conversation:
    conversation = library.create()
    session = await conversation.restore(agent(*(answers or [f"{question}!" for question in questions])))
    for question in questions:
        await ask(conversation, session, question)
    return conversation


def sidecar_on_disk(library: Library, session_id: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((library.profile.sessions / f"{session_id}.meta.json").read_bytes())
    return data
