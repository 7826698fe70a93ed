"""What Anthropic's failures mean: SDK and connection errors become one typed error with the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.providers.retry import is_retryable_status, retry_after

BOUND_ELSEWHERE = "thinking_bound_elsewhere"
_LONGEST_QUOTE = 400
_KEY = re.compile(r"sk-ant-[A-Za-z0-9_-]+")
_BOUND = re.compile(r"bound to a different conversation", re.IGNORECASE)
_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(maximum )?context|too many total text bytes", re.IGNORECASE
)
_RETRYABLE_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_NEXT_STEP: Mapping[int, str] = {
    401: "check api_key, or ANTHROPIC_API_KEY where none is given",
    402: "add credit at https://platform.claude.com/settings/billing",
    403: "the key may not use this model; choose another model or another key",
    404: "check the model's name, and base_url where one is given",
    413: "attach less, or go back to an earlier turn",
    429: "wait a little, then send again",
    500: "send again",
    503: "send again in a moment",
    504: "send again, and ask for less at once",
    529: "send again in a moment",
}


def missing_key(row: ModelRow) -> ProviderError:
    """Return the error for a request without a key."""
    return ProviderError(
        f"{row.label} needs an API key: set ANTHROPIC_API_KEY, or give api_key; "
        "keys are made at https://platform.claude.com/settings/keys",
        provider=row.provider,
        code="missing_key",
    )


def failure_of(error: Exception, row: ModelRow, key: str) -> RequestFailedError:
    """Return the typed error for what the SDK or the HTTP client raised."""
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    if not isinstance(status, int) or response is None:
        return _connection_failure(error, row, key)
    body = _error_body(getattr(error, "body", None))
    if status < 400:
        return _streamed_failure(body, row, key)
    code = _code(body) or f"http_{status}"
    said = _quoted(str(body.get("message") or error), key)
    if _BOUND.search(said):
        return bound_elsewhere(row, said)
    if status in (400, 413) and _TOO_LONG.search(said):
        text = f"the conversation is too long for {row.label}: {said}; attach less, or go back to an earlier turn"
        return RequestFailedError(
            text, is_retryable=False, provider=row.provider, status=status, code="context_length_exceeded"
        )
    wait = retry_after(response.headers)
    step = _NEXT_STEP.get(status) if wait is None else f"it asks to wait {wait:g} s"
    return RequestFailedError(
        f"Anthropic refused the request ({status} {code}): {said}" + (f"; {step}" if step else ""),
        is_retryable=is_retryable_status(status, response.headers, code),
        provider=row.provider,
        status=status,
        code=code,
        retry_after=wait,
    )


def bound_elsewhere(row: ModelRow, said: str) -> RequestFailedError:
    """Return the error for thinking that belongs to another conversation (W-A29)."""
    return RequestFailedError(
        f"{row.label} cannot read thinking of this history, because what stood before it has changed: {said}; "
        'anthropic_block_binding="drop_block" or prefix_strip_fallback=True leaves such thinking out',
        is_retryable=False,
        provider=row.provider,
        status=400,
        code=BOUND_ELSEWHERE,
    )


def bound_place(error: ProviderError) -> tuple[int, int] | None:
    """Return message and block that a refusal of bound thinking names, ``None`` where it names none."""
    found = _PLACE.search(str(error))
    return (int(found[1]), int(found[2])) if found else None


def unfinished(row: ModelRow) -> RequestFailedError:
    """Return the error for a stream that ended without its terminal event."""
    text = f"{row.label} ended the answer before it was complete; send the question again"
    return RequestFailedError(text, is_retryable=True, provider=row.provider, code="incomplete_stream")


def refusal(row: ModelRow, details: Mapping[str, Any]) -> RequestFailedError:
    """Return the error for an answer that was declined before a word of it was said."""
    reasons = [str(details[name]) for name in ("category", "explanation") if details.get(name)]
    text = f"{row.label} declined to answer ({': '.join(reasons) or 'no reason given'}); ask in another way"
    return RequestFailedError(text, is_retryable=False, provider=row.provider, code="refusal")


def too_large(row: ModelRow, size: int, most: int) -> RequestFailedError:
    """Return the error for a request that is larger than the server takes (W-A37); it has not been sent."""
    text = f"the request has {size / 2**20:.1f} MiB and {row.label} takes {most >> 20} MiB; {_NEXT_STEP[413]}"
    return RequestFailedError(text, is_retryable=False, provider=row.provider, code="request_too_large")


def _streamed_failure(body: Mapping[str, Any], row: ModelRow, key: str) -> RequestFailedError:
    """An ``error`` event inside a stream that had begun with status 200 (W-A48): its type says what it is."""
    code = _code(body) or "stream_error"
    said = _quoted(str(body.get("message") or "no reason given"), key)
    return RequestFailedError(
        f"Anthropic broke the answer off ({code}): {said}; send the question again",
        is_retryable=code in _RETRYABLE_TYPES,
        provider=row.provider,
        code=code,
    )


def _connection_failure(error: Exception, row: ModelRow, key: str) -> RequestFailedError:
    cause = error.__cause__ or error
    reason = _quoted(f"{type(cause).__name__}: {cause}".rstrip(": "), key)
    names = f"{type(cause).__name__} {type(error).__name__}"
    code, what, can_help = "connection", "cannot be reached, or broke the connection", True
    if "Timeout" in names:
        code, what = "timeout", "did not answer in time"
    elif "TooLarge" in names or "TooLong" in names:
        code, what, can_help = "response_too_large", "sent more than an answer can be", False
    elif isinstance(error, ValueError):
        code, what = "invalid_stream", "sent something that is no answer"
    text = f"Anthropic {what} ({reason}); check the connection, then send again"
    return RequestFailedError(text, is_retryable=can_help, provider=row.provider, code=code)


def _error_body(body: Any) -> Mapping[str, Any]:
    """Return the error of a body; what is no JSON is the message itself (W-A47)."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        return inner if isinstance(inner, Mapping) else body
    return {"message": body} if isinstance(body, str) else {}


def _code(body: Mapping[str, Any]) -> str | None:
    details = body.get("details")
    named = details.get("error_code") if isinstance(details, Mapping) else None
    for code in (named, body.get("type")):
        if isinstance(code, str) and code:
            return code
    return None


def _quoted(text: str, key: str) -> str:
    """Return the server's words, shortened and without a key."""
    if len(key) > 4:
        text = text.replace(key, "…")
    text = " ".join(_KEY.sub("…", text).split())
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"
