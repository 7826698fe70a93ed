"""Running the tool calls of one round: side by side, every call answered, an error being an answer too."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent.outcome import Content, content_of, shown
from doc_processing_toolkit.agent.signature import ArgumentError
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.agent.truncation import READ_ON, Truncation
from doc_processing_toolkit.core.events import ToolCallResult
from doc_processing_toolkit.core.jsonclean import clean_text
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.threads import in_own_thread
from doc_processing_toolkit.dialects.view import TextPart, ToolOutcome
from doc_processing_toolkit.providers.base import CallAsked


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that was answered: what the host is told of it, and what the model gets."""

    position: int
    event: ToolCallResult
    outcome: ToolOutcome


async def run_calls(
    calls: Sequence[CallAsked], tools: Mapping[str, Tool], *, row: ModelRow, truncation: Truncation
) -> AsyncGenerator[Answered, None]:
    """Run the calls side by side and yield each answer as it comes; closing this cancels what still runs."""
    running = {
        asyncio.ensure_future(_answer(position, call, tools, row, truncation)) for position, call in enumerate(calls)
    }
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


async def _answer(
    position: int, call: CallAsked, tools: Mapping[str, Tool], row: ModelRow, truncation: Truncation
) -> Answered:
    started = time.monotonic()
    content, is_error = await _content(call, tools, row)
    # A slice is as long as the setting for slices says.
    if call.name != READ_ON:
        content = _cut(content, truncation)
    duration = round(time.monotonic() - started, 6)
    event = ToolCallResult(call.id, call.name, shown(content), is_error, duration)
    return Answered(position, event, ToolOutcome(call.id, call.name, content, is_error))


async def _content(call: CallAsked, tools: Mapping[str, Tool], row: ModelRow) -> tuple[Content, bool]:
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return f"Error: there is no tool called {call.name!r}; the tools are: {known}", True
    if call.problem:
        return f"Error: the arguments of {call.name!r} {call.problem}; send a JSON object", True
    try:
        async with asyncio.timeout(tool.timeout) as limit:
            content = await _call(tool, call.arguments, row)
        return content, False
    except ArgumentError as error:
        return clean_text(f"Error: {error}"), True
    except TimeoutError as error:
        if limit.expired():
            return f"Error: {tool.name} did not finish within {tool.timeout:g} s", True
        return _error(error), True
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Raised by the tool itself, about something of its own.
        return _error(error), True
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer to the model (A04)
        return _error(error), True


async def _call(tool: Tool, given: dict[str, Any], row: ModelRow) -> Content:
    """Return what the tool's value means; a sync tool, and the reading of a large value, run off the event loop."""
    arguments = tool.arguments(given)
    if inspect.iscoroutinefunction(tool.function):
        value = await tool.function(**arguments)
    else:
        value = await in_own_thread(lambda: tool.function(**arguments), name=f"tool {tool.name}")
        if inspect.isawaitable(value):
            value = await value
    if isinstance(value, Exception):
        raise value
    if value is None or isinstance(value, str):
        return content_of(value, row)
    return await in_own_thread(lambda: content_of(value, row), name=f"result of {tool.name}")


def _error(error: BaseException) -> str:
    return clean_text(f"Error: {type(error).__name__}: {error}".rstrip(": "))


def _cut(content: Content, truncation: Truncation) -> Content:
    if isinstance(content, str):
        return truncation.cut(content)
    return tuple(TextPart(truncation.cut(part.text)) if isinstance(part, TextPart) else part for part in content)
