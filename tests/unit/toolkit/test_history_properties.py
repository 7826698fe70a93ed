"""Random legal histories in every dialect: cuts, modes, compactions, saves and restores keep their promises."""

from __future__ import annotations

import copy
import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Kind, Lens
from doc_processing_toolkit.history import compaction as steps
from doc_processing_toolkit.history.boundaries import boundary, legal_prefix
from doc_processing_toolkit.history.config import MODES, HistoryConfig
from doc_processing_toolkit.history.modes import prepare, stored
from support.histories import DIALECTS, NativeAgent, histories, problems
from support.soaking import examples

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)
some = settings(
    max_examples=examples(8),
    deadline=None,
    derandomize=examples(8) == 8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)


def flat(turns: list[list[Message]]) -> list[Message]:
    return [message for turn in turns for message in turn]


def session_of(dialect: str, turns: list[list[Message]]) -> AgentSession:
    session = NativeAgent(dialect).session()
    session.messages.extend(flat(turns))
    start = 0
    for run, turn in enumerate(turns, start=1):
        session.metadata["run_boundaries"].append(boundary(run, start, start + len(turn)))
        start += len(turn)
    session.metadata["run_count"] = len(turns)
    return session


@each_dialect
@some
@given(data=st.data())
def test_the_generator_makes_legal_histories_of_its_dialect(dialect: str, data: st.DataObject) -> None:
    messages = flat(data.draw(histories(dialect)))
    lens = lens_of(dialect)
    assert problems(messages, lens) == []
    assert all(lens.sniff(message) for message in messages)
    assert json.loads(json.dumps(messages, allow_nan=False)) == messages


@each_dialect
@some
@given(data=st.data())
def test_d06_every_cut_leaves_the_longest_legal_prefix(dialect: str, data: st.DataObject) -> None:
    session = session_of(dialect, data.draw(histories(dialect)))
    lens, messages = lens_of(dialect), session.get_history()
    for count in range(len(messages) + 2):
        kept = legal_prefix(messages, count, lens)
        assert kept <= count
        assert problems(messages[:kept], lens) == []
        assert all(problems(messages[:more], lens) for more in range(kept + 1, min(count, len(messages)) + 1))
    count = data.draw(st.integers(0, len(messages)))
    kept = session.truncate_to(count)
    assert all(new is old for new, old in zip(session.messages, messages, strict=False))
    assert all(record["end"] <= kept for record in session.run_boundaries)


@each_dialect
@some
@given(data=st.data(), mode=st.sampled_from(MODES))
def test_c02_c07_a_mode_sends_a_legal_history_and_changes_nothing_that_is_stored(
    dialect: str, data: st.DataObject, mode: str
) -> None:
    messages = flat(data.draw(histories(dialect)))
    lens, config, before = lens_of(dialect), HistoryConfig(mode=mode), copy.deepcopy(messages)
    sent = prepare(messages, config, lens)
    kept = stored(messages, config, lens)
    assert messages == before
    assert problems(sent.messages, lens) == []
    assert problems(kept, lens) == []
    if mode == "full":
        assert all(new is old for new, old in zip(sent.messages, messages, strict=True))
    kinds = {view.kind for message in sent.messages for view in lens.views(message)}
    if mode in ("no_reasoning", "messages_only"):
        assert Kind.REASONING not in kinds
    if mode == "messages_only":
        assert not kinds & {Kind.CALL, Kind.RESULT}
    assert bool(sent.context) is (mode == "text_summary")


@each_dialect
@some
@given(data=st.data(), mode=st.sampled_from(["full", "no_tool_results", "compact_tool_results"]))
def test_c12_completed_turns_go_out_as_the_same_bytes_on_every_later_turn(
    dialect: str, data: st.DataObject, mode: str
) -> None:
    turns = data.draw(histories(dialect))
    lens, config = lens_of(dialect), HistoryConfig(mode=mode)
    requests = [
        json.dumps(prepare(flat(turns[:count]), config, lens).messages)[:-1] for count in range(1, len(turns) + 1)
    ]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(requests))


@each_dialect
@some
@given(data=st.data())
def test_h01_a_history_is_the_same_after_a_save_and_a_restore(dialect: str, data: st.DataObject) -> None:
    session = session_of(dialect, data.draw(histories(dialect)))
    restored = AgentSession.from_json(session.to_json(), agent=session.agent)
    assert restored.messages == session.messages
    assert restored.run_boundaries == session.run_boundaries
    assert restored.metadata == session.metadata
    assert restored.to_dict()["messages"] == session.to_dict()["messages"]


@each_dialect
@some
@given(data=st.data(), keep=st.integers(1, 12), has_head=st.booleans(), cuts_turn=st.booleans())
def test_l01_a_compacted_history_is_legal_and_keeps_what_is_recent(
    dialect: str, data: st.DataObject, keep: int, has_head: bool, cuts_turn: bool
) -> None:
    turns = data.draw(histories(dialect))
    lens = lens_of(dialect)
    talk = steps.Conversation(flat(turns[:-1]), turns[-1])
    if not cuts_turn:
        talk = steps.Conversation(talk.history, talk.turn[:1])
    before = copy.deepcopy(talk.messages)
    cleared, count = steps.clear_results(talk, keep, lens)
    assert talk.messages == before
    assert problems(cleared.messages, lens) == []
    assert cleared.messages[-keep:] == talk.messages[-keep:]
    assert len(cleared.messages) == len(talk.messages)
    assert steps.clear_results(cleared, keep, lens) == (cleared, 0) or count == 0
    window = steps.window_of(cleared, keep, lens, has_head=has_head)
    if window is None:
        return
    head = steps.notice(window.dropped, lens) if has_head else None
    check_window(cleared, steps.headed(window, head, lens), window, keep, lens, has_head=has_head)


def check_window(
    before: steps.Conversation,
    after: steps.Conversation,
    window: steps.Window,
    keep: int,
    lens: Lens,
    *,
    has_head: bool,
) -> None:
    assert problems(after.messages, lens) == []
    assert after.turn[0] is before.turn[0], "the question of the running turn stays"
    recent = before.messages[-keep:]
    assert after.messages[-len(recent) :] == recent or len(after.messages) < len(recent) + len(window.dropped)
    assert len(window.dropped) + len(after.messages) - has_head == len(before.messages)
    assert lens.role(after.messages[0]) == "user"
    if has_head:
        assert steps.notice_count(after.messages[0], lens) == len(window.dropped)
