"""When a failed request is sent again, and after how long; the SDKs' own retries are off."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
FIRST_DELAY_S = 0.5
LONGEST_BACKOFF_S = 8.0
LONGEST_RETRY_AFTER_S = 60.0
_FINAL_CODES = frozenset({"insufficient_quota", "enforced_spend_limit_reached", "exceed_context_size_error"})


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """How long to wait before the next attempt, in seconds."""

    delay_s: float


def is_retryable_status(status: int, headers: Mapping[str, str], code: str | None) -> bool:
    """Whether an error answer can be mended by sending the same request again.

    The server's own ``x-should-retry`` decides where it is given (W-A45, W-A46); waiting brings no spent quota back.
    """
    said = headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return said == "true"
    return code not in _FINAL_CODES and (status in RETRYABLE_STATUS or (status >= 500 and status != 501))


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that the server asks to wait; ``retry-after`` may be a number or a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * scale)
        except ValueError:
            return _seconds_until(value, now or datetime.now(UTC))
    return None


def plan_retry(attempt: int, max_retries: int, asked_delay_s: float | None) -> RetryPlan | None:
    """Return the wait before the attempt after ``attempt`` (from 1), ``None`` when there should be none.

    A server that asks for more than ``LONGEST_RETRY_AFTER_S`` is not waited for: the caller hears of it instead.
    """
    if attempt > max_retries:
        return None
    if asked_delay_s is not None:
        return RetryPlan(asked_delay_s) if asked_delay_s <= LONGEST_RETRY_AFTER_S else None
    backoff = min(LONGEST_BACKOFF_S, FIRST_DELAY_S * 2 ** (attempt - 1))
    return RetryPlan(backoff * random.uniform(0.75, 1.0))


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
