"""What the app says of numbers, files and progress."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from PySide6.QtGui import QKeySequence

from turnleaf.services.rows import AttachmentInfo, InterruptedRow, MetaRow, StatusRow
from turnleaf.ui.commands import file_name
from turnleaf.ui.conversation_list import day_text
from turnleaf.ui.dialogs import key_text
from turnleaf.ui.texts import (
    attachment_summary,
    duration_text,
    meta_text,
    money_text,
    not_part_text,
    one_line,
    pages_without_text,
    plain_tool_tip,
    short_count,
    status_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (640, "640"),
        (999, "999"),
        (1000, "1k"),
        (2140, "2.1k"),
        (9960, "10k"),
        (41_300, "41k"),
        (1_200_000, "1.2M"),
    ],
)
def test_counts_are_short(value: int, text: str) -> None:
    assert short_count(value) == text


@pytest.mark.parametrize(
    ("dollars", "text"), [(0.0, "$0"), (0.0001, "<$0.001"), (0.0042, "$0.004"), (0.31, "$0.31"), (12.0, "$12.00")]
)
def test_money_has_the_digits_that_matter(dollars: float, text: str) -> None:
    assert money_text(dollars) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.44, "0.4 s"), (6.2, "6 s"), (125.0, "2 min 5 s"), (120.0, "2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_meta_line_names_only_what_is_known() -> None:
    assert meta_text(MetaRow("m", 1, "Demo", 2100, 640, 0.0042, True, 6.0)) == "Demo · 2.1k → 640 · $0.004 · 6 s"
    assert meta_text(MetaRow("m", 1, "", 0, 0, 0.0, False, None)) == ""


@pytest.mark.parametrize(
    ("row", "seconds", "files", "text"),
    [
        (StatusRow("s", 1, "waiting", 1, 0, "requests"), None, False, "Waiting for the model (1 ahead)…"),
        (StatusRow("s", 1, "waiting"), None, False, "Waiting for the model…"),
        (StatusRow("s", 1, "starting_model", 40, 100), None, False, "Starting the local model… 40 %"),
        (StatusRow("s", 1, "starting_model"), 3.0, False, "Starting the local model… 3 s"),
        (StatusRow("s", 1, "assembling_weights", 1, 4, "bytes"), None, False,
         "Preparing the local model for the first time… 25 %"),
        (StatusRow("s", 1, "reading_prompt", 1200, 4000, "tokens"), None, True,
         "Reading the document… 1,200 / 4,000 tokens"),
        (StatusRow("s", 1, "reading_prompt", 12, 40, "tokens"), None, False, "Reading… 12 / 40 tokens"),
        (StatusRow("s", 1, "asking"), 8.0, False, "Waiting for the answer… 8 s"),
        (StatusRow("s", 1, "a phase of the future"), None, False, "Waiting for the answer…"),
    ],
)  # fmt: skip
def test_status_line_says_what_is_going_on(row: StatusRow, seconds: float | None, files: bool, text: str) -> None:
    assert status_text(row, seconds, with_files=files) == text


def test_chip_is_honest_about_a_file() -> None:
    info = AttachmentInfo("a.pdf", "0" * 64, "application/pdf", 900, "pdf", 12, 8412, 2103)
    assert attachment_summary(info) == "12 pages · 8,412 characters · ≈ 2.1k tokens · as text"
    assert "cannot be sent" in attachment_summary(AttachmentInfo("a.png", "0" * 64, "image/png", 900))
    assert pages_without_text((3,)) == "page 3 has no text"
    assert pages_without_text(tuple(range(1, 30))).endswith("7, 8…")


def test_text_from_outside_stays_text() -> None:
    assert one_line("a\nb\x07c\u202ed") == "a\ufffdb\ufffdc\ufffdd"
    assert "<b>" not in plain_tool_tip("<b>x</b>")
    assert file_name('a/b: "c" <d>?') == "a b c d"
    assert file_name("///") == "Conversation"


def test_days_are_said_as_people_say_them() -> None:
    now = datetime(2026, 11, 29, 15, 0).astimezone()
    assert day_text(now - timedelta(hours=1), now) == "14:00"
    assert day_text(now - timedelta(days=1), now) == "Yesterday"
    assert day_text(now - timedelta(days=26), now) == "3 Nov"
    assert day_text(now - timedelta(days=400), now) == "25 Oct 2025"


@pytest.mark.parametrize(
    ("files", "words"),
    [((), "question is not part"), ((AttachmentInfo("a.pdf", "0" * 64, "application/pdf", 9),), "its files")],
)
def test_interrupted_turn_says_that_it_is_not_part_of_the_conversation(
    files: tuple[AttachmentInfo, ...], words: str
) -> None:
    row = InterruptedRow("i", 1, "Why?", files, "", "stopped")
    assert words in not_part_text(row)
    assert "sent again" in not_part_text(row)


def test_no_key_is_called_return() -> None:
    for key in ("Ctrl+Return", "Ctrl+Enter", "Shift+Return"):
        assert key_text(QKeySequence(key)).endswith("Enter")
