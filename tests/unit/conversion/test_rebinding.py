"""A live session that goes on with another provider: the next turn is answered, and the preview had said it all."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import Agent, AgentSession, SessionCompatibilityError
from support.strict import Call, answer, checked_server
from unit.conversion.spoken import DIALECTS, PROVIDERS, ROWS, Turn, conversations, written
from unit.toolkit.dialect_agents import agent_of

_NAMES = {"anthropic": "anthropic", "openai": "openai", "google": "google", "chat": "fireworks"}


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(DIALECTS, 2)))
def test_k07_k08_the_turn_after_a_rebind_is_answered_with_tools_on_both_sides(source: str, target: str) -> None:
    with checked_server() as server:
        server.script(
            answer("let me see", Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})),
            answer("3 and 7"),
            answer(Call("add", {"a": 3, "b": 7})),
            answer("10"),
        )
        old, new = agent_of(_NAMES[source], server), agent_of(_NAMES[target], server)
        session = old.session()
        asyncio.run(session.run("1 + 2 and 3 + 4?"))
        preview = session.preview_rebind(new)
        session.rebind(new)
        assert session.converted_from == PROVIDERS[source]
        assert session.run_boundaries == []
        assert session.metadata["boundaries_reset_at_run"] == 1
        assert _bare(session.conversion_report) == _bare(preview[:-1])
        assert preview[-1]["tool_rounds"] == 1
        assert asyncio.run(session.run("and both together?")).output == "10"
        restored = AgentSession.from_json(session.to_json(), agent=agent_of(_NAMES[source], server))
        assert restored.converted_from == PROVIDERS[target]
        assert len(restored.conversion_report) >= len(session.conversion_report)
        server.script(answer("yes"))
        assert asyncio.run(restored.run("sure?")).output == "yes"


@given(turns=conversations(), pair=st.permutations(DIALECTS), cut=st.integers(0, 6))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_preview_says_what_the_rebind_does_and_changes_nothing(
    turns: tuple[Turn, ...], pair: list[str], cut: int
) -> None:
    source, target = pair[:2]
    messages = written(turns, source)
    messages = messages[: len(messages) - cut] if cut < len(messages) else messages
    state = {"messages": messages, "provider": PROVIDERS[source], "schema_version": 3}
    old, new = Agent(ROWS[source], api_key="k"), Agent(ROWS[target], api_key="k")
    session = AgentSession.from_dict(state, agent=old)
    preview = session.preview_rebind(new)
    assert session.messages == messages
    assert session.conversion_report == session.dropped_parts == []
    if preview[0]["kind"] == "refused":
        with pytest.raises(SessionCompatibilityError) as caught:
            session.rebind(new)
        assert str(caught.value) == preview[0]["detail"]
        assert f"turn {preview[0]['turn']} " in preview[0]["detail"]
        assert session.messages == messages
        assert session.agent is old
        return
    session.rebind(new)
    said = [entry for entry in preview if entry["kind"] in ("dropped", "rekeyed")]
    assert _bare(said) == _bare(session.conversion_report)
    unsupported = [entry["index"] for entry in preview if entry["kind"] == "unsupported"]
    assert unsupported == [part["index"] for part in session.dropped_parts]
    assert preview[-1]["messages"] == len(session.messages)


def _bare(report: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in entry.items() if key != "at"} for entry in report]
