"""Request bodies as bytes: the same JSON as `json` writes, in pieces that no loop waits long for."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.providers import encoding
from doc_processing_toolkit.providers.encoding import encoded

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize("step", [1, 20, 100, 1 << 19])
@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(), values | st.lists(texts | st.dictionaries(texts, texts), max_size=9), max_size=5))
def test_what_is_encoded_is_the_body(step: int, body: dict[str, Any]) -> None:
    before = encoding.STEP_CHARACTERS
    encoding.STEP_CHARACTERS = step
    try:
        assert json.loads(b"".join(asyncio.run(encoded(body)))) == body
    finally:
        encoding.STEP_CHARACTERS = before


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    text = b"".join(asyncio.run(encoded({"a": "x\ud83dy", "messages": [{"b": "\udc00"}]})))
    assert json.loads(text) == {"a": "x?y", "messages": [{"b": "?"}]}


@pytest.mark.parametrize("body", [{}, {"a": []}, {"a": {}}, {"messages": [[], {}]}])
def test_empty_things_are_written_as_such(body: dict[str, Any]) -> None:
    assert json.loads(b"".join(asyncio.run(encoded(body)))) == body


def test_a_large_attachment_is_encoded_in_steps_between_which_the_loop_runs() -> None:
    data = "QUJD" * 5_000_000
    body = {"model": "m", "messages": [{"role": "user", "content": [{"source": {"data": data}}]}, {"a": "b"}]}

    async def main() -> tuple[list[bytes], int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        pieces = await encoded(body)
        counting.cancel()
        return pieces, turns

    pieces, turns = asyncio.run(main())
    assert json.loads(b"".join(pieces)) == body
    assert max(map(len, pieces)) <= 1 << 20
    assert turns >= 20


def test_a_long_history_takes_a_few_milliseconds() -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "seldom " * 60}]}
    body = {"model": "m", "messages": [message] * 5000}
    start = time.process_time()
    asyncio.run(encoded(body))
    assert time.process_time() - start < 0.5
