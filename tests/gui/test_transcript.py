"""The transcript by itself: what is laid out, selected, copied, scrolled and read aloud."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QToolButton

from turnleaf.services.row_list import RowChange
from turnleaf.services.rows import (
    AnswerRow,
    AttachmentInfo,
    DividerRow,
    InterruptedRow,
    MetaRow,
    QuestionRow,
    ReasoningRow,
    Row,
    ToolRow,
)
from turnleaf.ui.icons import Icons
from turnleaf.ui.theme import Theme
from turnleaf.ui.transcript.flow_view import FlowView
from turnleaf.ui.transcript.row_widget import RowAction
from turnleaf.ui.transcript.text_rows import plain_items
from turnleaf.ui.transcript.view import TranscriptView
from turnleaf.viewmodels.markdown.items import item_text

Show = Callable[..., TranscriptView]
MARKDOWN = """## Title

Some **bold** text and `code` and [a link](https://example.com/x).

- one
- two

```python
print("hi")
```

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def show(qapp: QApplication) -> Iterator[Show]:
    views: list[TranscriptView] = []

    def make(rows: list[Row], width: int = 900, height: int = 700) -> TranscriptView:
        theme = Theme()
        view = TranscriptView(theme, Icons(theme))
        view.resize(width, height)
        view.show()
        view.reset(rows)
        settle(view)
        views.append(view)
        return view

    yield make
    for view in views:
        view.close()
        view.deleteLater()
    QApplication.processEvents()


def settle(view: TranscriptView) -> None:
    deadline = time.monotonic() + 10
    QApplication.processEvents()
    while view.is_busy() and time.monotonic() < deadline:
        QApplication.processEvents()


def area(view: TranscriptView) -> QAbstractScrollArea:
    found = view.findChild(QAbstractScrollArea, "transcript")
    assert found is not None
    return found


def turn(number: int, answer: str, question: str = "Why?") -> list[Row]:
    return [
        DividerRow(f"{number}/d", number),
        QuestionRow(f"{number}/q", number, question),
        AnswerRow(f"{number}/a", number, answer),
        MetaRow(f"{number}/m", number, "Demo", 10, 5, 0.0, True, 1.0),
    ]


def answer_flow(view: TranscriptView) -> FlowView:
    return [flow for flow in view.findChildren(FlowView) if len(flow.items) > 1][-1]


def test_whole_answer_is_copied_as_a_reader_would_expect_it(show: Show) -> None:
    view = show(turn(1, MARKDOWN))
    flow = answer_flow(view)
    flow.select_all()
    assert flow.selected_text() == (
        'Title\n\nSome bold text and code and a link.\n\n• one\n• two\n\nprint("hi")\n\na\tb\n1\t2'
    )
    QTest.keyClick(flow, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == flow.selected_text()


def test_mouse_selects_across_the_blocks_of_one_answer_and_only_there(show: Show) -> None:
    view = show([*turn(1, MARKDOWN), *turn(2, "Another answer\n\nof two paragraphs")])
    first, second = [flow for flow in view.findChildren(FlowView) if len(flow.items) > 1]
    first.select_all()
    QTest.mousePress(second, Qt.MouseButton.LeftButton, pos=QPoint(0, 8))
    QTest.mouseMove(second, QPoint(second.width() - 2, second.height() - 4))
    second.mouseMoveEvent(_drag(second, QPointF(second.width() - 2, second.height() - 4)))
    QTest.mouseRelease(second, Qt.MouseButton.LeftButton, pos=QPoint(second.width() - 2, second.height() - 4))
    assert second.selected_text() == "Another answer\n\nof two paragraphs"
    assert first.selected_text() == ""
    assert view.selected_text() == second.selected_text()


def _drag(flow: FlowView, at: QPointF):  # type: ignore[no-untyped-def]
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    return QMouseEvent(QEvent.Type.MouseMove, at, flow.mapToGlobal(at), Qt.MouseButton.NoButton, left, none)


def test_double_click_selects_a_word(show: Show) -> None:
    view = show(turn(1, "Hello wonderful world\n\nsecond"))
    flow = answer_flow(view)
    QTest.mouseDClick(flow, Qt.MouseButton.LeftButton, pos=QPoint(70, 10))
    assert flow.selected_text() == "wonderful"


def test_pressing_a_link_tells_its_address_and_nothing_else(show: Show) -> None:
    view = show(turn(1, "[the bank](https://example.com/real) says so\n\nsecond"))
    pressed: list[str] = []
    view.link_clicked.connect(pressed.append)
    QTest.mouseClick(answer_flow(view), Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    assert pressed == ["https://example.com/real"]
    QTest.mouseClick(answer_flow(view), Qt.MouseButton.LeftButton, pos=QPoint(300, 10))
    assert len(pressed) == 1


def test_copy_buttons_copy_the_code_and_the_answer_as_markdown(show: Show) -> None:
    view = show(turn(1, MARKDOWN))
    code = view.findChild(QToolButton, "copyCode")
    assert code is not None
    code.click()
    assert QGuiApplication.clipboard().text() == 'print("hi")'
    whole = view.findChild(QToolButton, "copyAnswer")
    assert whole is not None
    whole.click()
    assert QGuiApplication.clipboard().text() == MARKDOWN


def test_hundreds_of_turns_have_widgets_only_where_they_are_seen(show: Show) -> None:
    view = show([row for n in range(1, 401) for row in turn(n, MARKDOWN)])
    assert len(view.findChildren(FlowView)) < 40
    bar = area(view).verticalScrollBar()
    assert bar.value() == bar.maximum()
    assert view.turn_in_view() == 400
    view.show_turn(200)
    settle(view)
    assert view.turn_in_view() == 200


def test_rows_in_view_touch_each_other_wherever_one_jumps(show: Show) -> None:
    view = show([row for n in range(1, 61) for row in turn(n, MARKDOWN * (1 + n % 3))])
    for number in (60, 1, 30, 31, 5, 59):
        view.show_turn(number)
        settle(view)
        widgets = sorted(view._list.widgets(), key=lambda widget: widget.y())
        seen = [w for w in widgets if 0 < w.y() + w.height() - area(view).verticalScrollBar().value() < 700]
        for upper, lower in pairwise(seen):
            assert abs(upper.y() + upper.height() - lower.y()) <= 2


def test_growing_answer_is_followed_at_the_end(show: Show) -> None:
    view = show(turn(1, "x\n\ny")[:2])
    row = AnswerRow("1/a", 1, "", streaming=True)
    view.apply([RowChange("insert", 2, row)])
    text = ""
    for n in range(80):
        text += f"Paragraph {n}.\n\n"
        view.apply([RowChange("update", 2, AnswerRow("1/a", 1, text, streaming=True))])
    settle(view)
    bar = area(view).verticalScrollBar()
    assert bar.maximum() > 500
    assert bar.value() == bar.maximum()
    assert answer_flow(view).plain_text().endswith("Paragraph 79.")


def test_text_that_is_read_aloud_is_complete_and_in_order(show: Show) -> None:
    view = show([*turn(1, "First answer"), *turn(2, MARKDOWN)])
    content = view._list._content
    rows = [child for child in content.children() if hasattr(child, "lay_out")]
    assert [row.accessibleName() for row in rows[:3]] == ["Turn 1", "Question 1", "Answer 1"]
    assert rows[2].findChild(FlowView).accessibleName() == "First answer"
    assert "Some bold text" in rows[6].findChild(FlowView).accessibleName()


def test_long_answer_is_complete_after_slices(show: Show) -> None:
    text = "\n\n".join(f"Paragraph number {n} with some more words in it." for n in range(3000))
    view = show(turn(1, text))
    deadline = time.monotonic() + 20
    while len(answer_flow(view).items) < 3000 and time.monotonic() < deadline:
        QApplication.processEvents()
    assert len(answer_flow(view).items) == 3000
    assert item_text(answer_flow(view).items[-1]).startswith("Paragraph number 2999")


def test_question_is_shown_as_it_was_typed(show: Show) -> None:
    question = "# not a heading\n<b>not bold</b> **nor this**\n" + "x" * 9000
    view = show(turn(1, "ok\n\nok", question))
    flow = next(f for f in view.findChildren(FlowView) if f.items and "not a heading" in item_text(f.items[0]))
    assert flow.plain_text().replace("\n\n", "").replace("\n", "") == question.replace("\n", "")
    assert all(len(item_text(item)) <= 4_000 for item in plain_items(question))


def test_folded_rows_open_to_their_text(show: Show) -> None:
    rows: list[Row] = [
        *turn(1, "a\n\nb")[:2],
        ReasoningRow("1/r", 1, "because *so*", 3.0),
        ToolRow("1/t", 1, "search", '{"q": 1}', "found it", False, 0.5),
    ]
    view = show(rows)
    toggles = view.findChildren(QToolButton, "foldToggle")
    assert [toggle.text() for toggle in toggles] == ["Thought · 3 s", "Used search · 0.5 s"]
    before = [flow.plain_text() for flow in view.findChildren(FlowView)]
    for toggle in toggles:
        toggle.click()
    settle(view)
    after = [flow.plain_text() for flow in view.findChildren(FlowView)]
    assert "because so" not in before
    assert {"because so", '{"q": 1}\n\nfound it'} <= set(after)


def test_card_of_an_interrupted_turn_offers_what_can_be_done(show: Show) -> None:
    info = AttachmentInfo("a.pdf", "0" * 64, "application/pdf", 10, pages=1, characters=5, estimated_tokens=2)
    row = InterruptedRow("1/i", 1, "Q?", (info,), "It was **so", "failed", "It broke.", "Error: 1")
    view = show([DividerRow("1/d", 1), row])
    asked: list[RowAction] = []
    view.action_requested.connect(asked.append)
    card = view.findChild(object, "interruptedCard")
    for name in ("sendAgain", "editInterrupted", "discardInterrupted"):
        card.findChild(object, name).click()
    assert [action.kind for action in asked] == ["send_again", "edit", "discard"]
    details = card.findChild(object, "interruptedDetails")
    assert not details.isVisible()
    card.findChild(object, "detailsToggle").click()
    assert details.isVisible()
    assert details.text() == "Error: 1"
    assert "It was so" in " ".join(flow.plain_text() for flow in card.findChildren(FlowView))


def test_wheel_over_text_scrolls_the_conversation(show: Show) -> None:
    view = show([row for n in range(1, 30) for row in turn(n, MARKDOWN)])
    bar = area(view).verticalScrollBar()
    before = bar.value()
    at = answer_flow(view).mapTo(view, QPoint(50, 10))
    QTest.wheelEvent(view.windowHandle(), QPointF(at), QPoint(0, 120))
    QApplication.processEvents()
    assert bar.value() < before


def test_another_theme_keeps_the_place(show: Show) -> None:
    view = show([row for n in range(1, 60) for row in turn(n, MARKDOWN)])
    view.show_turn(30)
    settle(view)
    for theme in (Theme("dark"), Theme("dark", zoom=1.5), Theme("contrast", compact=True)):
        view.set_theme(theme, Icons(theme))
        settle(view)
        assert view.turn_in_view() in (29, 30)


def test_row_that_goes_out_of_sight_while_it_is_laid_out_does_no_harm(show: Show) -> None:
    long = "\n\n".join(f"Paragraph {n} with **bold** words and `code`." for n in range(2000))
    view = show(turn(1, "short"))
    rows = [*turn(1, long), *turn(2, "```python\n" + "x = 1\n" * 3000 + "```"), *turn(3, long)]
    view.reset(rows)
    for index in range(len(rows) - 1, -1, -1):
        QApplication.processEvents()
        view.apply([RowChange("remove", index, rows[index])])
    view.reset(turn(9, "the end\n\nof it"))
    settle(view)
    assert answer_flow(view).plain_text() == "the end\n\nof it"
