"""The outline is derived from the rows, and its model announces only what differs."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from turnleaf.services.rows import (
    AnswerRow,
    AttachmentInfo,
    DividerRow,
    InterruptedRow,
    MetaRow,
    QuestionRow,
    StatusRow,
)
from turnleaf.viewmodels.outline import OutlineEntry, OutlineModel, OutlineRole, first_words, outline_of

FILE = AttachmentInfo("a.pdf", "0" * 64, "application/pdf", 10)
ROWS = (
    DividerRow("1/divider", 1),
    QuestionRow("1/q", 1, "First\nquestion", (FILE,)),
    AnswerRow("1/a", 1, "Answer"),
    MetaRow("1/m", 1, "Demo", 100, 20, 0.01, True, 1.0),
    DividerRow("2/divider", 2),
    InterruptedRow("2/i", 2, "Second", (), "part", "stopped"),
    DividerRow("3/divider", 3),
    QuestionRow("3/q", 3, "Third"),
    StatusRow("3/s", 3, "asking"),
)


def test_each_turn_has_its_question_its_figures_and_its_state() -> None:
    """G02."""
    assert outline_of(ROWS) == (
        OutlineEntry(1, "First question", "Demo", 120, 0.01, 1, "done"),
        OutlineEntry(2, "Second", state="interrupted"),
        OutlineEntry(3, "Third", state="running"),
    )


def test_growing_answer_is_running_and_a_meta_line_ends_it() -> None:
    running = outline_of((QuestionRow("q", 1, "Q"), AnswerRow("a", 1, "x", streaming=True)))
    assert running[0].state == "running"
    done = outline_of((QuestionRow("q", 1, "Q"), AnswerRow("a", 1, "x"), MetaRow("m", 1, "M", 1, 1, 0.0, True, None)))
    assert done[0].state == "done"


def test_first_words_are_one_printable_line() -> None:
    assert first_words("a\x07b\n\tc") == "a b c"
    assert len(first_words("word " * 100)) == 90
    assert first_words("word " * 100).endswith("…")


def test_model_announces_inserted_removed_and_changed_rows(qapp: QApplication) -> None:
    assert QCoreApplication.instance() is qapp
    model = OutlineModel()
    seen: list[str] = []
    model.rowsInserted.connect(lambda _parent, first, last: seen.append(f"in {first}-{last}"))
    model.rowsRemoved.connect(lambda _parent, first, last: seen.append(f"out {first}-{last}"))
    model.dataChanged.connect(lambda first, last: seen.append(f"changed {first.row()}-{last.row()}"))
    one, two = OutlineEntry(1, "a"), OutlineEntry(2, "b")
    model.show((one, two))
    model.show((one, OutlineEntry(2, "b", state="running")))
    model.show((one,))
    model.show((OutlineEntry(4, "d"),))
    assert seen == ["in 0-1", "changed 1-1", "out 1-1", "out 0-0", "in 0-0"]
    assert model.data(model.index(0, 0), OutlineRole.ENTRY) == OutlineEntry(4, "d")
    assert model.row_of_turn(4) == 0
    assert model.row_of_turn(9) == -1
