"""Hooks: what a host is told while a turn runs, each time with the handle that can inject or abort."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.core.events import ToolCall, ToolCallResult
from doc_processing_toolkit.core.usage import TokenUsage


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A request that is about to leave; ``iteration`` counts from 1, ``message_count`` is what it carries."""

    run: int
    iteration: int
    model: str
    message_count: int


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """An answer that arrived whole: its text, why it stopped, what it took."""

    run: int
    iteration: int
    model: str
    text: str
    stop_reason: str
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class TurnBoundary:
    """The safe point between two requests of a turn, ``iteration`` being the one that has ended."""

    run: int
    iteration: int


Hook = Callable[[Any, RunHandle], Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that are called as ``hook(what, handle)``; each may be sync or async, and a raise fails the turn.

    ``before_request`` gets :class:`RequestInfo`, ``after_response`` :class:`ResponseInfo`, ``tool_call`` and
    ``tool_call_result`` the events of those names, ``turn_boundary`` :class:`TurnBoundary`.
    """

    before_request: Hook | None = None
    after_response: Hook | None = None
    tool_call: Hook | None = None
    tool_call_result: Hook | None = None
    turn_boundary: Hook | None = None

    def names(self) -> list[str]:
        """Return the names of the hooks that are set."""
        return [field.name for field in fields(self) if getattr(self, field.name) is not None]


HookPayload = RequestInfo | ResponseInfo | TurnBoundary | ToolCall | ToolCallResult


async def call_hook(hook: Hook | None, payload: HookPayload, handle: RunHandle) -> None:
    """Call a hook if there is one, and raise what it raises, or the abort that it asked for."""
    if hook is None:
        return
    answer = hook(payload, handle)
    if inspect.isawaitable(answer):
        await answer
    handle.check_abort()
