"""PDFs made to do harm: each ends within the limits, with a reason, and leaves nothing behind."""

from __future__ import annotations

import sys

import pytest

from doc_processing_toolkit.core.errors import DocumentError
from unit.documents.pdf_making import bomb, build, endless_pdf, many_pages, nested_forms, one_page, shown, stream
from unit.documents.reading import read, refused

MEBIBYTE = 1 << 20
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="address space can be limited on Linux only")


@linux_only
def test_decompression_bomb_is_stopped_by_the_memory_limit() -> None:
    error = refused(bomb(400), "bomb.pdf", memory_bytes=200 * MEBIBYTE)
    assert error.code == "memory"
    assert "200 MiB" in str(error)


@linux_only
def test_forms_that_multiply_are_stopped_by_the_memory_limit() -> None:
    assert refused(nested_forms(), "forms.pdf", memory_bytes=150 * MEBIBYTE, seconds=60).code == "memory"


@linux_only
@pytest.mark.parametrize("mebibytes", [1, 14, 20, 24, 28, 31])
def test_limit_too_small_for_the_reader_itself_is_said_to_be_one_of_memory(mebibytes: int) -> None:
    assert refused(one_page(shown(b"(a)")), "a.pdf", memory_bytes=mebibytes * MEBIBYTE).code == "memory"


@linux_only
def test_text_too_large_for_memory_is_stopped_by_the_memory_limit() -> None:
    assert refused(b"word " * (10 * MEBIBYTE), "a.txt", memory_bytes=60 * MEBIBYTE, characters=10**8).code == "memory"


def test_document_that_takes_too_long_is_stopped_by_the_clock() -> None:
    error = refused(endless_pdf(), "slow.pdf", seconds=1, pages=1_000_000, characters=10**9)
    assert error.code == "timeout"
    assert "1 seconds" in str(error)


@pytest.mark.parametrize(
    "data",
    [
        # A page tree that contains itself.
        build([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"]),
        # A page tree 5,000 levels deep.
        build(
            [b"<< /Type /Catalog /Pages 2 0 R >>"]
            + [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 1) for number in range(2, 5000)]
            + [b"<< /Type /Page /MediaBox [0 0 612 792] >>"]
        ),
        # Arrays a million levels deep.
        build([b"<< /Type /Catalog /Pages 2 0 R /X " + b"[" * MEBIBYTE + b" >>", b"<< /Type /Pages /Kids [] >>"]),
        # No page that exists.
        build([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [9 0 R 8 0 R] /Count 2 >>"]),
        build([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]),
    ],
    ids=["loop", "deep tree", "deep arrays", "missing pages", "no pages"],
)
def test_impossible_page_tree_is_damaged(data: bytes) -> None:
    assert refused(data, "tree.pdf", seconds=30).code == "damaged"


def test_claim_of_two_thousand_million_pages_ends_and_keeps_what_is_there() -> None:
    data = many_pages(1, shown(b"(Hello)")).replace(b"/Count 1", b"/Count 2000000000")
    outcome = outcome_of(data)
    assert "Hello" in outcome or outcome == "damaged"


@pytest.mark.parametrize(
    "content",
    [b"[" * MEBIBYTE + b"BT /F1 12 Tf (Hello) Tj ET", b"q " * MEBIBYTE + b"BT /F1 12 Tf 9 9 Td (Hello) Tj ET"],
    ids=["arrays", "saved states"],
)
def test_page_of_nothing_but_nesting_ends(content: bytes) -> None:
    outcome = outcome_of(one_page(stream(content)))
    assert "Hello" in outcome or outcome in {"damaged", "memory", "no_text"}


def outcome_of(data: bytes) -> str:
    """Return the text, or the code of the error; the worker itself must not fail."""
    try:
        return read(data, "hostile.pdf", seconds=60).text
    except DocumentError as exc:
        return exc.code


def test_script_and_actions_are_not_run() -> None:
    action = b"/OpenAction << /S /JavaScript /JS (this.getField\\('x'\\); while\\(true\\){}) >>"
    launch = b"/AA << /O << /S /Launch /F (/bin/sh) >> >>"
    data = one_page(shown(b"(Hello)"), catalogue=action, page=launch)
    assert read(data, "script.pdf", seconds=30).text == "[page 1]\nHello"


def test_crash_inside_the_library_is_reported_as_damage_not_as_a_fault_of_the_app() -> None:
    from doc_processing_toolkit.documents.endings import explain_ending
    from unit.documents.test_process import request_named

    for signal_number in (4, 8, 11):
        assert explain_ending(request_named("a.pdf"), -signal_number, b"").code == "damaged"
    assert explain_ending(request_named("a.pdf"), 0xC0000005, b"").code == "damaged"
    assert explain_ending(request_named("a.pdf"), -9, b"").code == "worker_died"
