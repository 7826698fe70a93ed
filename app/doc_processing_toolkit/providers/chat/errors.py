"""What the chat wire's failures mean: SDK and connection errors become one typed error with a plain sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.providers.chat.endpoint import Connection
from doc_processing_toolkit.providers.retry import is_retryable_status, retry_after

_LONGEST_QUOTE = 400
_TOO_LONG_CODES = frozenset({"exceed_context_size_error", "context_length_exceeded"})
_TOO_LONG_TEXT = re.compile(r"maximum context length|context (size|length|window)|prompt is too long", re.IGNORECASE)
_RETRYABLE_TYPES = frozenset({"overloaded_error", "server_error", "rate_limit_error", "rate_limit_exceeded"})


def failure_of(error: Exception, row: ModelRow, connection: Connection) -> RequestFailedError:
    """Return the typed error for what the SDK or the HTTP client raised."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is not None and isinstance(status, int):
        return _status_failure(error, row, connection, status, response.headers)
    if hasattr(error, "body") and getattr(error, "body", None) is not None:
        return _streamed_failure(error, row, connection)
    return _connection_failure(error, row, connection)


def unfinished(row: ModelRow, connection: Connection) -> RequestFailedError:
    """Return the error for a stream that ended without its terminal event."""
    message = f"{_server(row, connection)} ended the answer before it was complete; send the question again"
    return RequestFailedError(message, is_retryable=True, provider=row.provider, code="incomplete_stream")


def _status_failure(
    error: Exception, row: ModelRow, connection: Connection, status: int, headers: Mapping[str, str]
) -> RequestFailedError:
    body = _error_body(getattr(error, "body", None))
    code = _code(body)
    if _is_too_long(status, code, body):
        return _too_long(row, body, status, code)
    said = _said(error, body, connection)
    match status:
        case 401 | 403:
            text = f"{_server(row, connection)} refused the key ({status}): {said}; check api_key"
        case 404:
            text = (
                f"{_server(row, connection)} does not know {row.model!r} or has no chat endpoint there (404): {said}; "
                "check the model's name, and that base_url is the one that ends in '/v1' where the server has one"
            )
        case _:
            text = f"{_server(row, connection)} answered with an error ({status}): {said}"
    return RequestFailedError(
        text,
        is_retryable=is_retryable_status(status, headers, code),
        provider=row.provider,
        status=status,
        code=code or f"http_{status}",
        retry_after=retry_after(headers),
    )


def _streamed_failure(error: Exception, row: ModelRow, connection: Connection) -> RequestFailedError:
    """An ``error`` chunk inside a stream that had begun with status 200 (W-F15)."""
    body = _error_body(getattr(error, "body", None))
    code = _code(body)
    status = body.get("code") if isinstance(body.get("code"), int) else None
    if _is_too_long(400, code, body):
        return _too_long(row, body, status, code)
    retryable = bool({str(body.get("type")), str(code)} & _RETRYABLE_TYPES)
    if status is not None:
        retryable = is_retryable_status(status, {}, code)
    text = f"{_server(row, connection)} broke off with an error: {_said(error, body, connection)}"
    return RequestFailedError(text, is_retryable=retryable, provider=row.provider, status=status, code=code)


def _connection_failure(error: Exception, row: ModelRow, connection: Connection) -> RequestFailedError:
    cause = error.__cause__ or error
    reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
    names = f"{type(cause).__name__} {type(error).__name__}"
    if "TooLarge" in names:
        what, code = "sent more than an answer can be", "response_too_large"
    elif "Timeout" in names:
        what, code = "did not answer in time", "timeout"
    elif isinstance(error, ValueError):
        what, code = "sent something that is not JSON", "garbage"
    elif "ConnectError" in names:
        what, code = "cannot be reached", "connection"
    else:
        what, code = "broke the connection", "connection"
    text = f"{_server(row, connection)} {what} ({_quoted(reason, connection)}); check that it runs, then send again"
    return RequestFailedError(text, is_retryable=code != "response_too_large", provider=row.provider, code=code)


def _is_too_long(status: int, code: str | None, body: Mapping[str, Any]) -> bool:
    return code in _TOO_LONG_CODES or (status in (400, 413) and bool(_TOO_LONG_TEXT.search(str(body.get("message")))))


def _too_long(row: ModelRow, body: Mapping[str, Any], status: int | None, code: str | None) -> RequestFailedError:
    needed, window = body.get("n_prompt_tokens"), body.get("n_ctx")
    if isinstance(needed, int) and isinstance(window, int):
        numbers = f"it takes {needed:,} tokens and the window holds {window:,}"
    else:
        numbers = str(body.get("message"))[:_LONGEST_QUOTE]
    text = f"the conversation is too long for {row.label}: {numbers}; attach less, or go back to an earlier turn"
    return RequestFailedError(
        text, is_retryable=False, provider=row.provider, status=status, code=code or "context_length_exceeded"
    )


def _server(row: ModelRow, connection: Connection) -> str:
    return row.label if row.provider == "local" else f"the server at {connection.base_url}"


def _error_body(body: Any) -> dict[str, Any]:
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict):
            return inner
        return {"message": inner} if isinstance(inner, str) else body
    return {"message": body} if isinstance(body, str) else {}


def _code(body: Mapping[str, Any]) -> str | None:
    for name in ("code", "type"):
        if isinstance(body.get(name), str) and body[name]:
            return str(body[name])
    return None


def _said(error: Exception, body: Mapping[str, Any], connection: Connection) -> str:
    message = body.get("message")
    return _quoted(message if isinstance(message, str) and message.strip() else str(error), connection)


def _quoted(text: str, connection: Connection) -> str:
    """Return the server's words, shortened and without the key."""
    if len(connection.api_key) > 4:
        text = text.replace(connection.api_key, "…")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"
