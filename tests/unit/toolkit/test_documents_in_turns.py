"""Documents that come with a question: extracted with progress, sent and stored as text, or refused first."""

from __future__ import annotations

import asyncio
import io
import time
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from doc_processing_toolkit import DocumentError, ProviderError, UnsupportedPartError, events
from doc_processing_toolkit.dialects import documents_of, question_of
from doc_processing_toolkit.documents import DocumentText, extract
from doc_processing_toolkit.testing import scripted_agent

DEMO = {"document_template": "Document: {text}", "question_template": "Question: {question}", "joins_text_parts": True}


def pdf(pages: int = 1, words: str = "The bridge was built in 1901.") -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out)
    for number in range(pages):
        canvas.drawString(72, 720, f"{words} Sheet {number}.")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def test_b10_text_and_pdf_reach_a_text_only_row_as_parts_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "bridge.pdf"
    path.write_bytes(pdf())
    agent = scripted_agent(["1901", "still 1901"], row=DEMO)
    session = agent.session()
    asyncio.run(session.run("When {exactly}?", files=[path, ("notes.txt", "größer".encode())]))
    [message] = [message for message in session.messages if message["role"] == "user"]
    first, second, question = message["content"]
    assert first["text"].startswith("Document: ")
    assert "[page 1]" in first["text"]
    assert "built in 1901" in first["text"]
    assert second == {"type": "text", "text": "Document: größer"}
    assert question == {"type": "text", "text": "Question: When {exactly}?"}
    assert question_of(message) == "When {exactly}?"
    assert len(documents_of(message)) == 2
    joined = "\n\n".join(part["text"] for part in message["content"])
    assert agent.requests[0].messages == [{"role": "user", "content": joined}]
    asyncio.run(session.run("Sure?"))
    assert agent.requests[1].messages[0] == agent.requests[0].messages[0]


def test_other_rows_are_told_the_documents_name() -> None:
    agent = scripted_agent(["ok"])
    asyncio.run(agent.run("q", files=[("a\nb\u202e.txt", b"inner")]))
    [message] = agent.requests[0].messages
    assert message["content"] == [
        {"type": "text", "text": "Document “a b.txt”:\n\ninner"},
        {"type": "text", "text": "q"},
    ]


def test_a_document_that_was_extracted_before_is_used_as_it_is() -> None:
    async def main() -> tuple[DocumentText, Any]:
        document = await extract(pdf(3), name="three.pdf")
        head = document.head(30)
        agent = scripted_agent(["ok"], row=DEMO)
        await agent.run("q", files=[head])
        return head, agent.requests[0]

    head, request = asyncio.run(main())
    assert request.messages[0]["content"] == f"Document: {head.text}\n\nQuestion: q"


def test_extraction_is_reported_between_turn_start_and_the_first_delta() -> None:
    session = scripted_agent(["ok"]).session()

    async def main() -> list[Any]:
        return [event async for event in session.stream("q", files=[("long.pdf", pdf(60))])]

    seen = asyncio.run(main())
    assert seen[0].type == "turn_start"
    reports = [event for event in seen if isinstance(event, events.Progress)]
    assert reports
    assert {report.phase for report in reports} == {"reading_document"}
    assert reports[-1].detail == "long.pdf"
    kinds = [event.type for event in seen]
    assert kinds.index("text_delta") > max(index for index, kind in enumerate(kinds) if kind == "progress")


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [("bad.pdf", b"%PDF-1.7 nothing", "damaged"), ("data.bin", bytes(range(256)) * 40, "unsupported")],
)
def test_a_document_that_cannot_be_read_fails_the_turn_and_keeps_the_question(
    name: str, data: bytes, code: str
) -> None:
    agent = scripted_agent(["never"])
    session = agent.session()
    with pytest.raises(DocumentError) as caught:
        asyncio.run(session.run("q", files=[(name, data)]))
    assert caught.value.code == code
    assert session.interrupted_turn is not None
    assert (session.interrupted_turn["message"], session.interrupted_turn["files_attached"]) == ("q", 1)
    assert session.interrupted_turn["error_type"] == "DocumentError"
    assert agent.requests == []


def test_cancelling_while_a_document_is_read_ends_at_once() -> None:
    session = scripted_agent(["never"]).session()

    async def main() -> float:
        task = asyncio.ensure_future(session.run("q", files=[("long.pdf", pdf(400))]))
        await asyncio.sleep(0.05)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(main()) < 0.5
    assert not session.turn_in_flight


def test_too_long_for_the_window_is_said_before_the_request_with_both_numbers() -> None:
    agent = scripted_agent(["never"], row={**DEMO, "context_window": 1000})
    session = agent.session()
    with pytest.raises(
        ProviderError, match=r"about 10,\d\d\d tokens and the window holds 1,000; attach less"
    ) as caught:
        asyncio.run(session.run("q", files=[("long.txt", b"word " * 8000)]))
    assert caught.value.code == "context_length_exceeded"
    assert agent.requests == []
    assert session.interrupted_turn is not None


def test_a_pdf_under_raise_is_refused_by_a_row_without_documents() -> None:
    agent = scripted_agent(["never"], on_unsupported_part="raise")
    with pytest.raises(UnsupportedPartError, match=r"a\.pdf"):
        asyncio.run(agent.run("q", files=[("a.pdf", pdf())]))
    asyncio.run(agent.run("q", files=[("a.txt", b"text is text")]))
