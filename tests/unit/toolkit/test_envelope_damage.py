"""Damaged and foreign envelopes: every one opens and works, or is an EnvelopeError that names source and place."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import AgentSession, EnvelopeError, SessionCompatibilityError, UnsupportedPartError
from doc_processing_toolkit.testing import answer, envelope, question, scripted_agent, tool_round

ALLOWED = (EnvelopeError, TypeError, SessionCompatibilityError, UnsupportedPartError)
HISTORY = [
    question("q"),
    *tool_round({"c1": ("add", {"a": 1}, "1")}, reasoning="hm"),
    answer("a"),
    question("look", images=[b"\x89PNG\r\n\x1a\nxyz"]),
    answer("seen"),
]
METADATA = {
    "run_count": 2,
    "total_input_tokens": 10,
    "total_cost": 0.5,
    "run_boundaries": [{"run": 1, "start": 0, "end": 4}, {"run": 2, "start": 4, "end": 6}],
    "served_models": [{"run": 1, "provider": "p", "model": "m"}],
    "pending_injections": ["later"],
    "interrupted_turn": {"message": "lost", "files_attached": 0},
    "conversion_report": [],
    "created_at": "2026-09-24T10:00:00+00:00",
}


def saved(**changes: Any) -> dict[str, Any]:
    return envelope(copy.deepcopy(HISTORY), metadata=copy.deepcopy(METADATA), **changes)


def restore(data: Any) -> AgentSession:
    return AgentSession.from_dict(data, agent=scripted_agent(["next"]))


def load(source: Any) -> AgentSession:
    return AgentSession.from_json(source, agent=scripted_agent(["next"]))


def use(session: AgentSession) -> None:
    """Do with a restored session what a host does."""
    asyncio.run(session.run("next question"))
    assert session.messages[-1] == {"role": "assistant", "content": "next"}
    again = AgentSession.from_json(session.to_json(), agent=scripted_agent([]))
    assert again.messages == session.messages
    assert session.persistence_report["message_count"] == len(session.messages)
    session.fork(1)
    session.truncate_to_turn(1)
    session.preview_rebind(scripted_agent([]))
    assert session.interrupted_turn is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"", "is empty"),
        (b"  \n ", "is empty"),
        (b"{", "line 1, column 2"),
        (b'{"messages": [}', "line 1, column 15"),
        (b'{"messages": [\n  {"role" "user"}]}', "line 2, column 11"),
        (b"null", "must be an object"),
        (b"[1, 2]", "must be an object"),
        (b'"text"', "must be an object"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is not"),
        (b'{"messages": "\xff\xfe"}', "byte 14"),
        (b"{}", "no messages"),
        (b'{"messages": null}', "messages must be a list, not null"),
        (b'{"messages": {}}', "messages must be a list, not an object"),
        (b'{"messages": [1]}', r"messages\[0\] must be an object, not a number"),
        (b'{"messages": [{}]}', r"messages\[0\] is no message"),
        (b'{"messages": [{"role": "zzz", "content": "x"}]}', r"messages\[0\] is no message"),
        (b'{"messages": [], "schema_version": "3"}', "schema_version must be"),
        (b'{"messages": [], "schema_version": 0}', "schema_version must be"),
        (b'{"messages": [], "metadata": []}', "metadata must be an object, not a list"),
        (b'{"messages": [], "metadata": {"run_count": "3"}}', "metadata.run_count must be a number"),
        (b'{"messages": [], "metadata": {"run_count": -1}}', "metadata.run_count"),
        (b'{"messages": [], "metadata": {"run_count": 1.5}}', "metadata.run_count must be a whole number"),
        (b'{"messages": [], "metadata": {"pending_injections": [1]}}', "metadata.pending_injections"),
        (b'{"messages": [], "metadata": {"served_models": {}}}', "metadata.served_models must be a list"),
        (b'{"messages": [], "media": []}', "media must be an object"),
        (b'{"messages": [], "session_id": 5}', "session_id must be text"),
        (b'{"messages": [], "metadata": {"total_cost": ' + b"9" * 5000 + b"}}", "too long"),
        (b'{"messages": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"messages": [{"role": "user", "content": ' + b"[" * 500 + b"]" * 500 + b"}]}", "levels deep"),
    ],
)
def test_damage_is_named_with_its_source_and_place(text: bytes, place: str, tmp_path: Path) -> None:
    path = tmp_path / "conversation.json"
    path.write_bytes(text)
    with pytest.raises(EnvelopeError, match=place) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert path.read_bytes() == text
    with pytest.raises(EnvelopeError, match=place):
        load(text)


def test_files_that_cannot_be_read_are_envelope_errors(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path, tmp_path / "missing.json", str(tmp_path / "missing.json"), tmp_path / "pipe", "a\x00b"):
        with pytest.raises(EnvelopeError):
            load(source)
    for source in (5, None, [], {}):
        with pytest.raises(TypeError):
            load(source)
    for source in (None, [], "text", 5):
        with pytest.raises(TypeError):
            restore(source)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_unicode_encoding_opens(encoding: str) -> None:
    text = json.dumps(saved(), ensure_ascii=False)
    use(load(text.encode(encoding)))


def test_nan_duplicates_and_lone_surrogates_open() -> None:
    text = (
        '{"messages": [], "messages": [{"role": "user", "content": "x\\ud800", "n": NaN, "i": 1e999}], '
        '"metadata": {"total_cost": NaN, "run_count": Infinity}}'
    )
    session = load(text)
    assert session.messages == [{"role": "user", "content": "x\ufffd", "n": None, "i": None}]
    assert session.metadata["total_cost"] == 0.0
    assert "NaN" not in session.to_json()
    use(session)


def test_h06_versions() -> None:
    bare = {"messages": copy.deepcopy(HISTORY)}
    assert restore(bare).restored_from_schema_version == 1
    assert restore({**bare, "schema_version": 2}).restored_from_schema_version == 2
    for data in (bare, {**bare, "schema_version": 2, "prefix_fingerprint": {"system": "x", "tools": "y"}}):
        use(restore(data))


def test_h06_a_newer_version_loads_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    session = restore(saved(schema_version=9, surprise={"a": 1}))
    assert session.restored_from_schema_version == 9
    assert "surprise" in caplog.text
    assert "surprise" not in session.to_dict()
    use(session)


@pytest.mark.parametrize("key", [key for key in envelope([]) if key != "messages"])
@pytest.mark.parametrize("value", ["missing", None])
def test_every_optional_key_may_be_missing_or_null(key: str, value: Any) -> None:
    data = saved()
    if value is None:
        data[key] = None
    else:
        del data[key]
    use(restore(data))


@pytest.mark.parametrize("key", list(METADATA))
def test_h07_every_metadata_key_may_be_missing_or_null(key: str) -> None:
    for changed in ({**METADATA, key: None}, {name: value for name, value in METADATA.items() if name != key}):
        use(restore(envelope(copy.deepcopy(HISTORY), metadata=copy.deepcopy(changed))))


def test_h07_partial_metadata_is_merged_over_the_defaults() -> None:
    session = restore(envelope([], metadata={"total_cost": 0.25}))
    assert session.metadata["total_cost"] == 0.25
    assert session.metadata["compaction_count"] == 0
    asyncio.run(session.run("q"))


def test_f05_late_settings_degrade_to_the_defaults_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    session = restore(saved(late_injection_policy="whenever", max_follow_up_turns="many"))
    assert (session.late_injection_policy, session.max_follow_up_turns) == ("surface", 1)
    assert "whenever" in caplog.text
    assert "many" in caplog.text


def test_an_unknown_history_mode_falls_back_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    session = restore(saved(session_history_config={"mode": "everything"}))
    assert session.to_dict()["session_history_config"]["mode"] == "full"
    assert "everything" in caplog.text


@pytest.mark.parametrize(
    "record",
    [
        {"run": 1, "start": 0, "end": 7},
        {"run": 1, "start": 3, "end": 3},
        {"run": 1, "start": -1, "end": 2},
        {"run": 1, "start": 0},
        {"run": "1", "start": 0, "end": 2},
        {"run": True, "start": 0, "end": 2},
        "record",
        None,
    ],
)
def test_d05_a_boundary_that_does_not_address_the_messages_is_dropped(record: Any) -> None:
    data = saved()
    data["metadata"]["run_boundaries"] = [record, {"run": 2, "start": 4, "end": 6}]
    session = restore(data)
    assert session.run_boundaries == [{"run": 2, "start": 4, "end": 6}]
    use(session)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}],
        [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
        [{"role": "user", "parts": [{"function_response": {"name": "f", "response": {}}}]}],
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "", "input": {}}]}],
    ],
)
def test_a_history_in_a_form_that_cannot_be_converted_is_refused_whole(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(SessionCompatibilityError, match="message 1"):
        restore(envelope([question("q"), *messages], provider="elsewhere"))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["user", "assistant", "tool", "$media:x", "data:image/png;base64,$media:../../x", "function"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key in value:
            yield (*path, key)
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield (*path, index)
            yield from places(value[index], (*path, index))


PLACES = sorted(places(saved()), key=repr)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(PLACES), value=JSON, removes=st.booleans())
def test_any_value_at_any_place_opens_and_works_or_is_refused(
    place: tuple[Any, ...], value: Any, removes: bool
) -> None:
    data = saved()
    parent: Any = data
    for step in place[:-1]:
        parent = parent[step]
    if removes:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    try:
        session = restore(data)
    except ALLOWED:
        return
    use(session)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(position=st.integers(0, 3000), length=st.integers(0, 40), junk=st.binary(max_size=6))
def test_a_file_damaged_anywhere_opens_or_is_refused(position: int, length: int, junk: bytes) -> None:
    text = json.dumps(saved()).encode()
    position %= len(text)
    damaged = text[:position] + junk + text[position + length :]
    try:
        session = load(damaged)
    except ALLOWED:
        return
    use(session)
