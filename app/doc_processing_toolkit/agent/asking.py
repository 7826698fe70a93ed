"""One request of a turn: sent, watched for abort and timeout, and sent again where that can help."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.core.errors import ProviderError, TurnTimeoutError
from doc_processing_toolkit.core.events import Progress, ReasoningDelta, Retry, TextDelta
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import Adapter, AdapterEvent, Meter, ModelCall, Reply, RequestFailedError
from doc_processing_toolkit.providers.retry import plan_retry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a turn may take (``deadline`` is loop time), and how often a request is sent again."""

    deadline: float
    timeout_s: float
    max_retries: int
    is_streamed: bool


async def ask(
    adapter: Adapter, call: ModelCall, handle: RunHandle, spending: Spending, limits: Limits
) -> AsyncGenerator[Progress | TextDelta | ReasoningDelta | Retry | Reply, None]:
    """Send a request and yield its events; the last is the :class:`Reply`, its usage banked.

    Raises :class:`RequestFailedError` when sending again is of no use or has been tried enough, and plain
    ``ProviderError`` when a stream broke after a delta was handed out: that cannot be repeated unseen.
    """
    attempt = 1
    while True:
        handle.check_abort()
        has_shown = False
        reply: Reply | None = None
        attempted = dataclasses.replace(call, meter=Meter())
        try:
            async with contextlib.aclosing(_guarded(adapter.stream(attempted), handle, limits)) as events:
                async for event in events:
                    has_shown = has_shown or isinstance(event, TextDelta | ReasoningDelta)
                    if isinstance(event, Reply):
                        reply = event
                        break
                    yield event
            if reply is None:
                raise RequestFailedError("the answer ended before it was complete", is_retryable=True)
        except RequestFailedError as error:
            _bank_broken(attempted.meter, spending, attempt)
            if limits.is_streamed and has_shown:
                raise _broken(error) from error
            plan = plan_retry(attempt, limits.max_retries, error.retry_after) if error.is_retryable else None
            if plan is None:
                raise
            failure = error
        except BaseException:
            _bank_broken(attempted.meter, spending, attempt)
            raise
        else:
            spending.bank(reply.usage, reply.served_model, is_retry=attempt > 1)
            yield reply
            return
        attempt += 1
        spending.retry_count += 1
        log.info("request to %s failed (%s); attempt %d in %.1f s", call.row.id, failure.code, attempt, plan.delay_s)
        yield Retry(attempt, plan.delay_s, str(failure))
        await _guarded_sleep(plan.delay_s, handle, limits)


async def _guarded(
    events: AsyncGenerator[AdapterEvent, None], handle: RunHandle, limits: Limits
) -> AsyncGenerator[AdapterEvent, None]:
    """Yield the events; an abort and the turn's deadline end the wait for the next one."""
    async with contextlib.aclosing(events):
        while True:
            async with _deadline(handle, limits):
                event = await anext(events, None)
            if event is None:
                return
            yield event


async def _guarded_sleep(seconds: float, handle: RunHandle, limits: Limits) -> None:
    async with _deadline(handle, limits):
        await asyncio.sleep(seconds)


@contextlib.asynccontextmanager
async def _deadline(handle: RunHandle, limits: Limits) -> AsyncGenerator[None, None]:
    handle.check_abort()
    try:
        async with asyncio.timeout_at(limits.deadline) as wait:
            handle.guard(wait)
            yield
    except TimeoutError as error:
        if not wait.expired():
            raise
        handle.check_abort()
        raise TurnTimeoutError(
            f"the turn took longer than {limits.timeout_s:g} s; ask for less, or give the agent a longer timeout"
        ) from error
    finally:
        handle.guard(None)


def _bank_broken(meter: Meter, spending: Spending, attempt: int) -> None:
    """Bank what a request that did not reach its end is known to have used."""
    if meter.usage != TokenUsage():
        spending.bank(meter.usage, meter.served_model, is_retry=attempt > 1)


def _broken(error: RequestFailedError) -> ProviderError:
    return ProviderError(str(error), provider=error.provider, status=error.status, code=error.code)
