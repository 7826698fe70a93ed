"""The four wires behind one face: check a request, write an answer, write an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from support.strict import anthropic, chat, google, responses
from support.strict.answers import Answer, Fail
from support.strict.anthropic import answer as anthropic_answer
from support.strict.chat import answer as chat_answer
from support.strict.google import answer as google_answer
from support.strict.playing import Mint, Reel
from support.strict.responses import answer as responses_answer
from support.strict.rule import Json, Violation, WireRequest
from support.strict.state import State

Errors = tuple[Json, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Wire:
    """One API. `error` gets the broken rule, or the scripted failure."""

    check: Callable[[WireRequest, State], list[Violation]]
    render: Callable[[Answer, WireRequest, Mint], Reel]
    error: Callable[[Fail | Violation, WireRequest, Mint], Errors]
    no_key: Violation
    bad_key: Fail
    count_tokens: Callable[[WireRequest], Json] | None = None


def key_of(headers: Mapping[str, str]) -> str:
    """Return the API key that a request carries, in whichever header."""
    bearer = headers.get("authorization", "")
    token = bearer[7:] if bearer.lower().startswith("bearer ") else ""
    return token or headers.get("x-api-key", "") or headers.get("x-goog-api-key", "")


def model_of(body: Any) -> str:
    """Return the model that a body names."""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""


_NO_OPENAI_KEY = "You didn't provide an API key."
WIRES: dict[str, Wire] = {
    "anthropic": Wire(
        check=lambda request, state: anthropic.check(request, state.signer, state.released),
        render=anthropic_answer.render,
        error=lambda what, request, mint: anthropic_answer.error(what, mint),
        no_key=Violation("W-A45", "headers", "x-api-key header is required", status=401),
        bad_key=Fail(401, "invalid x-api-key"),
        count_tokens=anthropic_answer.count_tokens,
    ),
    "responses": Wire(
        check=lambda request, state: responses.check(request, state.signer, state.stored),
        render=responses_answer.render,
        error=lambda what, request, mint: responses_answer.error(what, mint),
        no_key=Violation("W-O27", "headers", _NO_OPENAI_KEY, status=401),
        bad_key=Fail(401, "Incorrect API key provided: invalid.", code="invalid_api_key"),
    ),
    "chat": Wire(
        check=lambda request, state: chat.check(request, state.signer),
        render=chat_answer.render,
        error=chat_answer.error,
        no_key=Violation("W-O27", "headers", _NO_OPENAI_KEY, status=401),
        bad_key=Fail(401, "Incorrect API key provided: invalid.", code="invalid_api_key"),
    ),
    "google": Wire(
        check=lambda request, state: google.check(request, state.signer, state.files.known()),
        render=google_answer.render,
        error=lambda what, request, mint: google_answer.error(what, mint),
        no_key=Violation("W-G30", "headers", "Method doesn't allow unregistered callers.", status=403),
        bad_key=Fail(400, google_answer.BAD_KEY),
        count_tokens=google_answer.count_tokens,
    ),
}
