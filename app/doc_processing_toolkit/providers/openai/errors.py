"""What the failures of a Responses request mean: one typed error with the server's words and the next step."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.providers.openai.address import Address
from doc_processing_toolkit.providers.retry import is_retryable_status, retry_after

REASONING_REFUSED = frozenset({"invalid_encrypted_content", "reasoning_refused"})
_LONGEST_QUOTE = 400
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "string_above_max_length_input"})
_RETRYABLE_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "server_is_overloaded", "slow_down", "overloaded_error", "timeout"}
)
# W-O1, W-O2, W-O3, W-O5: the history holds reasoning that this server cannot read, or items that lost theirs.
_ABOUT_REASONING = re.compile(
    r"was provided without its required|encrypted content for item|Item with id '[a-z]+_[^']*' not found"
)
# A single request above the minute's limit stays above it (W-O28).
_NEVER_FITS = re.compile(r"^Request too large", re.IGNORECASE)
_WAIT = re.compile(r"try again in (?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ms|s))?", re.IGNORECASE)
_NEXT_STEP: Mapping[str, str] = {
    "insufficient_quota": "add credit to the account, or use another key",
    "invalid_api_key": "check the key in OPENAI_API_KEY or api_key",
    "model_not_found": "check the model's name, and that the key's project may use it",
    "invalid_prompt": "say it differently",
    "invalid_json_schema": "change output_schema",
    "invalid_function_parameters": "change the schema of that tool",
    "invalid_image_format": "attach the image as PNG, JPEG, GIF or WebP",
}
_STATUS_STEP: Mapping[int, str] = {
    401: "check the key in OPENAI_API_KEY or api_key",
    403: "check what the key's project may use",
    404: "check the model's name, and base_url where one is given",
    413: "attach less",
    429: "wait a little, then send again",
}


def failure_of(error: Exception, row: ModelRow, address: Address) -> RequestFailedError:
    """Return the typed error for what the SDK, the HTTP client or the reading of the stream raised."""
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    body = getattr(error, "body", None)
    if response is not None and isinstance(status, int):
        return _status_failure(error, row, address, status, response.headers)
    if body is not None:
        return streamed_failure(_inner(body), row, address)
    if _is_about_connection(error):
        return _connection_failure(error, row, address)
    return RequestFailedError(
        f"{_server(address)} sent what cannot be read: {_quoted(str(error), address)}; send the question again",
        # A line that is no JSON was cut on its way; anything else would be the same again.
        is_retryable=isinstance(error, json.JSONDecodeError),
        provider=row.provider,
        code="unreadable_answer",
    )


def streamed_failure(said: Mapping[str, Any], row: ModelRow, address: Address) -> RequestFailedError:
    """Return the typed error for an answer that failed inside a stream that had begun with status 200 (W-O29)."""
    code, words = _code(said), _words(said, "no reason was given", address)
    if code in _TOO_LONG_CODES:
        return _too_long(row, words, None, code)
    step = _NEXT_STEP.get(code or "", "send the question again")
    return RequestFailedError(
        f"{_server(address)} broke off with an error: {words}; {step}",
        is_retryable=code in _RETRYABLE_CODES,
        provider=row.provider,
        code=code,
        retry_after=_asked_wait(words),
    )


def unfinished(row: ModelRow, address: Address) -> RequestFailedError:
    """Return the error for a stream that ended without its terminal event."""
    message = f"{_server(address)} ended the answer before it was complete; send the question again"
    return RequestFailedError(message, is_retryable=True, provider=row.provider, code="incomplete_stream")


def _status_failure(
    error: Exception, row: ModelRow, address: Address, status: int, headers: Mapping[str, str]
) -> RequestFailedError:
    said = _inner(getattr(error, "body", None))
    code, words = _code(said), _words(said, str(error), address)
    if code in _TOO_LONG_CODES:
        return _too_long(row, words, status, code)
    never_fits = status == 429 and _NEVER_FITS.match(words) is not None
    if code is None and status in (400, 404) and _ABOUT_REASONING.search(words):
        code = "reasoning_refused"
    step = "attach less" if never_fits else _NEXT_STEP.get(code or "") or _STATUS_STEP.get(status)
    return RequestFailedError(
        f"{_server(address)} answered with an error ({status}): {words}" + (f"; {step}" if step else ""),
        is_retryable=not never_fits and is_retryable_status(status, headers, code),
        provider=row.provider,
        status=status,
        code=code or f"http_{status}",
        retry_after=_first(retry_after(headers), _asked_wait(words) if status == 429 else None),
    )


def _connection_failure(error: Exception, row: ModelRow, address: Address) -> RequestFailedError:
    cause = error.__cause__ or error
    if type(cause).__name__ == "ResponseTooLargeError":
        return _too_large(cause, row, address)
    reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
    timed_out = "Timeout" in type(cause).__name__ or "Timeout" in type(error).__name__
    what = "did not answer in time" if timed_out else "cannot be reached, or broke the connection"
    return RequestFailedError(
        f"{_server(address)} {what} ({_quoted(reason, address)}); check the connection, then send again",
        is_retryable=True,
        provider=row.provider,
        code="timeout" if timed_out else "connection",
    )


def _too_large(cause: BaseException, row: ModelRow, address: Address) -> RequestFailedError:
    return RequestFailedError(
        f"{_server(address)} sent more than an answer can be: {_quoted(str(cause), address)}",
        is_retryable=False,
        provider=row.provider,
        code="response_too_large",
    )


def _too_long(row: ModelRow, words: str, status: int | None, code: str | None) -> RequestFailedError:
    return RequestFailedError(
        f"the conversation is too long for {row.label}: {words}; attach less, or go back to an earlier turn",
        is_retryable=False,
        provider=row.provider,
        status=status,
        code=code,
    )


def _is_about_connection(error: Exception) -> bool:
    """Whether an error came from the connection: the SDK's own, or one of the HTTP client's."""
    return any(kind.__name__ in ("APIConnectionError", "HTTPError") for kind in type(error).__mro__)


def _server(address: Address) -> str:
    return f"the server at {address.base_url}"


def _inner(body: Any) -> Mapping[str, Any]:
    """Return the error object of a body; a body that is plain text is its message."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, Mapping):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    return {"message": body} if isinstance(body, str) else {}


def _code(said: Mapping[str, Any]) -> str | None:
    """Return the code; its type says more only where there is no code and it is no general word."""
    if isinstance(said.get("code"), str) and said["code"]:
        return str(said["code"])
    kind = said.get("type")
    return kind if isinstance(kind, str) and kind not in ("", "error", "invalid_request_error") else None


def _words(said: Mapping[str, Any], otherwise: str, address: Address) -> str:
    message = said.get("message")
    return _quoted(message if isinstance(message, str) and message.strip() else otherwise, address)


def _quoted(text: str, address: Address) -> str:
    """Return the server's words, shortened and without the key."""
    if len(address.api_key) > 4:
        text = text.replace(address.api_key, "…")
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"


def _asked_wait(words: str) -> float | None:
    """Return the seconds that the words ask to wait: "Please try again in 1m2.5s"."""
    match = _WAIT.search(words)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, number, unit = match.groups()
    seconds = float(number) * (0.001 if unit == "ms" else 1.0) if number else 0.0
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
