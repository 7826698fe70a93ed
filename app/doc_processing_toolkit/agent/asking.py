"""One request of a turn: sent, watched for abort and timeout, and sent again where that can help."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.agent.watch import Watch
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress, ReasoningDelta, Retry, TextDelta
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.providers.base import Adapter, Meter, ModelCall, Reply, RequestFailedError
from doc_processing_toolkit.providers.retry import LONGEST_RETRY_AFTER_S, RetryPlan, plan_retry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How often a request is sent again, and whether its deltas are handed out as they come."""

    max_retries: int
    is_streamed: bool


async def ask(
    adapter: Adapter, call: ModelCall, watch: Watch, spending: Spending, limits: Limits
) -> AsyncGenerator[Progress | TextDelta | ReasoningDelta | Retry | Reply, None]:
    """Send a request and yield its events; the last is the :class:`Reply`, its usage banked.

    Raises :class:`RequestFailedError` when sending again is of no use or has been tried enough, and plain
    ``ProviderError`` when a stream broke after a delta was handed out: that cannot be repeated unseen.

    Of the billed attempts of one request one is its regular cost and the others are its retries': those that failed,
    or the one that succeeded where the failed ones took nothing.
    """
    attempt, was_billed = 1, False
    while True:
        watch.check()
        has_shown = False
        reply: Reply | None = None
        attempted = dataclasses.replace(call, meter=Meter())
        try:
            async with contextlib.aclosing(adapter.stream(attempted)) as events:
                while (event := await watch.wait_for(anext(events, None))) is not None:
                    if isinstance(event, Reply):
                        reply = event
                        break
                    has_shown = has_shown or type(event) is not Progress
                    yield event
                    watch.check()
            if reply is None:
                raise RequestFailedError("the answer ended before it was complete", is_retryable=True)
        except RequestFailedError as error:
            can_help = error.is_retryable and not (limits.is_streamed and has_shown)
            plan = _plan(error, attempt, limits) if can_help else None
            was_billed |= _bank_broken(attempted.meter, spending, is_retry=attempt > 1 or plan is not None)
            if limits.is_streamed and has_shown:
                raise _broken(error) from error
            if plan is None:
                raise _final(error) from error.__cause__
            failure = error
        except BaseException:
            _bank_broken(attempted.meter, spending, is_retry=attempt > 1)
            raise
        else:
            spending.bank(reply.usage, reply.served_model, is_retry=attempt > 1 and not was_billed)
            yield reply
            return
        attempt += 1
        spending.retry_count += 1
        log.info("request to %s failed (%s); attempt %d in %.1f s", call.row.id, failure.code, attempt, plan.delay_s)
        yield Retry(attempt, plan.delay_s, str(failure))
        watch.check()
        await watch.wait_for(asyncio.sleep(plan.delay_s))


def _plan(error: RequestFailedError, attempt: int, limits: Limits) -> RetryPlan | None:
    return RetryPlan(0.0) if error.is_mended else plan_retry(attempt, limits.max_retries, error.retry_after)


def _bank_broken(meter: Meter, spending: Spending, *, is_retry: bool) -> bool:
    """Bank what a request that did not reach its end is known to have used, and return whether it was anything."""
    if meter.usage == TokenUsage():
        return False
    spending.bank(meter.usage, meter.served_model, is_retry=is_retry)
    return True


def _final(error: RequestFailedError) -> RequestFailedError:
    """Return the failure that ends the turn; one that asks for a longer wait than is waited for names the time."""
    wait = error.retry_after
    if not error.is_retryable or wait is None or wait <= LONGEST_RETRY_AFTER_S:
        return error
    return RequestFailedError(
        f"{error}; it asks to wait {wait:,.0f} s, which is longer than the {LONGEST_RETRY_AFTER_S:g} s that are "
        "waited here; send the question again then",
        is_retryable=True,
        provider=error.provider,
        status=error.status,
        code=error.code,
        retry_after=wait,
    )


def _broken(error: RequestFailedError) -> ProviderError:
    return ProviderError(str(error), provider=error.provider, status=error.status, code=error.code)
