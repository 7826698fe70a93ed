"""Every ordered pair of dialects on drawn conversations: nothing said is lost, and the target's rules take it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from doc_processing_toolkit import registry
from doc_processing_toolkit.conversion.crossing import Crossing, Origin, cross
from unit.conversion.spoken import (
    DIALECTS,
    PIXEL_64,
    PROVIDERS,
    ROWS,
    Turn,
    arguments_in,
    calls_in,
    conversations,
    pictures_in,
    strings_in,
    texts_in,
    written,
)
from unit.conversion.wire import violations

PAIRS = tuple(itertools.permutations(DIALECTS, 2))
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def crossed(messages: list[dict[str, Any]], source: str, target: str) -> Crossing:
    return cross(messages, Origin(PROVIDERS[source]), registry.find(ROWS[target]), policy="placeholder")


def assert_whole(messages: list[dict[str, Any]], turns: tuple[Turn, ...], pictures: int) -> None:
    strings = list(strings_in(messages))
    for text in texts_in(turns):
        assert any(text in string for string in strings), f"lost {text!r}"
    assert sum(PIXEL_64 in string for string in strings) == pictures
    assert [arguments for _, arguments in calls_in(messages)] == arguments_in(turns)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(turns=conversations())
@QUICK
def test_k01_k08_every_pair_keeps_what_was_said_and_the_target_takes_it(
    source: str, target: str, turns: tuple[Turn, ...]
) -> None:
    before = written(turns, source)
    result = crossed(before, source, target)
    assert before == written(turns, source)
    assert_whole(result.messages, turns, pictures_in(turns, source))
    assert violations(result.messages, ROWS[target]) == []
    assert _but_for_time(result) == _but_for_time(crossed(before, source, target))
    ids = [call_id for call_id, _ in calls_in(result.messages)]
    assert len(ids) == len(set(ids))
    changed = [entry for entry in result.report if entry["kind"] == "rekeyed"]
    assert len({entry["to_id"] for entry in changed}) == len(changed)
    kept = [call_id for call_id, _ in calls_in(before)]
    assert len(changed) == sum(old != new for old, new in zip(kept, ids, strict=True))
    assert result.dropped_parts == []


def _but_for_time(result: Crossing) -> Any:
    return result.messages, [{**entry, "at": ""} for entry in result.report], result.converted_from


@pytest.mark.parametrize("way", list(itertools.permutations(DIALECTS, 3)))
@given(turns=conversations())
@settings(parent=QUICK, max_examples=10)
def test_k01_from_one_to_another_to_a_third_keeps_every_text_argument_result_and_byte(
    way: tuple[str, str, str], turns: tuple[Turn, ...]
) -> None:
    first, second, third = way
    between = crossed(written(turns, first), first, second)
    last = crossed(between.messages, second, third)
    assert_whole(last.messages, turns, pictures_in(turns, first))
    assert violations(last.messages, ROWS[third]) == []
    back = crossed(last.messages, third, first)
    assert_whole(back.messages, turns, pictures_in(turns, first))
    assert violations(back.messages, ROWS[first]) == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(turns=conversations())
@settings(parent=QUICK, max_examples=15)
def test_k02_reasoning_is_left_behind_with_one_entry_per_message(
    source: str, target: str, turns: tuple[Turn, ...]
) -> None:
    result = crossed(written(turns, source), source, target)
    names = {"anthropic": "thinking", "openai": "reasoning", "google": "thought", "chat": "reasoning_content"}
    dropped = [entry for entry in result.report if entry["kind"] == "dropped"]
    expected = sum(len(turn.rounds) for turn in turns if turn.thinks or source == "google")
    assert [entry["artefact"] for entry in dropped] == [names[source]] * expected
    assert [entry["index"] for entry in result.report] == sorted(entry["index"] for entry in result.report)
    for entry in result.report:
        assert (entry["from"], entry["to"]) == (PROVIDERS[source], PROVIDERS[target])
        assert entry["at"].endswith("+00:00")
