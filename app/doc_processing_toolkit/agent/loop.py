"""The loop of one turn: question, request, tools, request …, answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent.asking import Limits, ask
from doc_processing_toolkit.agent.calling import DEFAULT_RESULT_CHARACTERS, run_calls
from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.agent.hooks import Hooks, RequestInfo, ResponseInfo, TurnBoundary, call_hook
from doc_processing_toolkit.agent.question import Question, build_question, check_fit
from doc_processing_toolkit.agent.schema import AnswerMismatchError, parse_answer, schema_of
from doc_processing_toolkit.agent.settings import AgentSettings
from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.core.events import (
    Complete,
    Event,
    Injected,
    ToolCall,
    ToolCallResult,
    TurnStart,
    Usage,
)
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.progress import WatchedWork
from doc_processing_toolkit.core.protocols import Message, TurnRequest
from doc_processing_toolkit.core.result import AgentResult, CostRecord
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import TextPart, ToolOutcome
from doc_processing_toolkit.media.intake import check_files
from doc_processing_toolkit.providers.base import Adapter, CallAsked, ModelCall, Reply, RequestFailedError


@dataclass(frozen=True, slots=True)
class Means:
    """What a turn works with: the model's row, the way to it, and the agent's settings and tools."""

    row: ModelRow
    speaker: Callable[[], Adapter]
    settings: AgentSettings
    sent: Mapping[str, Any]
    tools: Mapping[str, Tool]


class Turn:
    """One turn of an agent, with or without a session. Run it once, through :meth:`events`."""

    def __init__(self, means: Means, request: TurnRequest) -> None:
        self.handle = RunHandle()
        self.question: Message | None = None
        self.injected: list[Message] = []
        self._means = means
        self._request = request
        self._lens = lens_of(means.row.dialect)
        self._spending = Spending(means.row)
        self._started = time.monotonic()
        self._iterations = 0
        self._sent: list[Message] = []

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the turn; the last event is ``complete``. Raises what the turn raises."""
        self.handle.attach()
        attachments = await asyncio.to_thread(check_files, self._request.files) if self._request.files else []
        yield TurnStart(self._request.run)
        try:
            async with contextlib.aclosing(self._turn(attachments)) as events:
                async for event in events:
                    yield event
        finally:
            self.handle.is_finished = True

    def spent(self, error: str) -> AgentResult:
        """Return the account of a turn that did not complete, with ``error`` set."""
        return self._result(None, error=error)

    async def _turn(self, attachments: Sequence[Any]) -> AsyncGenerator[Event, None]:
        means, request = self._means, self._request
        limits = Limits(
            deadline=asyncio.get_running_loop().time() + means.settings.timeout,
            timeout_s=means.settings.timeout,
            max_retries=means.settings.max_retries,
            is_streamed=request.is_streamed,
        )
        work: WatchedWork[Question] = WatchedWork(
            lambda report: build_question(request, attachments, means.row, means.settings, report)
        )
        async with contextlib.aclosing(work.reports()) as reports:
            async for progress in reports:
                yield progress
        self.question = work.result.message
        self._sent = [*request.history, work.result.sent]
        check_fit(means.row, self._sent, means.settings.instructions)
        async with contextlib.aclosing(self._rounds(limits)) as events:
            async for event in events:
                yield event

    async def _rounds(self, limits: Limits) -> AsyncGenerator[Event, None]:
        for iteration in range(1, self._means.settings.max_iterations + 1):
            self._iterations = iteration
            for event in await self._safe_point(iteration):
                yield event
            reply: Reply | None = None
            try:
                async with contextlib.aclosing(self._request_once(iteration, limits)) as events:
                    async for item in events:
                        if isinstance(item, Reply):
                            reply = item
                        else:
                            yield item
            except RequestFailedError as error:
                yield Complete(self._result(None, error=str(error), error_code=error.code, status=error.status))
                return
            if reply is None:
                raise RuntimeError("a request ended without a reply")
            if not reply.calls:
                yield Complete(self._answer(reply))
                return
            async with contextlib.aclosing(self._run_tools(reply.calls)) as results:
                async for event in results:
                    yield event
        limit = self._means.settings.max_iterations
        yield Complete(
            self._result(None, error=f"no answer after {limit} requests (max_iterations)", keeps_transcript=True)
        )

    async def _safe_point(self, iteration: int) -> list[Event]:
        """Wait while paused, tell the hook, and put messages that came in behind what was said."""
        await self.handle.safe_point()
        if iteration > 1:
            await call_hook(self._hooks.turn_boundary, TurnBoundary(self._request.run, iteration - 1), self.handle)
        info = RequestInfo(self._request.run, iteration, self._means.row.id, len(self._sent))
        await call_hook(self._hooks.before_request, info, self.handle)
        texts = self.handle.take_undelivered()
        for text in texts:
            message = self._lens.user_message([TextPart(text)])
            self.injected.append(message)
            self._sent.append(message)
        return [Injected(text) for text in texts]

    async def _request_once(self, iteration: int, limits: Limits) -> AsyncGenerator[Event | Reply, None]:
        means = self._means
        call = ModelCall(
            row=means.row,
            messages=tuple(self._sent),
            instructions=means.settings.instructions,
            tools=tuple(tool.spec for tool in means.tools.values()) if means.row.takes_setting("tools") else (),
            settings=means.sent,
            schema=schema_of(self._request.output_schema),
            read_timeout_s=means.settings.timeout,
        )
        async with contextlib.aclosing(ask(means.speaker(), call, self.handle, self._spending, limits)) as events:
            async for event in events:
                if not isinstance(event, Reply):
                    yield event
                    continue
                self._sent.extend(event.messages)
                yield _usage(self._spending.records[-1], event)
                info = ResponseInfo(
                    self._request.run, iteration, event.served_model, event.text, event.stop_reason, event.usage
                )
                await call_hook(self._hooks.after_response, info, self.handle)
                yield event

    async def _run_tools(self, calls: Sequence[CallAsked]) -> AsyncGenerator[Event, None]:
        for call in calls:
            event = ToolCall(call.id, call.name, call.arguments)
            await call_hook(self._hooks.tool_call, event, self.handle)
            yield event
        setting = self._means.settings.max_tool_result_chars
        limit = DEFAULT_RESULT_CHARACTERS if setting is None else setting
        answers: dict[str, ToolCallResult] = {}
        async with contextlib.aclosing(run_calls(calls, self._means.tools, max_characters=limit)) as results:
            async for result in results:
                answers[result.id] = result
                await call_hook(self._hooks.tool_call_result, result, self.handle)
                yield result
        outcomes = [_outcome(answers[call.id]) for call in calls]
        self._sent.extend(self._lens.result_messages(outcomes))

    @property
    def _hooks(self) -> Hooks:
        return self._means.settings.hooks or Hooks()

    def _answer(self, reply: Reply) -> AgentResult:
        output: Any = reply.text
        if self._request.output_schema is not None:
            try:
                output = parse_answer(self._request.output_schema, reply.text)
            except AnswerMismatchError as error:
                return self._result(None, error=str(error), error_code="output_schema")
        result = self._result(output, keeps_transcript=True)
        result.stop_reason = reply.stop_reason
        return result

    def _result(
        self,
        output: Any,
        *,
        error: str | None = None,
        error_code: str | None = None,
        status: int | None = None,
        keeps_transcript: bool = False,
    ) -> AgentResult:
        result = AgentResult(
            output=output,
            messages=self._transcript() if keeps_transcript else [],
            model=self._means.row.id,
            provider=self._means.row.provider,
            error=error,
            error_code=error_code,
            error_status=status,
            iterations=self._iterations,
            duration_s=round(time.monotonic() - self._started, 6),
        )
        return self._spending.fill(result)

    def _transcript(self) -> list[Message]:
        """Return what was said, with the question as it is stored in the place of the one that was sent."""
        transcript = list(self._sent)
        if self.question is not None:
            transcript[len(self._request.history)] = self.question
        return transcript


def _usage(record: CostRecord, reply: Reply) -> Usage:
    return Usage(
        record.input_tokens,
        record.output_tokens,
        record.cached_input_tokens,
        record.cache_write_tokens,
        reply.usage.reasoning_tokens,
        record.cost,
    )


def _outcome(result: ToolCallResult) -> ToolOutcome:
    return ToolOutcome(result.id, result.name, str(result.content), result.is_error)
