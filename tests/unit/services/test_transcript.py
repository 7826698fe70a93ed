"""Rows of a conversation: while it is streamed, and when it is opened again."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.core.events import (
    Complete,
    Injected,
    Progress,
    ReasoningDelta,
    Retry,
    TextDelta,
    ToolCall,
    ToolCallResult,
    TurnComplete,
    TurnStart,
)
from doc_processing_toolkit.core.result import AgentResult
from turnleaf.services.partial import MAX_SHOWN_CHARACTERS
from turnleaf.services.rows import (
    AnswerRow,
    DividerRow,
    InterruptedRow,
    MetaRow,
    QuestionRow,
    ReasoningRow,
    Row,
    StatusRow,
    ToolRow,
    ToolRun,
)
from turnleaf.services.sidecar import InterruptedTurn
from turnleaf.services.transcript import (
    InterruptedDiscarded,
    JournalRestored,
    QuestionAsked,
    Transcript,
    TurnInterrupted,
    rows_of_history,
    transcript_of_history,
)
from unit.services.conversations import PAPER, TURNS, Told, Turn, live_through, messages_of


def result(output: str | None = "Hi.", **values: Any) -> AgentResult:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": output}]
    return AgentResult(**{"output": output, "messages": messages, "model": "m", "provider": "p", **values})


def kinds(transcript: Transcript) -> list[str]:
    return [type(row).__name__.removesuffix("Row") for row in transcript.rows]


def asked(number: int = 1, label: str = "Demo") -> Transcript:
    transcript = Transcript()
    transcript.apply(QuestionAsked(number, "What?", (PAPER,), label))
    return transcript


def only(transcript: Transcript, kind: type[Row]) -> Any:
    (found,) = [row for row in transcript.rows if isinstance(row, kind)]
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(TURNS, max_size=4), st.integers(1, 7))
def test_a_restored_history_shows_exactly_the_rows_that_its_stream_gave(turns: list[Turn], batch_size: int) -> None:
    """G05: tools, reasoning, several turns, interrupted ones in between, sent again or left standing."""
    told = Told()
    for turn in turns:
        live_through(turn, told, batch_size)

    restored = rows_of_history(told.messages, told.ledger, told.boundaries, "chat", told.interrupted)

    assert restored == told.transcript.rows
    assert tuple(told.mirror) == told.transcript.rows
    assert len({row.key for row in restored}) == len(restored)


@settings(max_examples=40, deadline=None)
@given(st.lists(TURNS.map(lambda turn: replace(turn, stops_after=None)), min_size=1, max_size=3), TURNS)
def test_a_restored_transcript_goes_on_as_the_live_one_does(turns: list[Turn], following: Turn) -> None:
    told = Told()
    for turn in turns:
        live_through(turn, told, 3)
    again = Told(
        transcript=transcript_of_history(told.messages, told.ledger, told.boundaries, "chat", None),
        mirror=list(told.mirror),
        messages=list(told.messages),
        boundaries=list(told.boundaries),
        ledger=list(told.ledger),
    )

    live_through(following, told, 3)
    live_through(following, again, 3)

    assert again.transcript.rows == told.transcript.rows
    assert again.mirror == told.mirror


@settings(max_examples=60, deadline=None)
@given(st.lists(TURNS.map(lambda turn: replace(turn, stops_after=None)), min_size=1, max_size=4))
def test_a_history_without_ledger_and_boundaries_still_shows_its_turns(turns: list[Turn]) -> None:
    messages = [message for turn in turns for message in messages_of(turn)]

    rows = rows_of_history(messages, [], [], "chat", None)

    questions = [row.text for row in rows if isinstance(row, QuestionRow)]
    answers = [row.text for row in rows if isinstance(row, AnswerRow)]
    assert questions == [turn.question for turn in turns]
    assert answers[-1] == "".join(turns[-1].final.text)
    assert [row.turn for row in rows if isinstance(row, DividerRow)] == list(range(1, len(turns) + 1))


def test_a_question_opens_a_turn_with_its_files_and_a_status_line() -> None:
    assert asked().rows == (
        DividerRow("1/divider", 1),
        QuestionRow("1/question/0", 1, "What?", (PAPER,)),
        StatusRow("1/status", 1, "asking"),
    )


def test_the_status_line_is_replaced_and_goes_with_the_first_text() -> None:
    transcript = asked()
    transcript.apply(TurnStart(1))

    (change,) = transcript.apply(Progress("reading_prompt", 10, 20, "tokens", "x"))

    assert (change.kind, change.index) == ("update", 2)
    assert change.row == StatusRow("1/status", 1, "reading_prompt", 10, 20, "tokens", "x")
    (change,) = transcript.apply(Retry(2, 1.5, "overloaded"))
    assert isinstance(change.row, StatusRow)
    assert (change.row.phase, change.row.done, change.row.detail) == ("retry", 2, "overloaded")
    transcript.apply(TextDelta("Hi"))
    assert kinds(transcript) == ["Divider", "Question", "Answer"]


def test_a_batch_reports_a_growing_answer_once_and_what_was_appended() -> None:
    transcript = asked()
    transcript.apply(TextDelta("One"))

    (change,) = transcript.apply_all([TextDelta(" two"), TextDelta(" three")])

    assert change.kind == "update"
    assert change.appended == " two three"
    assert change.row == AnswerRow("1/answer/0", 1, "One two three", streaming=True)


def test_a_completed_turn_has_its_stored_text_and_its_account() -> None:
    transcript = asked()
    transcript.apply_all([TextDelta(" Hi"), TextDelta(". \n")])

    transcript.apply(Complete(result("Hi.", input_tokens=7, output_tokens=2, cost=0.5, cost_known=False, duration_s=2)))

    assert only(transcript, AnswerRow) == AnswerRow("1/answer/0", 1, "Hi.", streaming=False)
    assert only(transcript, MetaRow) == MetaRow("1/meta", 1, "Demo", 7, 2, 0.5, False, 2.0)
    assert kinds(transcript) == ["Divider", "Question", "Answer", "Meta"]


def test_an_answer_that_was_never_streamed_is_shown_when_it_is_complete() -> None:
    transcript = asked()

    transcript.apply(Complete(result("All at once.")))

    assert only(transcript, AnswerRow).text == "All at once."


def test_reasoning_is_timed_and_comes_before_the_text_of_its_round() -> None:
    transcript = asked()
    transcript.apply(ReasoningDelta("hm"), at=10.0)
    transcript.apply(ReasoningDelta("m"), at=11.0)
    transcript.apply(TextDelta("Hi"), at=12.5)
    transcript.apply(ReasoningDelta(" late"), at=13.0)

    assert only(transcript, ReasoningRow) == ReasoningRow("1/reasoning/0", 1, "hmm late", 2.5)
    assert kinds(transcript) == ["Divider", "Question", "Reasoning", "Answer"]


def test_reasoning_that_comes_after_text_stands_before_it() -> None:
    transcript = asked()

    transcript.apply_all([TextDelta("Hi"), ReasoningDelta("hm")])

    assert kinds(transcript) == ["Divider", "Question", "Reasoning", "Answer"]


def test_tool_calls_wait_for_their_results_and_the_next_round_is_announced() -> None:
    transcript = asked()
    transcript.apply_all([TextDelta("Let me see."), ToolCall("a", "add", {"x": 1}), ToolCall("b", "look_up", {})])
    assert kinds(transcript) == ["Divider", "Question", "Answer", "Tool", "Tool"]
    assert not only(transcript, AnswerRow).streaming

    transcript.apply(ToolCallResult("b", "look_up", "no such page", True, 0.25))
    transcript.apply(ToolCallResult("a", "add", "2", False, 0.5))

    first, second = [row for row in transcript.rows if isinstance(row, ToolRow)]
    assert first == ToolRow("1/tool/0", 1, "add", '{"x": 1}', "2", False, 0.5)
    assert second == ToolRow("1/tool/1", 1, "look_up", "", "no such page", True, 0.25)
    assert kinds(transcript)[-1] == "Status"
    transcript.apply(TextDelta("It is 2."))
    assert [row.text for row in transcript.rows if isinstance(row, AnswerRow)] == ["Let me see.", "It is 2."]


def test_long_arguments_and_results_are_bounded_for_showing() -> None:
    transcript = asked()
    transcript.apply_all(
        [ToolCall("a", "add", {"x": "y" * 90_000}), ToolCallResult("a", "add", "z" * 90_000, False, 1)]
    )

    row = only(transcript, ToolRow)
    assert len(row.arguments) < MAX_SHOWN_CHARACTERS + 60
    assert row.result.endswith("(70,000 more characters)")


def test_a_message_given_into_a_running_turn_stands_where_it_was_given() -> None:
    transcript = asked()
    transcript.apply_all(
        [ToolCall("a", "add", {}), ToolCallResult("a", "add", "2", False, 1), Injected("Hurry."), TextDelta("2")]
    )

    assert kinds(transcript) == ["Divider", "Question", "Tool", "Question", "Answer"]


def test_another_model_is_named_at_the_divider_and_the_same_one_is_not() -> None:
    transcript = asked(1, "Demo")
    transcript.apply(Complete(result()))
    transcript.apply(QuestionAsked(2, "Again?", (), "Demo"))
    transcript.apply(Complete(result()))
    transcript.apply(QuestionAsked(3, "Again?", (), "Other"))

    assert [row.model_change for row in transcript.rows if isinstance(row, DividerRow)] == ["", "", "Other"]


def test_an_interrupted_turn_becomes_one_card_with_all_that_had_arrived() -> None:
    """I01: question, files, partial answer and the tools that have run."""
    transcript = asked()
    transcript.apply_all(
        [TextDelta("Let me"), ToolCall("a", "add", {}), ToolCallResult("a", "add", "2", False, 1), TextDelta("It is")]
    )

    transcript.apply(TurnInterrupted("failed", "The server went away.", "details"))

    assert transcript.rows == (
        DividerRow("1/divider", 1),
        InterruptedRow(
            "1/interrupted", 1, "What?", (PAPER,), "Let me\n\nIt is", "failed", "The server went away.", "details",
            (ToolRun("add", "2"),),
        ),
    )  # fmt: skip


def test_an_error_shaped_result_leaves_the_turn_to_be_interrupted() -> None:
    transcript = asked()
    transcript.apply_all([TextDelta("Le"), Complete(AgentResult(None, [], "m", "p", error="no"))])

    transcript.apply(TurnInterrupted("failed", "no"))

    assert kinds(transcript) == ["Divider", "Interrupted"]


def test_an_error_with_a_transcript_is_a_turn_that_stays() -> None:
    transcript = asked()
    transcript.apply_all([TextDelta("So far"), Complete(result(None, error="max_iterations reached"))])

    assert kinds(transcript) == ["Divider", "Question", "Answer", "Meta"]


def test_sending_again_takes_the_place_of_the_card_and_another_question_leaves_it() -> None:
    transcript = asked()
    transcript.apply(TurnInterrupted("stopped"))

    transcript.apply(QuestionAsked(2, "Something else", (), "Demo"))
    assert kinds(transcript) == ["Divider", "Interrupted", "Divider", "Question", "Status"]
    transcript.apply(Complete(result()))
    transcript.apply(QuestionAsked(1, "What?", (), "Demo"))

    assert kinds(transcript) == ["Divider", "Question", "Answer", "Meta", "Divider", "Question", "Status"]


def test_a_discarded_card_goes_with_its_divider() -> None:
    transcript = Transcript()
    transcript.apply(JournalRestored(InterruptedTurn(3, 2, "Q", (), "m", "partial", "killed")))
    assert kinds(transcript) == ["Divider", "Interrupted"]

    transcript.apply(InterruptedDiscarded(3))

    assert transcript.rows == ()


def test_a_follow_up_turn_of_the_same_call_is_a_turn_of_its_own() -> None:
    """F04: turn_complete ends a turn, the next turn_start opens another."""
    transcript = asked()
    transcript.apply_all([TurnStart(1), TextDelta("One."), TurnComplete(result("One."))])

    transcript.apply_all([TurnStart(2), TextDelta("Two."), Complete(result("Two."))])

    assert [row.text for row in transcript.rows if isinstance(row, AnswerRow)] == ["One.", "Two."]
    assert [row.turn for row in transcript.rows if isinstance(row, MetaRow)] == [1, 2]


def test_events_of_a_turn_that_has_ended_change_nothing() -> None:
    transcript = asked()
    transcript.apply(TurnInterrupted("stopped"))

    assert transcript.apply_all([TextDelta("late"), Complete(result())]) == []


def test_two_hundred_kilobytes_in_tiny_deltas_take_no_quadratic_time() -> None:
    transcript = asked()
    deltas = [TextDelta("abcd")] * 50_000
    started = time.process_time()
    for start in range(0, len(deltas), 200):
        transcript.apply_all(deltas[start : start + 200])

    assert len(only(transcript, AnswerRow).text) == 200_000
    assert time.process_time() - started < 1.5


def test_a_document_in_a_message_is_shown_as_a_file_and_not_as_the_question() -> None:
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Document: a very long text"},
                {"type": "text", "text": "Question: What is it about?"},
            ],
        },
        {"role": "assistant", "content": "Bridges."},
    ]

    rows = rows_of_history(messages, [], [{"run": 1, "start": 0, "end": 2}], "chat", None)

    question = rows[1]
    assert isinstance(question, QuestionRow)
    assert question.text == "What is it about?"
    assert [(each.name, each.characters) for each in question.attachments] == [("Document", 16)]


def test_messages_of_an_unknown_shape_disturb_nothing() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": None},
        {"role": "assistant", "content": [{"type": "mystery", "data": 1}, {"type": "text", "text": "ok"}]},
        {"role": "tool", "tool_call_id": "nobody", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{not json"}}]},
        {},
    ]

    rows = rows_of_history(messages, [], [{"run": "x", "start": None, "end": 99}], "no-such-dialect", None)

    assert [row.text for row in rows if isinstance(row, AnswerRow)] == ["ok"]
    assert [row.arguments for row in rows if isinstance(row, ToolRow)] == ['{"arguments": "{not json"}']
