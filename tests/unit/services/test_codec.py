"""Dataclasses to JSON values and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnleaf.services.codec import CodecError, from_plain, to_plain
from turnleaf.services.rows import AttachmentInfo, ToolRun
from turnleaf.services.sidecar import Draft, Journal, LedgerTurn, LinkedFile, Sidecar, TurnFacts

TIMES = st.datetimes(timezones=st.just(UTC))
TEXT = st.text(max_size=20)
INFOS = st.builds(AttachmentInfo, name=TEXT, sha256=TEXT, mime_type=TEXT, size=st.integers(0, 10**12))
TOOLS = st.lists(st.builds(ToolRun, name=TEXT, content=TEXT), max_size=2).map(tuple)
SECONDS = st.none() | st.floats(0, 1e6)
LINES = st.builds(
    LedgerTurn,
    number=st.integers(1, 9),
    run=st.integers(1, 9),
    question=TEXT,
    model=TEXT,
    model_label=TEXT,
    ended_at=TIMES,
    attachments=st.lists(INFOS, max_size=2).map(tuple),
    cost=st.floats(0, 100),
    seconds=SECONDS,
    facts=st.builds(TurnFacts, timings=st.lists(SECONDS, max_size=3).map(tuple)),
    tools=TOOLS,
)
JOURNALS = st.builds(
    Journal, number=st.integers(1, 9), run=st.integers(1, 9), question=TEXT, model=TEXT, started_at=TIMES,
    attachments=st.lists(INFOS, max_size=2).map(tuple), partial=TEXT, tools=TOOLS,
    cause=st.sampled_from([None, "stopped", "failed", "closed", "killed"]),
)  # fmt: skip
SIDECARS = st.builds(
    Sidecar,
    title=TEXT,
    ledger=st.lists(LINES, max_size=3),
    journal=st.none() | JOURNALS,
    draft=st.builds(Draft, text=TEXT, attachments=st.lists(INFOS, max_size=2).map(tuple)),
    linked=st.none() | st.builds(LinkedFile, path=TEXT, revision=st.integers(0, 99), sha256=TEXT),
    created_at=st.none() | TIMES,
)


@dataclass(frozen=True)
class Inner:
    name: str
    weight: float = 1.0


@dataclass
class Outer:
    kind: Literal["a", "b"]
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    raw: bytes = b""
    at: datetime | None = None
    free: dict[str, Any] = field(default_factory=dict)


@given(SIDECARS)
def test_every_sidecar_comes_back_as_it_was(sidecar: Sidecar) -> None:
    assert from_plain(Sidecar, json.loads(json.dumps(to_plain(sidecar)))) == sidecar


def test_bytes_and_nested_values_come_back() -> None:
    value = Outer("b", Inner("x", 2.5), (Inner("y"),), b"\x00\xff", datetime(2026, 1, 2, tzinfo=UTC), {"k": [1, None]})

    assert from_plain(Outer, json.loads(json.dumps(to_plain(value)))) == value


def test_a_time_keeps_its_moment_whatever_its_zone() -> None:
    east = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    assert from_plain(Outer, to_plain(Outer("a", at=east))).at == east


def test_unknown_keys_are_ignored_and_missing_ones_get_their_default() -> None:
    assert from_plain(Outer, {"kind": "a", "later_version": 1}) == Outer("a")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], "Outer"),
        ({}, "Outer.kind"),
        ({"kind": "c"}, "Outer.kind"),
        ({"kind": "a", "inner": {"name": 5}}, "Outer.inner.name"),
        ({"kind": "a", "many": [{"name": "x"}, {}]}, "Outer.many[1].name"),
        ({"kind": "a", "many": "text"}, "Outer.many"),
        ({"kind": "a", "raw": "not base64!"}, "Outer.raw"),
        ({"kind": "a", "at": "yesterday"}, "Outer.at"),
        ({"kind": "a", "inner": {"name": "x", "weight": True}}, "Outer.inner.weight"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_its_place(data: Any, place: str) -> None:
    with pytest.raises(CodecError) as caught:
        from_plain(Outer, data)

    assert str(caught.value).startswith(place)
