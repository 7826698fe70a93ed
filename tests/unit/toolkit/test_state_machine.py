"""A session driven at random through runs, streams, failures, cancels, cuts, forks, saves and restores."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from doc_processing_toolkit import AgentSession, ProviderError, events
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Kind
from doc_processing_toolkit.history.config import MODES
from doc_processing_toolkit.session.metadata import COUNTERS
from support.histories import DIALECTS, Answer, NativeAgent, Step, problems
from support.soaking import examples

_COMPACTIONS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"trigger_messages": 9, "keep_recent_messages": 3},
    {"trigger_messages": 8, "keep_recent_messages": 2, "sliding_window_include_truncation_notice": False},
    {"trigger_tokens": 700, "strategy": "tool_result_clearing", "keep_recent_messages": 2},
)
_TURN: dict[str, st.SearchStrategy[Any]] = {
    "rounds": st.lists(st.integers(1, 2), max_size=2),
    "thought": st.sampled_from(["", "hm"]),
}


def answered(text: str, thought: str, number: int, at: int, calls: int = 0) -> Answer:
    """Return an answer whose ids are those of no other."""
    asked = tuple((f"c{number}x{at}x{n}", number + n) for n in range(calls))
    return Answer(text, thought, asked, f"{number}x{at}")


class SessionMachine(RuleBasedStateMachine):
    """The session, and beside it what a host would know of it: the question of each turn that it should hold."""

    dialect = "chat"

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()
        self.counters: dict[str, float] = dict(COUNTERS)

    @initialize(
        mode=st.sampled_from(MODES),
        compaction=st.sampled_from(_COMPACTIONS),
        native=st.booleans(),
        keeps_media=st.booleans(),
    )
    def begin(self, mode: str, compaction: dict[str, Any] | None, native: bool, keeps_media: bool) -> None:
        self.compacts = compaction is not None
        self.agent = NativeAgent(
            self.dialect,
            session_history_config={"mode": mode, "preserve_media": keeps_media},
            stream_history="native" if native else "light",
            compaction=self.compacts,
            compaction_config=compaction,
        )
        self.session = self.agent.session()
        self.questions: list[str] = []
        self.runs = 0
        self.failed: str | None = None
        self.before: list[Message] = []

    def plan(self, rounds: list[int], thought: str, end: str = "say") -> str:
        """Script the next turn, and return its question."""
        number = next(self.numbers)
        self.agent.native.steps = [
            Step("say", answered("", thought, number, at, count)) for at, count in enumerate(rounds)
        ]
        self.agent.native.steps.append(Step(end, answered(f"answer {number}.", thought, number, len(rounds))))
        self.before = self.session.messages
        return f"question {number}?"

    def completed(self, question: str) -> None:
        self.runs += 1
        self.failed = None
        compactions = self.session.metadata["compaction_count"]
        if compactions > self.counters["compaction_count"]:
            assert self.session.run_boundaries == []
            assert self.session.metadata["boundaries_reset_at_run"] == self.runs
            self.questions = []
        else:
            self.questions.append(question)
            assert self.session.messages[: len(self.before)] == self.before
        assert all(question in json.dumps(request) for request in self.agent.native.requests)
        self.agent.native.requests.clear()
        text = json.dumps(self.session.messages)
        answer = question.replace("question", "answer").replace("?", ".")
        assert text.count(question) == 1
        assert text.count(answer) == 1
        assert lens_of(self.dialect).role(self.session.messages[-1]) == "assistant"

    def set_aside(self, question: str) -> None:
        self.failed = question
        assert all(question in json.dumps(request) for request in self.agent.native.requests)
        self.agent.native.requests.clear()
        assert self.session.messages is self.before

    @rule(**_TURN, streams=st.booleans(), has_file=st.booleans())
    def ask(self, rounds: list[int], thought: str, streams: bool, has_file: bool) -> None:
        question = self.plan(rounds, thought)
        files = [("notes.txt", b"a note")] if has_file else []

        async def main() -> None:
            if not streams:
                assert (await self.session.run(question, files=files)).error is None
                return
            seen = [event async for event in self.session.stream(question, files=files)]
            assert isinstance(seen[-1], events.Complete)

        asyncio.run(main())
        self.completed(question)

    @rule(**_TURN)
    def ask_and_inject_on_the_way(self, rounds: list[int], thought: str) -> None:
        question = self.plan([1, *rounds], thought)

        async def main() -> None:
            has_said = False
            async for event in self.session.stream(question):
                if isinstance(event, events.ToolCallResult) and not has_said:
                    has_said = True
                    self.session.inject("by the way")

        asyncio.run(main())
        self.completed(question)

    @rule(**_TURN, streams=st.booleans())
    def ask_and_be_refused(self, rounds: list[int], thought: str, streams: bool) -> None:
        question = self.plan(rounds, thought, "fail")

        async def main() -> Any:
            if not streams:
                return await self.session.run(question)
            return [event async for event in self.session.stream(question)][-1].result  # type: ignore[union-attr]

        assert asyncio.run(main()).error
        self.set_aside(question)

    @rule(**_TURN)
    def ask_and_break_off(self, rounds: list[int], thought: str) -> None:
        question = self.plan(rounds, thought, "cut")

        async def main() -> None:
            with pytest.raises(ProviderError):
                async for _ in self.session.stream(question):
                    pass

        asyncio.run(main())
        self.set_aside(question)

    @rule(**_TURN)
    def ask_and_close_the_stream(self, rounds: list[int], thought: str) -> None:
        question = self.plan(rounds, thought)

        async def main() -> None:
            async with self.session.stream(question) as stream:
                async for event in stream:
                    if isinstance(event, events.TextDelta):
                        break

        asyncio.run(main())
        self.set_aside(question)

    @rule(**_TURN, streams=st.booleans())
    def ask_and_cancel(self, rounds: list[int], thought: str, streams: bool) -> None:
        question = self.plan(rounds, thought, "hang")
        self.agent.native.is_hanging = asyncio.Event()

        async def read() -> None:
            async for _ in self.session.stream(question):
                pass

        async def main() -> None:
            task = asyncio.ensure_future(read() if streams else self.session.run(question))
            await self.agent.native.is_hanging.wait()
            with pytest.raises(RuntimeError, match="already running"):
                self.session.clear()
            shown = self.session.to_dict()["messages"]
            assert len(shown) == len(self.before)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(main())
        self.set_aside(question)

    @precondition(lambda self: self.session.messages)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.session.messages)))
        before = self.session.messages
        whole = [record["end"] for record in self.session.run_boundaries]
        kept = self.session.truncate_to(count)
        assert kept == len(self.session.messages) <= count
        assert all(new is old for new, old in zip(self.session.messages, before, strict=False))
        self.questions = self.questions[: sum(end <= kept for end in whole)]

    @rule(data=st.data())
    def cut_to_a_turn(self, data: st.DataObject) -> None:
        turn = data.draw(st.integers(0, len(self.questions) + 1))
        self.session.truncate_to_turn(turn)
        self.questions = self.questions[:turn]
        assert len(self.session.run_boundaries) == len(self.questions)

    @rule()
    def clear(self) -> None:
        self.session.clear()
        assert self.session.messages == []
        assert self.session.metadata["boundaries_reset_at_run"] == self.runs
        self.questions = []

    @rule(data=st.data())
    def go_on_in_a_fork(self, data: st.DataObject) -> None:
        turn = data.draw(st.one_of(st.none(), st.integers(0, len(self.questions))))
        original = self.session
        saved = copy.deepcopy((original.messages, original.metadata))
        self.session = original.fork(turn)
        assert self.session.session_id != original.session_id
        if turn is not None:
            self.questions = self.questions[:turn]
            self.failed = None
        self.session.inject("for the fork")
        assert (original.messages, original.metadata) == saved

    @rule()
    def save_and_restore(self) -> None:
        text = self.session.to_json()
        restored = AgentSession.from_json(text, agent=self.agent)
        assert restored.messages == self.session.messages
        assert restored.session_id == self.session.session_id
        assert restored.metadata == self.session.metadata
        self.session = restored

    @invariant()
    def the_history_is_legal_json(self) -> None:
        assert problems(self.session.messages, lens_of(self.dialect)) == []
        json.dumps(self.session.messages, allow_nan=False)
        assert self.agent.native.found == []
        assert not self.session.turn_in_flight

    @invariant()
    def the_boundaries_address_the_turns_in_order(self) -> None:
        records = self.session.run_boundaries
        assert len(records) == len(self.questions)
        end = 0
        for record, question in zip(records, self.questions, strict=True):
            assert end <= record["start"] < record["end"] <= len(self.session.messages)
            assert question in json.dumps(self.session.messages[record["start"]])
            end = record["end"]

    @invariant()
    def counters_only_grow(self) -> None:
        metadata = self.session.metadata
        assert metadata["run_count"] == self.runs
        assert all(metadata[name] >= value for name, value in self.counters.items())
        assert len(metadata["compaction_events"]) == metadata["compaction_count"]
        self.counters = {name: metadata[name] for name in COUNTERS}

    @invariant()
    def a_failed_question_is_kept_until_the_next_turn(self) -> None:
        record = self.session.interrupted_turn
        assert (record["message"] if record is not None else None) == self.failed

    @invariant()
    def the_mode_holds_in_what_is_stored(self) -> None:
        mode = self.session.to_dict()["session_history_config"]["mode"]
        if mode in ("no_reasoning", "messages_only"):
            lens = lens_of(self.dialect)
            kinds = {view.kind for message in self.session.messages for view in lens.views(message)}
            assert Kind.REASONING not in kinds


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_session_keeps_its_promises_whatever_is_done_with_it(dialect: str) -> None:
    """B04, B05, C01–C14, D01–D06, I01, I03, H01, L01 over random sequences of what a host may do."""
    machine = type("DialectMachine", (SessionMachine,), {"dialect": dialect})
    quick = examples(0) == 0
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples(12),
            stateful_step_count=15 if quick else 40,
            deadline=None,
            derandomize=quick,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
