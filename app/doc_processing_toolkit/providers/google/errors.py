"""What Google's failures mean: SDK and connection errors become one typed error with the next step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.providers.retry import is_retryable_status, retry_after

FILE_UNAVAILABLE = "file_unavailable"
_LONGEST_QUOTE = 400
_KEY = re.compile(r"AIza[0-9A-Za-z_-]{30,}|(?<=[?&]key=)[^&\s\"']+")
_RETRY_IN = re.compile(r"retry in (?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ms|s))?", re.IGNORECASE)
_SECONDS = re.compile(r"([\d.]+)s")
# Google's own words; for what is no JSON the SDK puts HTTP's words there.
_STATUS = re.compile(r"[A-Z][A-Z_]+")
_A_DAY = re.compile(r"PerDay", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Known:
    """A refusal that is told by its words: our code for it, what it means, and the next step."""

    words: re.Pattern[str]
    code: str
    means: str
    step: str


_KNOWN = (
    _Known(
        # W-G24: 403 after 48 hours, after its deletion or with another key; 400 while it is being processed.
        re.compile(r"access the File |The File \S+ is not in an ACTIVE state|File \S+ (not found|does not exist)"),
        FILE_UNAVAILABLE,
        "a file of this conversation is not at Google any more, or not yet",
        "attach it again",
    ),
    _Known(
        re.compile(r"input token count.{0,60}exceeds|exceeds the maximum number of tokens", re.IGNORECASE),
        "context_length_exceeded",
        "the conversation is too long for {label}",
        "attach less, or go back to an earlier turn",
    ),
    _Known(
        re.compile(r"thought.?signature", re.IGNORECASE),
        "thought_signature",
        "{label} does not take the thinking of this history",
        "go back to an earlier turn, or start a new conversation",
    ),
    _Known(
        re.compile(r"payload size exceeds|request entity too large", re.IGNORECASE),
        "request_too_large",
        "the request is too large for Google",
        "attach less, or go back to an earlier turn",
    ),
)
_NEXT_STEP: Mapping[int, str] = {
    401: "check api_key, or GEMINI_API_KEY where none is given",
    402: "check the billing of the key's project at https://aistudio.google.com",
    403: "the key may not do this; check its project, or use another key",
    404: "check the model's name, and base_url where one is given",
    413: "attach less, or go back to an earlier turn",
    429: "wait a little, then send again",
    500: "send again",
    503: "send again in a moment",
    504: "send again, and ask for less at once",
}
_BAD_KEY_STEP = (
    "check api_key, or GEMINI_API_KEY where none is given; keys are made at https://aistudio.google.com/apikey"
)


def failure_of(error: Exception, row: ModelRow, key: str) -> RequestFailedError:
    """Return the typed error for what the SDK, the HTTP client or the reading of the stream raised."""
    status, response = getattr(error, "code", None), getattr(error, "response", None)
    if response is not None and isinstance(status, int):
        body = _error_in(getattr(error, "details", None))
        return _refused(row, body, status, getattr(response, "headers", None) or {}, key)
    if any(kind.__name__ == "HTTPError" for kind in type(error).__mro__):
        return _connection_failure(error, row, key)
    return RequestFailedError(
        f"Google sent something that is no answer ({_quoted(str(error), key)}); check base_url, or send again",
        # A line that is no JSON was cut on its way; anything else would be the same again.
        is_retryable=isinstance(error, json.JSONDecodeError),
        provider=row.provider,
        code="unreadable_answer",
    )


def streamed_failure(said: Mapping[str, Any], row: ModelRow, key: str) -> RequestFailedError:
    """Return the typed error for an ``error`` inside a stream that had begun with status 200."""
    status = said.get("code")
    return _refused(row, said, status if isinstance(status, int) else 500, {}, key, breaks=True)


def unfinished(row: ModelRow) -> RequestFailedError:
    """Return the error for a stream that ended without a finish reason."""
    text = f"{row.label} ended the answer before it was complete; send the question again"
    return RequestFailedError(text, is_retryable=True, provider=row.provider, code="incomplete_stream")


def _refused(
    row: ModelRow, said: Mapping[str, Any], status: int, headers: Mapping[str, str], key: str, *, breaks: bool = False
) -> RequestFailedError:
    words = str(said.get("message") or f"status {status}, and no reason given")
    quote = _quoted(words, key)
    details = list(_details(said))
    known = next((known for known in _KNOWN if status < 500 and known.words.search(words)), None)
    if known is not None:
        text = f"{known.means.format(label=row.label)}: {quote}; {known.step}"
        return RequestFailedError(text, is_retryable=False, provider=row.provider, status=status, code=known.code)
    reason = next((str(each["reason"]) for each in details if each.get("reason")), None)
    word = str(said.get("status"))
    code = reason or (word if _STATUS.fullmatch(word) else f"http_{status}")
    wait = _asked_wait(words, details, headers)
    spent = status == 429 and any(_A_DAY.search(str(each)) for each in details)
    step = _step(status, code, wait, is_spent=spent)
    what = "broke the answer off" if breaks else "refused the request"
    return RequestFailedError(
        f"Google {what} ({status} {code}): {quote}" + (f"; {step}" if step else ""),
        is_retryable=not spent and is_retryable_status(status, headers, code),
        provider=row.provider,
        status=status,
        code=code,
        retry_after=wait,
    )


def _step(status: int, code: str, wait: float | None, *, is_spent: bool) -> str | None:
    if code == "API_KEY_INVALID":
        return _BAD_KEY_STEP
    if is_spent:
        return "the quota of this day is used up; use another key, or go on tomorrow"
    return f"it asks to wait {wait:g} s" if wait is not None else _NEXT_STEP.get(status)


def _connection_failure(error: Exception, row: ModelRow, key: str) -> RequestFailedError:
    reason = _quoted(f"{type(error).__name__}: {error}".rstrip(": "), key)
    name = type(error).__name__
    code, what, can_help = "connection", "cannot be reached, or broke the connection", True
    if "Timeout" in name:
        code, what = "timeout", "did not answer in time"
    elif "TooLarge" in name or "TooLong" in name:
        code, what, can_help = "response_too_large", "sent more than an answer can be", False
    text = f"Google {what} ({reason}); check the connection, then send again"
    return RequestFailedError(text, is_retryable=can_help, provider=row.provider, code=code)


def _error_in(details: Any) -> Mapping[str, Any]:
    """Return the error of a body: an object, a list of one, or (plain text, W-A47) what the SDK made of it."""
    if isinstance(details, list) and details:
        details = details[0]
    if not isinstance(details, Mapping):
        return {"message": details} if isinstance(details, str) else {}
    inner = details.get("error", details)
    return inner if isinstance(inner, Mapping) else {"message": str(inner)}


def _details(said: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    details = said.get("details")
    for each in details if isinstance(details, list) else ():
        if isinstance(each, Mapping):
            yield each


def _asked_wait(words: str, details: list[Mapping[str, Any]], headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait: Google says it in the body, a proxy in front of it in a header (W-G28)."""
    for each in details:
        delay = _SECONDS.fullmatch(str(each.get("retryDelay") or ""))
        if delay is not None:
            return float(delay[1])
    match = _RETRY_IN.search(words)
    if match is None or not any(match.groups()):
        return retry_after(headers)
    hours, minutes, number, unit = match.groups()
    seconds = float(number) * (0.001 if unit == "ms" else 1.0) if number else 0.0
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds


def _quoted(text: str, key: str) -> str:
    """Return the server's words, shortened and without a key."""
    if len(key) > 4:
        text = text.replace(key, "…")
    text = " ".join(_KEY.sub("…", text).split()).rstrip(".")
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"
