"""Refusals of OpenAI's server: what each becomes, whether it is tried again, and what the user can do."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from doc_processing_toolkit import Agent
from doc_processing_toolkit.providers.base import RequestFailedError
from doc_processing_toolkit.registry import find
from support.strict import Fail, StrictServer, checked_server
from unit.providers.openai.asking import MODEL, adapter_for, ask, call_of


def failure(*replies: Fail, key: str = "sk-secret-key", **more: Any) -> RequestFailedError:
    with checked_server() as server:
        server.script(*replies)
        with pytest.raises(RequestFailedError) as caught:
            ask(server, call_of(**more), adapter=adapter_for(server, key=key))
    return caught.value


@pytest.mark.parametrize(
    ("fail", "code", "retryable", "step"),
    [
        (Fail(401, code="invalid_api_key"), "invalid_api_key", False, "check the key in OPENAI_API_KEY"),
        (Fail(403, "Country not supported"), "http_403", False, "check what the key's project may use"),
        (Fail(404, code="model_not_found"), "model_not_found", False, "check the model's name"),
        (Fail(400, code="model_not_found"), "model_not_found", False, "check the model's name"),
        (Fail(429), "rate_limit_exceeded", True, "wait a little"),
        (Fail(429, code="insufficient_quota"), "insufficient_quota", False, "add credit"),
        (Fail(429, "Request too large for gpt-6-luna on tokens per min"), "rate_limit_exceeded", False, "attach less"),
        (Fail(500), "server_error", True, "You can retry your request"),
        (Fail(503), "server_is_overloaded", True, "overloaded"),
        (Fail(400, code="invalid_function_parameters"), "invalid_function_parameters", False, "schema of that tool"),
        (Fail(418, "teapot"), "http_418", False, "teapot"),
    ],
)
def test_each_refusal_is_typed_and_says_what_to_do(fail: Fail, code: str, retryable: bool, step: str) -> None:
    error = failure(fail)
    assert (error.status, error.code, error.is_retryable) == (fail.status, code, retryable)
    assert step in str(error)
    assert error.provider == "openai"


def test_a_conversation_that_is_too_long_says_so() -> None:
    words = "Your input exceeds the context window of this model. Please adjust your input and try again."
    error = failure(Fail(400, words, code="context_length_exceeded"))
    assert (error.code, error.is_retryable) == ("context_length_exceeded", False)
    assert "too long for GPT-6 Luna" in str(error)
    assert "go back to an earlier turn" in str(error)


def test_the_key_is_never_shown() -> None:
    error = failure(Fail(401, "Incorrect API key provided: sk-secret-key."))
    assert "sk-secret-key" not in str(error)
    assert "Incorrect API key provided: …" in str(error)


def test_a_plain_text_body_is_quoted() -> None:
    """W-A47 of another server, but a proxy may stand before any."""
    error = failure(Fail(503, "upstream connect error or disconnect/reset before headers", plain=True))
    assert "upstream connect error" in str(error)
    assert (error.code, error.is_retryable) == ("http_503", True)


@pytest.mark.parametrize(
    ("fail", "seconds"),
    [
        (Fail(429, retry_after=65), 65.0),
        (Fail(429, "Rate limit reached. Please try again in 1.5s."), 1.5),
        (Fail(429, "Please try again in 120ms."), 0.12),
        (Fail(429, "Please try again in 1m2s. More words."), 62.0),
        (Fail(429, "Please try again in 2h3m0s."), 7380.0),
        (Fail(429, "Please try again later."), None),
        (Fail(503, "Please try again in 5s"), None),
    ],
)
def test_the_wait_that_the_server_asks_for_is_read(fail: Fail, seconds: float | None) -> None:
    assert failure(fail).retry_after == seconds


def test_a_very_long_message_is_shortened() -> None:
    assert len(str(failure(Fail(400, "word " * 2000)))) < 600


def test_a_refused_schema_is_an_error_shaped_result() -> None:
    with StrictServer() as server:
        agent = Agent(MODEL, api_key="k", base_url=server.url("openai"), max_retries=0, max_output_tokens=5)
        result = asyncio.run(agent.run("q"))
    assert result.output is None
    assert "integer below minimum value" in str(result.error)
    assert result.error_status == 400


def test_a_model_that_openai_does_not_have_is_named() -> None:
    call = dataclasses.replace(call_of(), row=dataclasses.replace(find(MODEL), model="gpt-99-nova-x"))
    with StrictServer() as server, pytest.raises(RequestFailedError, match=r"gpt-99-nova-x.*check the model"):
        ask(server, call)
