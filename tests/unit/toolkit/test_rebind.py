"""Going on with another agent: what stays, what is left behind, what is refused, and the same said beforehand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession, SessionCompatibilityError, UnsupportedPartError
from doc_processing_toolkit.testing import PIXEL, answer, envelope, question, scripted_agent, tool_round

TEXT_ONLY = {"row": {"input_types": ("text",)}}
NATIVE = [
    question("find it"),
    *tool_round({"call_1": ("find", {"a": 1}, "found")}, reasoning="hm"),
    answer("there", reasoning="so"),
    question("look", images=[PIXEL]),
    answer("a dot"),
]
BOUNDARIES = [{"run": 1, "start": 0, "end": 4}, {"run": 2, "start": 4, "end": 6}]


def session_of(messages: list[dict[str, Any]], **settings: Any) -> AgentSession:
    data = envelope(messages, metadata={"run_count": 2, "run_boundaries": BOUNDARIES})
    return AgentSession.from_dict(data, agent=scripted_agent(["here"], **settings))


def test_k07_the_same_provider_leaves_the_history_untouched_and_records_the_hop() -> None:
    session = session_of(NATIVE)
    before = list(session.messages)
    other = scripted_agent(["there"], model="scripted/other", instructions="Be kind.")
    session.rebind(other)
    assert all(left is right for left, right in zip(session.messages, before, strict=True))
    assert session.agent is other
    assert session.converted_from is None
    assert session.conversion_report == []
    assert session.run_boundaries == BOUNDARIES
    hop = session.metadata["served_models"][-1]
    assert (hop["event"], hop["from_model"], hop["model"]) == ("rebind", "scripted/demo", "scripted/other")
    assert session.prefix_changed_on_resume
    assert session.prefix_change_report is not None
    assert session.prefix_change_report["changed"] == ["system"]
    assert asyncio.run(session.run("go on")).output == "there"


def test_11_within_the_dialect_messages_and_ids_stay_and_reasoning_is_left_behind() -> None:
    session = session_of(NATIVE)
    target = scripted_agent(["ok"], model="elsewhere/model", **TEXT_ONLY)
    preview = session.preview_rebind(target)
    session.rebind(target)
    assert session.converted_from == "scripted"
    report = session.conversion_report
    assert [(entry["artefact"], entry["index"]) for entry in report] == [
        ("reasoning_content", 1),
        ("reasoning_content", 3),
        ("media", 4),
    ]
    assert all(entry["from"] == "scripted" and entry["to"] == "elsewhere" and entry["at"] for entry in report)
    assert session.messages[1]["tool_calls"][0]["id"] == "call_1"
    assert session.messages[3] == answer("there")
    assert session.messages[4]["content"][0]["type"] == "text"
    assert [part["index"] for part in session.dropped_parts] == [4]
    assert session.run_boundaries == []
    assert session.metadata["boundaries_reset_at_run"] == 2
    kinds = [entry["kind"] for entry in preview]
    assert kinds == ["dropped", "dropped", "dropped", "unsupported", "kept"]
    assert preview[3]["index"] == 4
    assert preview[3]["becomes"] == "placeholder"
    assert (preview[4]["messages"], preview[4]["tool_rounds"], preview[4]["media"]) == (6, 1, 0)


def test_plain_text_crosses_without_a_word() -> None:
    session = AgentSession.from_dict(
        envelope([question("q"), answer("a")], metadata={"run_boundaries": [{"run": 1, "start": 0, "end": 2}]}),
        agent=scripted_agent([]),
    )
    session.rebind(scripted_agent([], model="elsewhere/model"))
    assert session.converted_from is None
    assert session.conversion_report == []
    assert session.run_boundaries == [{"run": 1, "start": 0, "end": 2}]


def test_preview_changes_nothing() -> None:
    session = session_of(NATIVE)
    before = session.to_json()[session.to_json().index('"messages"') :]
    for target in (scripted_agent([], model="elsewhere/model", **TEXT_ONLY), scripted_agent([])):
        session.preview_rebind(target)
    assert session.to_json()[session.to_json().index('"messages"') :] == before
    assert session.dropped_parts == []


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([*NATIVE[:4], question("q"), *tool_round({"c": ("f", {}, "x")})[:1]], "ends inside a tool round"),
        ([*NATIVE[:4], question("q"), *tool_round({"c": ("", {}, "x")}), answer("a")], "without a name"),
        ([*NATIVE[:4], question("q"), *tool_round({"c": ("f", {}, "x")})[1:], answer("a")], "matches no call"),
    ],
)
def test_k03_what_no_provider_would_take_is_refused_whole_and_names_the_turn(
    messages: list[dict[str, Any]], problem: str
) -> None:
    data = envelope(
        messages, metadata={"run_boundaries": [{"run": 1, "start": 0, "end": 4}, {"run": 2, "start": 4, "end": 6}]}
    )
    session = AgentSession.from_dict(data, agent=scripted_agent([]))
    target = scripted_agent([], model="elsewhere/model")
    with pytest.raises(SessionCompatibilityError, match=f"turn 2 .*{problem}"):
        session.rebind(target)
    assert session.messages == messages
    assert session.agent is not target
    assert session.conversion_report == []
    [refused] = session.preview_rebind(target)
    assert (refused["kind"], refused["turn"]) == ("refused", 2)
    assert problem in refused["detail"]
    with pytest.raises(SessionCompatibilityError, match=problem):
        AgentSession.from_dict(data, agent=target)
    session.truncate_to_turn(1)
    session.rebind(target)


def test_under_raise_a_part_that_the_row_does_not_take_refuses_the_crossing() -> None:
    session = session_of(NATIVE)
    target = scripted_agent([], model="elsewhere/model", on_unsupported_part="raise", **TEXT_ONLY)
    with pytest.raises(UnsupportedPartError, match="image in message 4"):
        session.rebind(target)
    assert session.messages == NATIVE
    assert session.preview_rebind(target)[-2]["becomes"] == "refused"


def test_k06_the_switch_refuses_native_history_and_lets_plain_text_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_SESSION_CROSS_PROVIDER_CONVERSION", "off")
    with pytest.raises(SessionCompatibilityError, match="switched off"):
        session_of(NATIVE).rebind(scripted_agent([], model="elsewhere/model"))
    session_of(NATIVE).rebind(scripted_agent([], model="scripted/other"))
    plain = session_of([question("q"), answer("a")])
    plain.rebind(scripted_agent([], model="elsewhere/model"))


def test_h09_a_restore_under_other_instructions_or_tools_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    def add(a: int) -> int:
        return a

    saved = scripted_agent([], instructions="one").session().to_dict()
    caplog.set_level("INFO")
    same = AgentSession.from_dict(saved, agent=scripted_agent([], instructions="one"))
    assert not same.prefix_changed_on_resume
    assert same.prefix_change_report is None
    for settings, changed in (
        ({"instructions": "two"}, ["system"]),
        ({"instructions": "one", "tools": [add]}, ["tools"]),
        ({"tools": [add]}, ["system", "tools"]),
    ):
        restored = AgentSession.from_dict(saved, agent=scripted_agent([], **settings))  # type: ignore[arg-type]
        assert restored.prefix_change_report is not None
        assert restored.prefix_change_report["changed"] == changed
        assert restored.prefix_change_report["saved"] == saved["prefix_fingerprint"]
    assert len(caplog.records) == 3


def test_the_order_of_tools_does_not_move_the_fingerprint() -> None:
    def add(a: int) -> int:
        return a

    def sub(a: int) -> int:
        return a

    one = scripted_agent([], tools=[add, sub]).prefix_fingerprint()
    assert one == scripted_agent([], tools=[sub, add]).prefix_fingerprint()
    assert one != scripted_agent([], tools=[add]).prefix_fingerprint()
