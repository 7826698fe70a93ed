"""Tools, hooks and the run handle: every call answered, every safe point used."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, Literal

import pytest

from doc_processing_toolkit import Hooks, Tool, ToolError, TurnAbortedError, events
from doc_processing_toolkit.agent.truncation import Truncation
from doc_processing_toolkit.testing import Pause, ToolUse, scripted_agent


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def run_with(tools: list[Any], *uses: ToolUse, **settings: Any) -> list[Any]:
    """Run one round of calls and return the contents of the tool messages."""
    agent = scripted_agent([list(uses), "done"], tools=tools, **settings)
    asyncio.run(agent.run("q"))
    return [message["content"] for message in agent.requests[1].messages if message["role"] == "tool"]


def test_a04_calls_of_one_round_run_side_by_side_and_are_answered_in_order() -> None:
    async def slow(name: str) -> str:
        await asyncio.sleep(0.05 if name == "first" else 0)
        return name

    started = time.monotonic()
    agent = scripted_agent(
        [[ToolUse("slow", {"name": name}, id=name) for name in ("first", "second", "third")], "done"], tools=[slow]
    )
    session = agent.session()
    asyncio.run(session.run("q"))
    assert time.monotonic() - started < 1
    assert [(m["tool_call_id"], m["content"]) for m in session.messages if m["role"] == "tool"] == [
        ("first", "first"),
        ("second", "second"),
        ("third", "third"),
    ]


def test_a04_sync_tools_run_off_the_event_loop() -> None:
    def where() -> str:
        return threading.current_thread().name

    assert run_with([where], ToolUse("where")) != [threading.current_thread().name]


@pytest.mark.parametrize("is_async", [False, True])
def test_a04_a_tool_that_raises_is_an_error_result_and_no_crash(is_async: bool) -> None:
    def sync_broken() -> None:
        raise ValueError("wrong number")

    async def async_broken() -> None:
        raise ValueError("wrong number")

    function = async_broken if is_async else sync_broken
    assert run_with([function], ToolUse(function.__name__)) == ["Error: ValueError: wrong number"]


def test_a04_unknown_tools_wrong_arguments_and_slow_tools_are_answered_too() -> None:
    async def sleeps() -> None:
        await asyncio.sleep(30)

    tools = [add, Tool("sleeps", "Sleep", {}, sleeps, timeout=0.02)]
    unknown, wrong, slow = run_with(tools, ToolUse("subtract", {}), ToolUse("add", {"c": 1}), ToolUse("sleeps", {}))
    assert "no tool called 'subtract'" in unknown
    assert "add, sleeps" in unknown
    assert wrong.startswith("Error: TypeError")
    assert "did not finish within 0.02 s" in slow


@pytest.mark.parametrize("error", [StopIteration("end"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_a04_whatever_a_sync_tool_raises_is_an_answer(error: BaseException) -> None:
    def broken() -> None:
        raise error

    [content] = run_with([broken], ToolUse("broken"))
    assert type(error).__name__ in content


def test_a04_an_async_tool_that_was_cancelled_by_itself_is_an_answer() -> None:
    async def broken() -> None:
        raise asyncio.CancelledError("its own")

    assert run_with([broken], ToolUse("broken")) == ["Error: CancelledError: its own"]


def test_a04_sync_tools_that_never_end_hold_nothing_up() -> None:
    """Neither each other, nor the turn, nor the end of the event loop."""
    forever = threading.Event()
    try:
        tool = Tool("hangs", "Hang", {}, lambda: forever.wait(30), timeout=0.2)
        started = time.monotonic()
        contents = run_with([tool], *(ToolUse("hangs", id=str(number)) for number in range(40)))
        assert time.monotonic() - started < 10
        assert contents == ["Error: hangs did not finish within 0.2 s"] * 40
    finally:
        forever.set()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, ""),
        (3, "3"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (b"abc", '"YWJj"'),
        ("a\ud800", "a\ufffd"),
        (["ä"], '["ä"]'),
    ],
)
def test_a_tools_value_becomes_text(value: Any, text: str) -> None:
    def give() -> Any:
        return value

    assert run_with([give], ToolUse("give")) == [text]


def test_a05_long_results_are_cut_with_a_note_and_zero_never_cuts() -> None:
    def long() -> str:
        return "x" * 150_000

    [by_default] = run_with([long], ToolUse("long"))
    assert by_default.startswith("x" * 100_000 + "\n[cut: 100,000 of 150,000 characters]")
    assert run_with([long], ToolUse("long"), max_tool_result_chars=0) == ["x" * 150_000]
    [short] = run_with([long], ToolUse("long"), max_tool_result_chars=10)
    assert short.startswith("x" * 10 + "\n[cut")
    assert Truncation(5).cut("exact") == "exact"


def test_the_schema_comes_from_annotations_and_docstring() -> None:
    def look(name: str, limit: int = 3, kind: Literal["a", "b"] = "a", tags: list[str] | None = None) -> str:
        """Look it up."""
        return name

    tool = Tool.from_function(look)
    assert (tool.name, tool.description) == ("look", "Look it up.")
    properties = tool.parameters["properties"]
    assert properties["name"]["type"] == "string"
    assert properties["kind"]["enum"] == ["a", "b"]
    assert tool.parameters["required"] == ["name"]


def takes_anything(*args: Any) -> None: ...


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tool("bad name", "", {}, add),
        lambda: Tool("", "", {}, add),
        lambda: Tool("x" * 65, "", {}, add),
        lambda: Tool("x", "", {"type": "string"}, add),
        lambda: Tool("x", "", {}, "not a function"),  # type: ignore[arg-type]
        lambda: scripted_agent([], tools=[add, add]),
        lambda: scripted_agent([], tools=[5]),
        lambda: scripted_agent([], tools=add),
        lambda: scripted_agent([], tools=[takes_anything]),
        lambda: scripted_agent([], tools=[lambda: 1]),
    ],
)
def test_tools_that_cannot_be_used_are_refused_when_the_agent_is_made(make: Any) -> None:
    with pytest.raises(ToolError):
        make()


def test_tools_for_a_row_that_takes_none_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    agent = scripted_agent(["a", "b"], tools=[add], row={"settings": frozenset()})
    asyncio.run(agent.run("q"))
    asyncio.run(agent.run("q"))
    assert agent.requests[0].tools == []
    assert sum("left out" in record.message and "tools" in record.message for record in caplog.records) >= 1


def test_max_iterations_ends_in_an_error_with_the_transcript_that_is_stored() -> None:
    agent = scripted_agent([[ToolUse("add", {"a": 1})]] * 2 + ["ok"], tools=[add], max_iterations=2)
    session = agent.session()
    result = asyncio.run(session.run("q"))
    assert "max_iterations" in str(result.error)
    assert result.output is None
    assert [message["role"] for message in session.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert session.interrupted_turn is None
    assert session.metadata["run_count"] == 1
    assert asyncio.run(session.run("go on")).output == "ok"


def test_a06_hooks_see_everything_as_it_happens() -> None:
    seen: list[Any] = []

    async def note_async(what: Any, handle: Any) -> None:
        seen.append(type(what).__name__)

    hooks = Hooks(
        before_request=lambda what, handle: seen.append(("request", what.iteration, what.message_count)),
        after_response=lambda what, handle: seen.append(("response", what.stop_reason)),
        tool_call=lambda what, handle: seen.append(("call", what.name, what.arguments)),
        tool_call_result=lambda what, handle: seen.append(("result", what.content, what.is_error)),
        turn_boundary=note_async,
    )
    agent = scripted_agent([[ToolUse("add", {"a": 1})], "3"], tools=[add], hooks=hooks)
    asyncio.run(agent.run("q"))
    assert seen == [
        ("request", 1, 1),
        ("response", "tool_use"),
        ("call", "add", {"a": 1}),
        ("result", "3", False),
        "TurnBoundary",
        ("request", 2, 3),
        ("response", "end_turn"),
    ]


def test_a06_a_hook_can_inject_and_the_model_hears_it_before_the_next_request() -> None:
    hooks = Hooks(tool_call_result=lambda what, handle: handle.inject("be brief"))
    agent = scripted_agent([[ToolUse("add", {"a": 1}, id="c")], "3"], tools=[add], hooks=hooks)
    session = agent.session()

    async def main() -> list[Any]:
        return [event async for event in session.stream("q")]

    seen = asyncio.run(main())
    assert events.Injected("be brief") in seen
    assert agent.requests[1].messages[-1] == {"role": "user", "content": "be brief"}
    assert [message["content"] for message in session.messages] == ["q", "be brief", "3"]


@pytest.mark.parametrize("name", ["before_request", "after_response", "tool_call", "tool_call_result", "turn_boundary"])
def test_a06_every_hook_can_abort(name: str) -> None:
    hooks = Hooks(**{name: lambda what, handle: handle.abort("not allowed")})  # type: ignore[arg-type]
    session = scripted_agent([[ToolUse("add", {"a": 1})], "3"], tools=[add], hooks=hooks).session()
    with pytest.raises(TurnAbortedError, match="not allowed"):
        asyncio.run(session.run("q"))
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "TurnAbortedError"
    assert session.messages == []


def test_a_hook_that_raises_fails_the_turn_with_its_error() -> None:
    def broken(what: Any, handle: Any) -> None:
        raise LookupError("the hook's own")

    session = scripted_agent(["a"], hooks=Hooks(before_request=broken)).session()
    with pytest.raises(LookupError, match="the hook's own"):
        asyncio.run(session.run("q"))
    assert session.interrupted_turn is not None
    assert session.interrupted_turn["error_type"] == "LookupError"


def test_a06_pause_holds_the_loop_at_the_next_safe_point_until_resume() -> None:
    agent = scripted_agent([[ToolUse("add", {"a": 1})], "3"], tools=[add])

    async def main() -> None:
        seen: list[str] = []
        stream = agent.stream("q")
        async for event in stream:
            seen.append(event.type)
            if event.type == "tool_call_result":
                assert agent.run_handle is not None
                agent.run_handle.pause()
                paused_at = time.monotonic()
                threading.Timer(0.05, agent.run_handle.resume).start()
        assert time.monotonic() - paused_at >= 0.05
        assert seen[-1] == "complete"

    asyncio.run(main())


def test_a06_abort_from_another_thread_ends_a_request_that_waits() -> None:
    agent = scripted_agent([[Pause(30)]])

    async def main() -> float:
        task = asyncio.ensure_future(agent.run("q"))
        await asyncio.sleep(0.02)
        assert agent.run_handle is not None
        threading.Thread(target=agent.run_handle.abort, args=("stop",)).start()
        started = time.monotonic()
        with pytest.raises(TurnAbortedError, match="stop"):
            await task
        return time.monotonic() - started

    assert asyncio.run(main()) < 0.5
    assert agent.script.open_streams == 0


def test_an_ended_turns_handle_refuses_messages_so_that_none_is_lost() -> None:
    agent = scripted_agent(["a"])
    asyncio.run(agent.run("q"))
    assert agent.run_handle is not None
    with pytest.raises(RuntimeError, match="has ended"):
        agent.run_handle.inject("too late")
    with pytest.raises(ValueError, match="not empty"):
        agent.session().inject(" ")


def test_cancelling_a_turn_cancels_its_tools() -> None:
    cancelled = threading.Event()

    async def waits() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    agent = scripted_agent([[ToolUse("waits")]], tools=[waits])

    async def main() -> None:
        task = asyncio.ensure_future(agent.run("q"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.is_set()
