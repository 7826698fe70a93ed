"""What a session stores, filters and saves: normalisation, history modes, and the envelope's round trip (B13)."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import AgentSession
from doc_processing_toolkit.core.jsonclean import UncleanValueError, clean
from doc_processing_toolkit.dialects import lens_of
from doc_processing_toolkit.history.config import HistoryConfig
from doc_processing_toolkit.history.modes import RESULT_PLACEHOLDER, prepare, stored
from doc_processing_toolkit.testing import ToolUse, answer, image_part, question, scripted_agent, tool_round

CHAT = lens_of("chat")
KEYS = [
    "schema_version",
    "session_id",
    "provider",
    "model",
    "toolkit_version",
    "saved_at",
    "sdk",
    "media_policy",
    "media",
    "media_report",
    "messages",
    "metadata",
    "session_history_config",
    "late_injection_policy",
    "max_follow_up_turns",
    "prefix_fingerprint",
    "reuse_anthropic_container",
    "anthropic_container_id",
    "closed",
]


class Colour(Enum):
    RED = "red"


class Dumpable:
    """Looks like an SDK object."""

    def model_dump(self, *, mode: str, exclude_unset: bool) -> dict[str, Any]:
        return {"type": "text", "data": b"\x00\x01", "mode": mode}


def look_up(name: str) -> str:
    """Look something up."""
    return f"{name} is here. " * 100


def history() -> list[dict[str, Any]]:
    """Three turns: plain, with a tool round (text beside the call, reasoning), and one with an image."""
    return [
        question("hello"),
        answer("hi", reasoning="greet back"),
        question("find it"),
        *tool_round({"c1": ("look_up", {"name": "it"}, "x" * 900)}, text="Let me look.", reasoning="use the tool"),
        answer("it is here"),
        question("and this?", images=[b"\x89PNG\r\n\x1a\n123"]),
        answer("a picture"),
    ]


def sent(mode: str, messages: list[dict[str, Any]] | None = None, **config: Any) -> list[dict[str, Any]]:
    return prepare(messages or history(), HistoryConfig(mode=mode, **config), CHAT).messages


def test_b03_whatever_a_provider_hands_over_is_stored_as_json_can_hold_it() -> None:
    at = dt.datetime(2026, 9, 24, tzinfo=dt.UTC)
    value = {
        "bytes": b"abc",
        "time": at,
        "enum": Colour.RED,
        "sdk": [Dumpable()],
        "nan": float("nan"),
        "tuple": (1, 2),
        3: "key",
        "lone": "a\ud800b",
        "pair": "\ud83d\ude00",
    }
    assert clean(value) == {
        "bytes": "YWJj",
        "time": "2026-09-24T00:00:00+00:00",
        "enum": "red",
        "sdk": [{"type": "text", "data": "AAE=", "mode": "json"}],
        "nan": None,
        "tuple": [1, 2],
        "3": "key",
        "lone": "a\ufffdb",
        "pair": "😀",
    }


def test_a_cycle_is_refused_with_its_place_and_not_followed_for_ever() -> None:
    value: dict[str, Any] = {}
    value["self"] = [value]
    with pytest.raises(UncleanValueError, match="levels deep") as caught:
        clean(value)
    assert caught.value.path.startswith("self[0].self[0]")


def test_c02_full_sends_the_very_same_messages() -> None:
    messages = history()
    for before, after in zip(messages, sent("full", messages), strict=True):
        assert before is after


def test_c03_messages_only_keeps_questions_and_answers_and_a_mixed_turns_text() -> None:
    assert sent("messages_only") == [
        question("hello"),
        answer("hi"),
        question("find it"),
        answer("Let me look."),
        answer("it is here"),
        history()[6],
        answer("a picture"),
    ]


def test_c03_a_turn_of_nothing_but_calls_goes_under_messages_only() -> None:
    messages = [question("q"), *tool_round({"c": ("look_up", {}, "r")}), answer("a")]
    assert sent("messages_only", messages) == [question("q"), answer("a")]


@pytest.mark.parametrize("content", ["text", [{"type": "text", "text": "a"}, image_part()]])
def test_c04_no_tool_results_leaves_call_and_result_message_with_a_placeholder(content: Any) -> None:
    messages = [question("q"), *tool_round({"c": ("look_up", {}, content)}), answer("a")]
    after = sent("no_tool_results", messages)
    assert after[1] is messages[1]
    assert after[2]["tool_call_id"] == "c"
    assert CHAT.result_text(CHAT.views(after[2])[0]) == RESULT_PLACEHOLDER
    assert not CHAT.media_views(after[2])


def test_c05_no_reasoning_takes_reasoning_out_of_mixed_turns() -> None:
    after = sent("no_reasoning")
    assert all("reasoning_content" not in message for message in after)
    assert [message["content"] for message in after] == [message["content"] for message in history()]
    assert after[3]["tool_calls"] == history()[3]["tool_calls"]


def test_c05_a_round_that_is_still_open_keeps_its_reasoning() -> None:
    messages = history()[:5]
    after = sent("no_reasoning", messages)
    assert "reasoning_content" not in after[1]
    assert after[3] is messages[3]
    assert after[4] is messages[4]


@pytest.mark.parametrize("as_parts", [False, True])
def test_c06_compact_tool_results_cuts_strings_and_lists(as_parts: bool) -> None:
    long = "y" * 900
    content: Any = [{"type": "text", "text": long}] if as_parts else long
    messages = [question("q"), *tool_round({"c": ("look_up", {}, content)}), answer("a")]
    after = sent("compact_tool_results", messages)[2]
    text = CHAT.result_text(CHAT.views(after)[0])
    assert text.startswith("y" * 500 + "…")
    assert "400 characters left out" in text
    assert isinstance(after["content"], list) is as_parts
    shorter = sent("compact_tool_results", messages, compact_tool_results_max_chars=10)[2]
    assert CHAT.result_text(CHAT.views(shorter)[0]).startswith("y" * 10 + "…")
    assert sent("compact_tool_results", messages, compact_tool_results_max_chars=900)[2] is messages[2]


def test_c07_text_summary_sends_the_conversation_before_the_question_and_stores_the_bare_one() -> None:
    agent = scripted_agent(["one", "two", "three"], session_history_config={"mode": "text_summary"})
    session = agent.session()

    async def main() -> None:
        for text in ("first", "second", "third"):
            await session.run(text)

    asyncio.run(main())
    assert [message["content"] for message in session.messages] == ["first", "one", "second", "two", "third", "three"]
    [only] = agent.requests[2].messages
    context, bare = only["content"]
    assert bare == {"type": "text", "text": "third"}
    assert "User: first\n\nAssistant: one\n\nUser: second\n\nAssistant: two" in context["text"]
    assert agent.requests[0].messages == [{"role": "user", "content": "first"}]


@pytest.mark.parametrize("mode", ["messages_only", "no_tool_results", "no_reasoning", "compact_tool_results"])
def test_c08_a_filtering_mode_stores_every_turn_whole_and_once(mode: str) -> None:
    script: list[Any] = []
    for number in range(3):
        script += [[ToolUse("look_up", {"name": str(number)}, id=f"c{number}")], f"answer {number}"]
    agent = scripted_agent(script, tools=[look_up], session_history_config={"mode": mode})
    session = agent.session()

    async def main() -> None:
        for number in range(3):
            await session.run(f"question {number}")

    asyncio.run(main())
    assert [message["role"] for message in session.messages] == ["user", "assistant", "tool", "assistant"] * 3
    assert session.run_boundaries[-1] == {"run": 3, "start": 8, "end": 12}
    assert [m["content"] for m in session.messages if m["role"] == "user"] == [f"question {n}" for n in range(3)]


@pytest.mark.parametrize("mode", ["full", "no_tool_results", "compact_tool_results"])
def test_c12_append_only_modes_send_completed_turns_as_the_same_bytes(mode: str) -> None:
    script: list[Any] = []
    for number in range(3):
        script += [[ToolUse("look_up", {"name": str(number)}, id=f"c{number}")], f"answer {number}"]
    agent = scripted_agent(script, tools=[look_up], session_history_config={"mode": mode})
    session = agent.session()

    async def main() -> None:
        for number in range(3):
            await session.run(f"question {number}")

    asyncio.run(main())
    firsts = [agent.requests[index].messages for index in (0, 2, 4)]
    for earlier, later in itertools.pairwise(firsts):
        assert json.dumps(later[: len(earlier)]) == json.dumps(earlier)


def test_c13_reasoning_goes_for_good_when_the_turn_is_stored() -> None:
    turn = [question("q"), answer("a", reasoning="because")]
    for mode in ("no_reasoning", "messages_only"):
        assert stored(turn, HistoryConfig(mode=mode), CHAT) == [question("q"), answer("a")]
    for mode in ("full", "no_tool_results", "compact_tool_results", "text_summary"):
        assert stored(turn, HistoryConfig(mode=mode), CHAT) == turn


def test_c14_a_history_stored_under_another_mode_is_filtered_before_it_is_sent() -> None:
    agent = scripted_agent(["ok"], session_history_config={"mode": "messages_only"})
    full = scripted_agent([]).session()
    full.messages.extend(history())
    saved = full.to_dict()
    del saved["session_history_config"]
    session = AgentSession.from_dict(saved, agent=agent)
    asyncio.run(session.run("next"))
    assert all("tool_calls" not in message for message in agent.requests[0].messages)
    assert any("tool_calls" in message for message in session.messages)


def test_c01_the_session_comes_before_the_agent_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOC_TOOLKIT_SESSION_HISTORY_MODE", "no_reasoning")
    plain = scripted_agent([])
    own = scripted_agent([], session_history_config={"mode": "messages_only"})
    assert plain.session().to_dict()["session_history_config"]["mode"] == "no_reasoning"
    assert own.session().to_dict()["session_history_config"]["mode"] == "messages_only"
    session = own.session(session_history_config={"mode": "text_summary", "preserve_media": False})
    saved = session.to_dict()
    assert saved["session_history_config"] == {"mode": "text_summary", "preserve_media": False}
    monkeypatch.delenv("DOC_TOOLKIT_SESSION_HISTORY_MODE")
    restored = AgentSession.from_dict(saved, agent=plain)
    assert restored.to_dict()["session_history_config"] == saved["session_history_config"]
    assert plain.session().to_dict()["session_history_config"] == {"mode": "full", "preserve_media": True}


@pytest.mark.parametrize(
    "config",
    [
        {"mode": "everything"},
        {"modes": "full"},
        {"preserve_media": "no"},
        {"compact_tool_results_max_chars": -1},
        {"compact_tool_results_max_chars": True},
    ],
)
def test_c01_a_configuration_that_cannot_be_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="session_history_config"):
        scripted_agent([], session_history_config=config)
    with pytest.raises(ValueError, match="session_history_config"):
        scripted_agent([]).session(session_history_config=config)


def test_h01_an_envelope_has_exactly_the_keys_of_version_3() -> None:
    agent = scripted_agent(["a"], instructions="SECRET INSTRUCTIONS", tools=[look_up])
    session = agent.session()
    asyncio.run(session.run("q"))
    saved = session.to_dict()
    assert list(saved) == KEYS
    assert json.loads(session.to_json()) | {"saved_at": ""} == saved | {"saved_at": ""}
    assert "SECRET" not in session.to_json()
    assert "Look something up" not in session.to_json()
    assert (saved["schema_version"], saved["provider"], saved["model"]) == (3, "scripted", "scripted/demo")
    assert dt.datetime.fromisoformat(saved["saved_at"]).utcoffset() == dt.timedelta(0)
    assert saved["sdk"]["name"] == "openai"
    assert saved["sdk"]["version"]


def test_h04_an_envelope_is_a_detached_copy() -> None:
    session = scripted_agent(["a", "b"]).session()
    asyncio.run(session.run("q"))
    saved = session.to_dict()
    saved["messages"][0]["content"] = "changed"
    saved["metadata"]["run_boundaries"].append("changed")
    saved["metadata"]["run_count"] = 99
    asyncio.run(session.run("q2"))
    assert session.messages[0]["content"] == "q"
    assert session.metadata["run_count"] == 2
    assert len(session.run_boundaries) == 2
    assert len(saved["messages"]) == 2


def test_h05_a_leading_system_message_is_not_written_and_the_boundaries_move() -> None:
    session = scripted_agent(["a"]).session()
    asyncio.run(session.run("q"))
    session.messages.insert(0, {"role": "system", "content": "SECRET"})
    session.metadata["run_boundaries"] = [{"run": 1, "start": 1, "end": 3}]
    saved = session.to_dict()
    assert saved["messages"] == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    assert saved["metadata"]["run_boundaries"] == [{"run": 1, "start": 0, "end": 2}]
    assert "SECRET" not in session.to_json()


def test_serialization_round_trip_continues_the_conversation(tmp_path: Path) -> None:
    agent = scripted_agent(["Hello Alice.", "Alice."])
    session = agent.session(late_injection_policy="new_turn", max_follow_up_turns=3)
    asyncio.run(session.run("My name is Alice."))
    path = tmp_path / "deep" / "session.json"
    text = session.to_json(path)
    assert path.read_text("utf-8") == text
    assert path.stat().st_mode & 0o777 == 0o600
    for source in (text, text.encode(), str(path), path, "\n " + text, "\ufeff" + text):
        restored = AgentSession.from_json(source, agent=agent)
        assert restored.messages == session.messages
        assert restored.metadata == session.metadata
        assert restored.session_id == session.session_id
        assert (restored.late_injection_policy, restored.max_follow_up_turns) == ("new_turn", 3)
        assert restored.restored_from_schema_version == 3
        assert not restored.prefix_changed_on_resume
    asyncio.run(restored.run("Who am I?"))
    assert agent.requests[1].messages[0]["content"] == "My name is Alice."


def test_h13_a_save_during_a_running_turn_holds_the_completed_turns_only() -> None:
    session = scripted_agent(["a", ["b", "c"]]).session()

    async def main() -> None:
        await session.run("q")
        async for event in session.stream("q2"):
            if event.type == "text_delta":
                assert len(session.to_dict()["messages"]) == 2
                assert len(session.snapshot().messages) == 2
                assert len(session.fork().messages) == 2

    asyncio.run(main())
    assert len(session.messages) == 4


def test_values_that_a_host_put_into_the_history_are_saved_clean() -> None:
    session = scripted_agent([]).session()
    session.messages.append({"role": "user", "content": "a\ud800", "extra": [b"x", float("nan"), (1,)]})
    saved = json.loads(session.to_json())
    assert saved["messages"] == [{"role": "user", "content": "a\ufffd", "extra": ["eA==", None, [1]]}]
    assert session.to_dict()["messages"] == saved["messages"]
