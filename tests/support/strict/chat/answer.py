"""Chat-completions answers: the completion of an `Answer`, its chunks, the error bodies of each server."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.strict.answers import Answer, Call, Ending, Fail, Native, Text, Thinking
from support.strict.chat.profiles import PROFILES
from support.strict.playing import Mint, Reel, pieces, usage_of
from support.strict.responses import answer as responses_answer
from support.strict.rule import Json, Violation, WireRequest, as_object

_STOPS = {"end": "stop", "tool": "tool_calls", "max_tokens": "length", "context_window": "length"}
_FILTERED = ("content_filter", "prompt_blocked", "recitation")
_DONE = b"data: [DONE]\n\n"
_TEXTS = {
    401: "The API key you provided is invalid.",
    402: "Account suspended: payment required.",
    404: "Model not found, inaccessible, and/or not deployed",
    429: "Rate limit exceeded, please try again later.",
    500: "Internal server error",
    503: "Service overloaded, please try again later.",
}


def render(answer: Answer, request: WireRequest, mint: Mint) -> Reel:
    """Return the answer as the server of `request.profile` would give it."""
    message = _message(answer, mint)
    base = {
        "id": f"chatcmpl-{mint.response}",
        "created": mint.created,
        "model": answer.served_model or request.model,
    }
    reason = _reason(answer)
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    usage = _usage(answer, request)
    body = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunks = list(_chunks(message, reason, answer, request, usage))
    last = _finishing(chunks)
    events = [_event({**base, "object": "chat.completion.chunk", **chunk}) for chunk in chunks] + [_DONE]
    return Reel(
        body=body,
        events=events,
        terminal=len(events) - last,
        error_events=lambda ending: [_event(_stream_error(ending))],
        text_event=lambda text: _event(
            {**base, "object": "chat.completion.chunk", "choices": [_choice({"content": text}, None)]}
        ),
        headers=_headers(request, mint),
    )


def error(fail: Fail | Violation, request: WireRequest, mint: Mint) -> responses_answer.Errors:
    """Return the error body and headers for a scripted failure or a broken rule."""
    if request.profile != "fireworks":
        return responses_answer.error(fail, mint)
    status = fail.status or 400
    kind = "invalid_request_error" if status < 500 else "internal_server_error"
    body = {"object": "error", "type": kind, "message": fail.message or _TEXTS.get(status, "The request was refused.")}
    if fail.code:
        body["code"] = fail.code
    return {"error": body}, _headers(request, mint)


def _headers(request: WireRequest, mint: Mint) -> tuple[tuple[str, str], ...]:
    if request.profile == "fireworks":
        return (("fireworks-prompt-tokens", "1"), ("x-request-id", f"req_{mint.response}"))
    return responses_answer.headers(mint) if request.profile == "openai" else ()


def _message(answer: Answer, mint: Mint) -> Json:
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    reasoning = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
    message: Json = {"role": "assistant", "content": text or (None if answer.calls else "")}
    if answer.reason == "refusal":
        message |= {"content": None, "refusal": text}
    if reasoning:
        message["reasoning_content"] = reasoning
    if answer.calls:
        note = f"{int(bool(reasoning)):02x}"
        message["tool_calls"] = [_call(part, mint, index, note) for index, part in enumerate(answer.calls)]
    for part in answer.parts:
        message |= part.block if isinstance(part, Native) else {}
    return message if answer.reason != "empty" else {"role": "assistant", "content": ""}


def _call(part: Call, mint: Mint, index: int, note: str) -> Json:
    arguments = part.arguments if isinstance(part.arguments, str) else json.dumps(dict(part.arguments))
    identifier = part.id or mint.signer.mark("call_", mint.response, index, note)
    return {"id": identifier, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _reason(answer: Answer) -> str:
    if answer.reason in _FILTERED:
        return "content_filter"
    return _STOPS.get(answer.reason, "stop")


def _usage(answer: Answer, request: WireRequest) -> Json:
    usage = usage_of(answer, request)
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chunks(message: Json, reason: str, answer: Answer, request: WireRequest, usage: Json) -> Iterator[Json]:
    piece = answer.pace.piece
    yield {"choices": [_choice({"role": "assistant", "content": None if message.get("tool_calls") else ""}, None)]}
    for key in ("reasoning_content", "refusal", "content"):
        for text in pieces(message.get(key) or "", piece) if message.get(key) else ():
            yield {"choices": [_choice({key: text}, None)]}
    for index, call in enumerate(message.get("tool_calls", ())):
        opened = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield {"choices": [_choice({"tool_calls": [opened]}, None)]}
        for text in pieces(call["function"]["arguments"], piece):
            yield {"choices": [_choice({"tool_calls": [{"index": index, "function": {"arguments": text}}]}, None)]}
    profile = PROFILES[request.profile]
    asked = bool(as_object(as_object(request.body).get("stream_options")).get("include_usage"))
    ending: Json = {"choices": [_choice({}, reason)]}
    # Fireworks sends usage by itself, on the chunk that carries the reason (W-F14).
    yield ending if profile.usage_needs_asking else {**ending, "usage": usage}
    if profile.usage_needs_asking and asked:
        yield {"choices": [], "usage": usage}


def _finishing(chunks: list[Json]) -> int:
    """Return the index of the chunk with the finish reason: from there on the answer counts as complete."""
    return next(i for i, chunk in enumerate(chunks) if chunk["choices"] and chunk["choices"][0]["finish_reason"])


def _choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}


def _stream_error(ending: Ending) -> Json:
    text = ending.message or "The server is overloaded. Please try again later."
    return {"error": {"message": text, "type": "server_error", "code": ending.code or "server_error", "param": None}}


def _event(data: Json) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "surrogatepass")
