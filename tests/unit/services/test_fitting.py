"""Too long for the window: said before sending, with the part that fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.documents import DocumentText, Section
from turnleaf.services.attachments import Attachment, attachment_of, fits, history_tokens

LINE = "The bridge over the river was opened in 1932 by the mayor.\n"


def row(window: int | None, answer: int | None = 512) -> ModelRow:
    return ModelRow("m", "local", "m", "chat", "Demo", context_window=window, max_output_tokens=answer)


def paper(pages: int, name: str = "paper.pdf") -> Attachment:
    text, sections = "", []
    for number in range(1, pages + 1):
        start = len(text)
        text += f"[page {number}]\n" + LINE * 30
        sections.append(Section(f"page {number}", start, len(text)))
    document = DocumentText(name, "pdf", "application/pdf", "0" * 64, 10_000, text, tuple(sections), pages)
    return attachment_of(document)


def total(attachments: tuple[Attachment, ...]) -> int:
    return sum(attachment.info.estimated_tokens or 0 for attachment in attachments)


def test_what_fits_is_sent_as_it_is() -> None:
    fit = fits([paper(2)], "What year?", 100, row(16_384))
    assert fit.ok
    assert fit.window == 16_384
    assert fit.needed_tokens > 512 + 100
    assert fit.text == ""


def test_an_unknown_window_lets_everything_through() -> None:
    assert fits([paper(500)], "What year?", 10**6, row(None)).ok


def test_a_long_paper_is_offered_up_to_a_page_that_fits() -> None:
    attachment = paper(100)
    fit = fits([attachment], "What year?", 0, row(16_384))

    assert not fit.ok
    assert fit.suggestion is not None
    (part,) = fit.suggestion
    assert part.document is not None
    assert part.document.text.endswith(LINE) or part.document.text.rstrip().endswith("mayor.")
    assert part.info.notes[0].startswith("Only pages 1–")
    assert part.info.notes[0] in fit.text
    assert "16,384" in fit.text
    again = fits(fit.suggestion, "What year?", 0, row(16_384))
    assert again.ok
    assert total(fit.suggestion) > 0.7 * (16_384 - 512)


def test_small_files_stay_whole_and_the_long_one_is_cut() -> None:
    small, long = paper(1, "small.pdf"), paper(100, "long.pdf")
    fit = fits([long, small], "What year?", 0, row(16_384))
    assert fit.suggestion is not None
    assert fit.suggestion[1] is small
    assert fit.suggestion[0].info.name == "long.pdf"
    assert "small.pdf" not in fit.text


def test_a_conversation_that_fills_the_window_offers_no_part() -> None:
    fit = fits([paper(3)], "What year?", 16_000, row(16_384))
    assert not fit.ok
    assert fit.suggestion is None
    assert "no room" in fit.text


def test_a_long_question_alone_says_what_helps() -> None:
    fit = fits([], "why " * 30_000, 0, row(16_384))
    assert (fit.ok, fit.suggestion) == (False, None)
    assert "Shorten the question" in fit.text


@settings(max_examples=40, deadline=None)
@given(
    pages=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    window=st.integers(1_000, 30_000),
    history=st.integers(0, 20_000),
)
def test_the_part_that_is_offered_always_fits(pages: list[int], window: int, history: int) -> None:
    attachments = [paper(count, f"{index}.pdf") for index, count in enumerate(pages)]
    fit = fits(attachments, "What year?", history, row(window))
    if fit.suggestion is not None:
        assert fits(fit.suggestion, "What year?", history, row(window)).ok
        assert len(fit.suggestion) == len(attachments)
        assert all(part.document is not None and part.document.text.strip() for part in fit.suggestion)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        ([{"role": "user", "content": "a" * 400}], 104),
        ([{"role": "user", "content": [{"type": "text", "text": "a" * 400}]}], 104),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}], 4),
        ([{"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "a" * 400}}]}], 104),
    ],
)
def test_a_history_is_counted_by_its_text(messages: list[dict[str, object]], expected: int) -> None:
    assert history_tokens(messages) == pytest.approx(expected, abs=4)
