"""Every code block of the toolkit's documents runs as it stands, against servers that refuse what real ones refuse."""

from __future__ import annotations

import asyncio
import io
import json
import wave
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession
from support.examples import Example, all_examples
from support.recorded import spec_dir
from support.strict import Call, StrictServer, Thinking, answer, checked_server
from unit.documents.pdf_making import pdf_of

Names = dict[str, Any]
_ADDRESSES = {
    "ANTHROPIC_BASE_URL": "anthropic",
    "OPENAI_BASE_URL": "openai",
    "GOOGLE_GEMINI_BASE_URL": "google",
    "FIREWORKS_BASE_URL": "fireworks",
}
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "FIREWORKS_API_KEY")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class MemoryObjects:
    """An object store's client that keeps its objects in memory, as the sketch calls it."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, ContentType: str) -> None:  # noqa: N803
        assert ContentType
        self.objects[Bucket, Key] = bytes(Body)

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        return {"Body": io.BytesIO(self.objects[Bucket, Key])}


@pytest.fixture(scope="module")
def examples() -> Mapping[str, Example]:
    return all_examples(spec_dir())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictServer]:
    """The providers, reached through the environment; the working folder holds the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contract.pdf").write_bytes(pdf_of("Clause 4: the tenant pays."))
    with wave.open(str(tmp_path / "call.wav"), "wb") as call:
        call.setnchannels(1)
        call.setsampwidth(2)
        call.setframerate(8_000)
        call.writeframes(b"\0\0" * 800)
    with checked_server() as strict:
        for variable, wire in _ADDRESSES.items():
            monkeypatch.setenv(variable, strict.url(wire))
        for variable in _KEYS:
            monkeypatch.setenv(variable, "k")
        strict.always(answer("It says so."))
        yield strict


async def a_session(model: str = "claude-haiku-4-5", turns: int = 3, **settings: Any) -> Names:
    """Return the names that a document has at hand: an agent, and a session with some turns."""
    agent = Agent(model, tools=[add], **settings)
    session = agent.session()
    for number in range(turns):
        await session.run(f"question {number}")
    return {"agent": agent, "session": session, "AgentSession": AgentSession, "Agent": Agent}


async def save_a_conversation(path: str) -> list[dict[str, Any]]:
    """Save an Anthropic session of plain turns, and return its messages."""
    session = Agent("claude-haiku-4-5").session()
    await session.run("1 + 2?")
    session.to_json(path)
    return session.get_history()


async def basic(example: Example, server: StrictServer) -> None:
    server.script(answer("Hello Alice."), answer("Alice"), answer("pizza"))
    names = await example.run({})
    assert (names["r1"].output, names["r2"].output) == ("Alice", "pizza")
    assert names["session"].metadata["run_count"] == 3
    assert names["session"].closed
    assert server.requests[2]["messages"][:2][0]["content"] == "My name is Alice and I love pizza."


async def history_configuration(example: Example, server: StrictServer) -> None:
    server.script(answer(Thinking("hm"), Call("add", {"a": 1, "b": 2})), answer(Thinking("so"), "3"), answer("that"))
    names = await example.run({"Agent": Agent, "items": [add]})
    assert "thinking" not in str(server.requests[-1]["messages"])
    assert names["session"].metadata["run_count"] == 2


async def compaction(example: Example, server: StrictServer) -> None:
    tasks = [f"task {number}: " + "read this with care " * 4_000 for number in range(12)]
    names = await example.run({"Agent": Agent, "items": [add], "task_list": tasks})
    session = names["session"]
    assert session.metadata["compaction_count"] >= 1
    assert "left out to save room" in str(session.messages[0])
    assert len(session.messages) < 24
    assert str(session.messages).count(tasks[-1]) == 1


async def persistence(example: Example, server: StrictServer) -> None:
    names = await example.run(await a_session())
    assert names["result"].output == "It says so."
    assert names["restored"].metadata["run_count"] == 4
    assert json.loads(Path("session_state.json").read_text("utf-8"))["messages"] == names["session"].messages


async def configured(example: Example, server: StrictServer) -> None:
    names = await example.run({"Agent": Agent})
    session = names["agent"].session()
    assert session.to_dict()["session_history_config"] == {"mode": "no_reasoning", "preserve_media": True}


async def cuts(example: Example, server: StrictServer) -> None:
    names = await example.run(await a_session(turns=3))
    assert len(names["session"].run_boundaries) == 2
    assert len(names["session"].messages) == 4


async def late_messages(example: Example, server: StrictServer) -> None:
    names = await example.run({"agent": Agent("claude-haiku-4-5")})
    assert names["session"].late_injection_policy == "new_turn"
    assert names["session"].max_follow_up_turns == 2


async def envelope(example: Example, server: StrictServer) -> None:
    names = await example.run(await a_session())
    shown = [line.split('"')[1] for line in example.text.splitlines() if line.startswith('#     "')]
    assert list(names["data"]) == shown
    assert names["data"]["schema_version"] == 3


async def restored(example: Example, server: StrictServer) -> None:
    names = await a_session()
    names = await example.run({**names, "data": names["session"].to_dict()})
    assert names["result"].output == "It says so."
    assert names["restored"].messages[:6] == names["session"].messages


async def changed_prefix(example: Example, server: StrictServer) -> None:
    names = await a_session()
    data = names["session"].to_dict()
    names = await example.run({**names, "data": data, "agent": Agent("claude-haiku-4-5", instructions="Other.")})
    assert set(names["report"]["changed"]) == {"system", "tools"}


async def converted(example: Example, server: StrictServer) -> None:
    messages = await save_a_conversation("checkpoints/review.json")
    names = await example.run({"Agent": Agent, "AgentSession": AgentSession})
    assert names["restored"].messages == messages
    # Plain turns are the same everywhere, so nothing was converted.
    assert names["restored"].converted_from is None
    assert names["restored"].conversion_report == []
    assert (await names["restored"].run("And now?")).error is None


async def checkpoint(example: Example, server: StrictServer) -> None:
    names = await example.run({})
    assert names["result"].output == "It says so."
    assert names["session"].metadata["run_count"] == 2
    assert json.loads(Path("checkpoints/contract-review.json").read_text("utf-8"))["metadata"]["run_count"] == 1


async def without_a_store(example: Example, server: StrictServer) -> None:
    names = await example.run({})
    assert names["restored"].messages == names["session"].messages
    assert (await names["restored"].run("And?")).error is None


async def with_a_store(example: Example, server: StrictServer) -> None:
    names = await example.run({"other_agent": Agent("claude-haiku-4-5")})
    assert names["restored"].messages == names["session"].messages
    assert names["restored"].media_report == []
    assert len(list(Path("checkpoints/media").iterdir())) == 1
    assert "$media:" in Path("checkpoints/contract.json").read_text("utf-8")


async def object_store(example: Example, server: StrictServer) -> None:
    client = MemoryObjects()
    names = await example.run({"Agent": Agent, "boto3": SimpleNamespace(client=lambda kind: client)})
    session = names["agent"].session()
    assert (await session.run("Summarise clause 4.", files=["contract.pdf"])).error is None
    text = session.to_json()
    assert list(client.objects.values()) == [Path("contract.pdf").read_bytes()]
    again = AgentSession.from_json(text, agent=names["agent"])
    assert again.messages == session.messages
    assert again.media_report == []


async def another_provider(example: Example, server: StrictServer) -> None:
    messages = await save_a_conversation("saved.json")
    names = await example.run({"path": "saved.json"})
    assert names["session"].messages == messages
    assert (await names["session"].run("And now?")).error is None
    saved = json.loads(Path("saved.json").read_text("utf-8"))
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    saved["messages"].append({"role": "assistant", "content": [call]})
    Path("open.json").write_text(json.dumps(saved), "utf-8")
    # A tool round that is still open cannot go to another provider: the example says so instead of raising.
    assert "session" not in await example.run({"path": "open.json"})


SCENARIOS: Mapping[str, Callable[[Example, StrictServer], Any]] = {
    "000-1": basic,
    "000-2": history_configuration,
    "000-3": compaction,
    "000-4": persistence,
    "001-1": configured,
    "001-2": cuts,
    "001-3": late_messages,
    "001-4": envelope,
    "001-5": restored,
    "001-6": changed_prefix,
    "001-7": converted,
    "002-1": checkpoint,
    "002-2": without_a_store,
    "002-3": with_a_store,
    "002-4": object_store,
    "002-5": another_provider,
}


def test_every_code_block_of_the_documents_is_known(examples: Mapping[str, Example]) -> None:
    assert sorted(examples) == sorted(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_code_block_of_the_documents_runs_and_does_what_it_says(
    name: str, examples: Mapping[str, Example], server: StrictServer
) -> None:
    asyncio.run(SCENARIOS[name](examples[name], server))
