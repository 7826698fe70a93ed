"""The small pure parts: retry plans, JSON pieces, echoes, streams, watched work, and the trimming of answers."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.core import jsonpieces
from doc_processing_toolkit.core.aio import EventStream
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.core.jsonclean import clean, copy_clean
from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.core.progress import WatchedWork
from doc_processing_toolkit.dialects import lens_of
from doc_processing_toolkit.history.echo import new_messages
from doc_processing_toolkit.providers.chat.stream import TextJoiner
from doc_processing_toolkit.providers.retry import is_retryable_status, plan_retry, retry_after
from doc_processing_toolkit.testing import answer, image_part, question, tool_round

NOW = datetime(2026, 9, 24, 10, 0, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 24 Sep 2026 10:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 24 Sep 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a09_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_a_retry_after_that_is_no_time_never_makes_a_wait(value: str) -> None:
    asked = retry_after({"retry-after": value}, now=NOW)
    plan = plan_retry(1, 3, asked)
    assert plan is None or math.isfinite(plan.delay_s)


def test_a09_back_off_grows_and_ends() -> None:
    delays = [plan_retry(attempt, 10, None) for attempt in range(1, 11)]
    assert all(plan is not None and 0.3 < plan.delay_s <= 8 for plan in delays)
    assert delays[0] is not None
    assert delays[9] is not None
    assert delays[0].delay_s < delays[9].delay_s
    assert plan_retry(4, 3, None) is None
    assert plan_retry(1, 0, 0.1) is None
    assert plan_retry(1, 3, 121) is None


def test_the_servers_own_word_on_retrying_decides() -> None:
    assert not is_retryable_status(429, {"x-should-retry": "false"}, None)
    assert is_retryable_status(400, {"x-should-retry": "true"}, None)
    assert not is_retryable_status(429, {}, "insufficient_quota")
    assert not is_retryable_status(501, {}, None)
    assert is_retryable_status(599, {}, None)


@settings(max_examples=150, deadline=None)
@given(value=JSON, size=st.integers(1, 40))
def test_pieces_of_any_size_join_to_the_same_json(value: Any, size: int) -> None:
    before = jsonpieces.PIECE_CHARACTERS
    jsonpieces.PIECE_CHARACTERS = size
    try:
        text = "".join(json_pieces(value))
    finally:
        jsonpieces.PIECE_CHARACTERS = before
    assert json.loads(text) == value


def test_large_values_come_in_pieces_of_at_most_a_mebibyte() -> None:
    value = {
        "a": ["x" * 3_000_000, {"b": "ü" * 600_000}],
        "c": [{"role": "user", "content": "y" * 900}] * 4000,
        "d": [],
    }
    pieces = list(json_pieces(value))
    assert max(len(piece) for piece in pieces) <= 1 << 20
    assert len(pieces) < 50
    assert json.loads("".join(pieces)) == value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": object()}, b"x"])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        list(json_pieces(value))


@settings(max_examples=100, deadline=None)
@given(value=JSON)
def test_cleaning_leaves_clean_values_equal_and_detached(value: Any) -> None:
    for copied in (clean(value), copy_clean(value)):
        assert copied == value
        assert copied is not value or not isinstance(value, dict | list)


def test_c08_c10_the_echo_is_cut_behind_what_was_sent_or_at_the_question(caplog: pytest.LogCaptureFixture) -> None:
    old = [question("one"), answer("1")]
    asked, reply = question("two"), answer("2")
    assert new_messages([*old, asked, reply], 2, asked) == [asked, reply]
    assert caplog.text == ""
    assert new_messages([old[0], asked, reply], 2, asked) == [asked, reply]
    assert "shorter" in caplog.text
    assert new_messages([asked, reply], 2, asked) == [asked, reply]
    assert new_messages([*old, reply], 2, None) == [reply]


def test_a_lens_gives_the_same_object_when_nothing_changes_and_none_when_nothing_is_left() -> None:
    lens = lens_of("chat")
    messages = [
        question("q", images=[b"x"]),
        answer("a", reasoning="hm"),
        *tool_round({"c": ("f", {}, "r")}, text="t"),
        answer(""),
        {"role": "assistant", "content": None, "tool_calls": [], "name": "kept"},
    ]
    for message in messages:
        views = lens.views(message)
        assert lens.rebuild(message, views) is message
        if views:
            assert lens.rebuild(message, []) is None
    media = lens.media_views(messages[0])[0]
    assert lens.media(media) == lens.media(media.with_block(image_part(b"x")))


def test_an_event_stream_can_be_read_by_one_task_at_a_time() -> None:
    async def main() -> None:
        async def numbers() -> AsyncGenerator[int, None]:
            for number in range(3):
                await asyncio.sleep(0.01)
                yield number

        stream = EventStream(numbers())
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already waiting"):
            await anext(stream)
        assert await first == 0
        assert [number async for number in stream] == [1, 2]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(main())


def test_a_stream_that_failed_is_over() -> None:
    async def main() -> None:
        async def broken() -> AsyncGenerator[int, None]:
            yield 1
            raise LookupError("broken")

        stream = EventStream(broken())
        assert await anext(stream) == 1
        with pytest.raises(LookupError):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(main())


def test_watched_work_reports_in_order_and_hands_over_its_result() -> None:
    async def work(report: Callable[[Progress], None]) -> str:
        for number in range(3):
            report(Progress("waiting", number))
            await asyncio.sleep(0)
        await asyncio.to_thread(report, Progress("waiting", 3))
        return "done"

    async def main() -> None:
        watched: WatchedWork[str] = WatchedWork(work)
        seen = [progress.done async for progress in watched.reports()]
        assert seen == [0, 1, 2, 3]
        assert watched.result == "done"

    asyncio.run(main())


def test_watched_work_that_fails_raises_where_its_result_is_taken() -> None:
    async def work(report: Callable[[Progress], None]) -> str:
        raise LookupError("no")

    async def main() -> None:
        watched: WatchedWork[str] = WatchedWork(work)
        assert [progress async for progress in watched.reports()] == []
        with pytest.raises(LookupError):
            _ = watched.result

    asyncio.run(main())


@pytest.mark.parametrize("finishes", [True, False])
def test_watched_work_that_is_cancelled_stops_or_is_undone(finishes: bool) -> None:
    undone: list[str] = []

    async def work(report: Callable[[Progress], None]) -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            if not finishes:
                undone.append("cancelled")
                raise
        return "opened after all"

    async def undo(result: str) -> None:
        undone.append(result)

    async def main() -> None:
        watched: WatchedWork[str] = WatchedWork(work, undo=undo)
        reader = asyncio.ensure_future(anext(watched.reports()))
        await asyncio.sleep(0.01)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

    asyncio.run(main())
    assert undone == (["opened after all"] if finishes else ["cancelled"])


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([" Hello", " Alice!", "\n"], ["Hello", " Alice!", ""]),
        ([" ", "\n", "a ", " b", " "], ["", "", "a", "  b", ""]),
        (["a\n", "\n", "b"], ["a", "", "\n\nb"]),
        ([" "], [""]),
    ],
)
def test_white_space_around_an_answer_goes_where_the_row_says_so(pieces: list[str], shown: list[str]) -> None:
    joiner = TextJoiner(trims=True)
    assert [joiner.take(piece) for piece in pieces] == shown
    assert joiner.text == "".join(pieces).strip()
    plain = TextJoiner()
    assert [plain.take(piece) for piece in pieces] == pieces
