"""The loop of one turn: question, request, tools, request …, answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.agent import prices
from doc_processing_toolkit.agent.asking import Limits, ask
from doc_processing_toolkit.agent.calling import run_calls
from doc_processing_toolkit.agent.choosing import settings_for
from doc_processing_toolkit.agent.compacting import Compacting, Compactor
from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.agent.hooks import Hooks, RequestInfo, ResponseInfo, TurnBoundary, call_hook
from doc_processing_toolkit.agent.placing import Placing
from doc_processing_toolkit.agent.question import Question, build_question, check_fit
from doc_processing_toolkit.agent.repair import Repair
from doc_processing_toolkit.agent.reports import Reports
from doc_processing_toolkit.agent.schema import AnswerMismatchError, parse_answer, schema_of
from doc_processing_toolkit.agent.settings import AgentSettings
from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.agent.surface import Surface, surface_of
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.agent.truncation import truncation_of
from doc_processing_toolkit.agent.watch import Watch
from doc_processing_toolkit.core.events import (
    Complete,
    Event,
    Injected,
    ToolCall,
    TurnStart,
    Usage,
)
from doc_processing_toolkit.core.kept_results import KeptResults
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.progress import WatchedWork
from doc_processing_toolkit.core.protocols import Compacted, Message, TurnRequest
from doc_processing_toolkit.core.result import AgentResult, CostRecord
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import TextPart
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
    compacting: Compacting | None = None


class Turn:
    """One turn of an agent, with or without a session. Run it once, through :meth:`events`."""

    def __init__(self, means: Means, request: TurnRequest) -> None:
        self.handle = RunHandle()
        self.question: Message | None = None
        self.injected: list[Message] = []
        self.container_id = request.container_id
        self._means = means
        self._request = request
        self._lens = lens_of(means.row.dialect)
        self._spending = Spending(means.row)
        self._started = time.monotonic()
        self._iterations = 0
        self._sent: list[Message] = []
        self._kept = request.kept_results or KeptResults()
        self._surface = Surface({})
        self._repair = Repair(self._lens)
        self._reports = Reports()
        self._placing = Placing(self._lens)
        self._compactor = Compactor(means.compacting, request, means.row, means.settings.instructions, self._spending)
        self._said = ""

    @property
    def tool_surface(self) -> tuple[Tool, ...]:
        """The tools that the requests carry, for a session to freeze."""
        return self._surface.frozen

    @property
    def tool_drift(self) -> dict[str, Any] | None:
        """How the agent's own tools have moved away from the frozen ones."""
        return self._surface.drift

    @property
    def placed(self) -> list[tuple[Message, Message]]:
        """Messages of the history, each with the one to be stored instead."""
        return self._placing.history

    @property
    def compacted(self) -> Compacted | None:
        """What compactions made of the history before the question."""
        return self._compactor.compacted

    @property
    def estimate_gap(self) -> int:
        """By how many tokens the latest request was larger than estimated."""
        return self._compactor.gap

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the turn; the last event is ``complete``. Raises what the turn raises."""
        self.handle.attach()
        attachments = await asyncio.to_thread(check_files, self._request.files) if self._request.files else []
        yield TurnStart(self._request.run)
        watch = Watch(self.handle, self._means.settings.timeout)
        try:
            async with contextlib.aclosing(self._ask_question(attachments)) as reports:
                async for progress in reports:
                    yield progress
            async with contextlib.aclosing(self._rounds(watch)) as events:
                async for event in events:
                    yield event
        finally:
            watch.end()
            self.handle.is_finished = True

    def spent(self, error: str) -> AgentResult:
        """Return the account of a turn that did not complete, with ``error`` set."""
        return self._result(None, error=error)

    async def _ask_question(self, attachments: Sequence[Any]) -> AsyncGenerator[Event, None]:
        """Get ready for the first request: the question, the tools, the prices."""
        means, request = self._means, self._request
        self._surface = surface_of(means.row, means.settings, means.tools, request.frozen_tools, self._kept)
        work: WatchedWork[Question] = WatchedWork(
            lambda report: build_question(request, attachments, means.row, means.settings, report)
        )
        async with contextlib.aclosing(work.reports()) as reports:
            async for progress in reports:
                yield progress
        self.question = work.result.message
        self._sent = [*request.history, work.result.sent]
        if prices.are_needed(means.row):
            await prices.load_prices()

    async def _rounds(self, watch: Watch) -> AsyncGenerator[Event, None]:
        for iteration in range(1, self._means.settings.max_iterations + 1):
            self._iterations = iteration
            for event in [*await self._safe_point(iteration), *await self._make_room(watch)]:
                yield event
            if iteration == 1:
                check_fit(self._means.row, self._sent, self._means.settings.instructions)
            reply: Reply | None = None
            try:
                async with contextlib.aclosing(self._request_once(iteration, watch)) as events:
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
            if reply.calls:
                async with contextlib.aclosing(self._run_tools(reply.calls, watch)) as results:
                    async for event in results:
                        yield event
            elif reply.stop_reason == "pause_turn":
                self._said += reply.text
            else:
                complete = self._answer(reply)
                if complete is not None:
                    yield complete
                    return
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

    async def _make_room(self, watch: Watch) -> list[Usage]:
        """Compact the conversation where it has grown too long, and return what summaries took."""
        if self._repair.was_tried:
            return []
        before = len(self._spending.records)
        self._sent = await self._compactor.fit(self._sent, self.injected, watch)
        return [_usage(record, 0) for record in self._spending.records[before:]]

    def _call(self, iteration: int) -> ModelCall:
        means = self._means
        return ModelCall(
            row=means.row,
            messages=tuple(self._sent),
            instructions=means.settings.instructions,
            tools=tuple(tool.spec for tool in self._surface.tools.values()),
            settings=settings_for(means.sent, iteration),
            schema=schema_of(self._request.output_schema),
            read_timeout_s=means.settings.timeout,
            container=self.container_id,
            is_continued=self._request.is_continued,
        )

    async def _request_once(self, iteration: int, watch: Watch) -> AsyncGenerator[Event | Reply, None]:
        means = self._means
        limits = Limits(means.settings.max_retries, is_streamed=self._request.is_streamed)
        asking = ask(means.speaker(), self._call(iteration), watch, self._spending, limits)
        async with contextlib.aclosing(asking) as events:
            async for event in events:
                if not isinstance(event, Reply):
                    yield event
                    continue
                self._compactor.note_usage(self._sent, event.usage.input_tokens)
                self._note(event)
                yield _usage(self._spending.records[-1], event.usage.reasoning_tokens)
                info = ResponseInfo(
                    self._request.run, iteration, event.served_model, event.text, event.stop_reason, event.usage
                )
                await call_hook(self._hooks.after_response, info, self.handle)
                yield event

    def _note(self, reply: Reply) -> None:
        """Take an answer into the conversation, and what the provider has done with the media in it."""
        question = self._placing.take(self._sent, reply.placed, self._compactor.start)
        if question is not None:
            self.question = self._placing.without_context(question, has_context=self._compactor.has_context)
        self._sent.extend(reply.messages)
        self.container_id = reply.container_id or self.container_id
        self._reports.take(reply)

    async def _run_tools(self, calls: Sequence[CallAsked], watch: Watch) -> AsyncGenerator[Event, None]:
        for call in calls:
            event = ToolCall(call.id, call.name, call.arguments)
            await call_hook(self._hooks.tool_call, event, self.handle)
            yield event
        means, answers = self._means, {}
        truncation = truncation_of(means.settings, self._kept)
        running = run_calls(calls, self._surface.tools, row=means.row, truncation=truncation)
        async with contextlib.aclosing(running) as results:
            watch.check()
            while (answer := await watch.wait_for(anext(results, None))) is not None:
                answers[answer.position] = answer.outcome
                await call_hook(self._hooks.tool_call_result, answer.event, self.handle)
                yield answer.event
                watch.check()
        self._sent.extend(self._lens.result_messages([outcome for _, outcome in sorted(answers.items())]))

    @property
    def _hooks(self) -> Hooks:
        return self._means.settings.hooks or Hooks()

    def _answer(self, reply: Reply) -> Complete | None:
        """Return the turn's end, ``None`` when the model is asked once more for an answer of the form asked for."""
        output: Any = self._said + reply.text
        if self._request.output_schema is not None:
            try:
                output = parse_answer(self._request.output_schema, output)
            except AnswerMismatchError as error:
                if self._repair.was_tried or reply.stop_reason == "refusal":
                    return Complete(self._result(None, error=str(error), error_code="output_schema"))
                self._said = ""
                self._repair.ask(self._sent, reply, str(error))
                return None
            self._sent = self._repair.mended(self._sent, reply)
        result = self._result(output, keeps_transcript=True)
        result.stop_reason = reply.stop_reason
        return Complete(result)

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
        return self._reports.fill(self._spending.fill(result))

    def _transcript(self) -> list[Message]:
        """Return what was said, with the question as it is stored in the place of the one that was sent."""
        transcript = list(self._sent)
        if self.question is not None:
            transcript[self._compactor.start] = self.question
        return transcript


def _usage(record: CostRecord, reasoning_tokens: int) -> Usage:
    return Usage(
        record.input_tokens,
        record.output_tokens,
        record.cached_input_tokens,
        record.cache_write_tokens,
        reasoning_tokens,
        record.cost,
    )
