"""Running the tool calls of one round: side by side, every call answered, an error being an answer too."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.core.events import ToolCallResult
from doc_processing_toolkit.core.jsonclean import UncleanValueError, clean, clean_text
from doc_processing_toolkit.providers.base import CallAsked

DEFAULT_RESULT_CHARACTERS = 100_000


async def run_calls(
    calls: Sequence[CallAsked], tools: Mapping[str, Tool], *, max_characters: int
) -> AsyncGenerator[ToolCallResult, None]:
    """Run the calls side by side and yield each result as it comes; closing this cancels what still runs.

    ``max_characters`` bounds a result's text, 0 never cuts.
    """
    running = {asyncio.ensure_future(_answer(call, tools, max_characters)) for call in calls}
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)


def cut(text: str, max_characters: int) -> str:
    """Return the text, cut with a note when it is longer than ``max_characters`` (0 never cuts)."""
    if not max_characters or len(text) <= max_characters:
        return text
    return f"{text[:max_characters]}\n[cut: {max_characters:,} of {len(text):,} characters]"


async def _answer(call: CallAsked, tools: Mapping[str, Tool], max_characters: int) -> ToolCallResult:
    started = time.monotonic()
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        content, is_error = f"Error: there is no tool called {call.name!r}; the tools are: {known}", True
    elif call.problem:
        content, is_error = f"Error: the arguments of {call.name!r} {call.problem}; send a JSON object", True
    else:
        content, is_error = await _outcome(tool, call.arguments)
    return ToolCallResult(
        call.id, call.name, cut(content, max_characters), is_error, round(time.monotonic() - started, 6)
    )


async def _outcome(tool: Tool, arguments: dict[str, Any]) -> tuple[str, bool]:
    try:
        async with asyncio.timeout(tool.timeout) as limit:
            value = await _call(tool, arguments)
        return _text(value), False
    except TimeoutError as error:
        if limit.expired():
            return f"Error: {tool.name} did not finish within {tool.timeout:g} s", True
        return f"Error: {type(error).__name__}: {error}", True
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer to the model (A04)
        return clean_text(f"Error: {type(error).__name__}: {error}"), True


async def _call(tool: Tool, arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(tool.function):
        return await tool.function(**arguments)
    context = contextvars.copy_context()
    value = await asyncio.to_thread(context.run, lambda: tool.function(**arguments))
    return await value if inspect.isawaitable(value) else value


def _text(value: Any) -> str:
    """Return a tool's value as the text that the model gets: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None:
        return ""
    try:
        return json.dumps(clean(value), ensure_ascii=False)
    except UncleanValueError:
        return clean_text(str(value))
