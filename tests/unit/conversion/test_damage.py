"""Histories with a wrong value somewhere: they cross, or are refused with a typed error; nothing else happens."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import SessionCompatibilityError, UnsupportedPartError, registry
from doc_processing_toolkit.conversion.crossing import Origin, cross
from doc_processing_toolkit.core.errors import EnvelopeError
from unit.conversion.spoken import DIALECTS, PROVIDERS, ROWS, Asked, Outcome, Round, Turn, written

_TURNS = (
    Turn(
        "q",
        True,
        (Round("b", (Asked("i", "f", {"a": 1}, Outcome("r", has_picture=True)),), "c"),),
        "a",
        True,
    ),
)
_ODD = st.sampled_from(
    (None, True, 0, -1.5, "", "x", [], [None], ["x"], [[]], {}, {"type": "x"}, {"type": None}, "a,b")
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((*path, key), *_places(inner, (*path, key)))]


@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data(), odd=_ODD)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_value_at_any_place_crosses_or_is_refused(source: str, data: st.DataObject, odd: Any) -> None:
    messages = copy.deepcopy(written(_TURNS, source))
    places = [place for place in _places(messages) if len(place) > 1]
    place = data.draw(st.sampled_from(places))
    holder: Any = messages
    for key in place[:-1]:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[place[-1]] = odd
    elif isinstance(holder, dict):
        del holder[place[-1]]
    before = json.dumps(messages)
    target = data.draw(st.sampled_from(DIALECTS))
    provider = data.draw(st.sampled_from((PROVIDERS[source], None)))
    with contextlib.suppress(EnvelopeError, SessionCompatibilityError, UnsupportedPartError):
        result = cross(messages, Origin(provider), registry.find(ROWS[target]), policy="placeholder")
        json.dumps([result.messages, result.report, result.dropped_parts], allow_nan=False)
    assert json.dumps(messages) == before
