"""Anthropic answers: the message of an `Answer`, its event stream, its error bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.strict.answers import Answer, Call, Ending, Fail, Native, Part, Text, Thinking
from support.strict.anthropic import thinking
from support.strict.anthropic.binding import Prefix, block_id, seal_thinking, token_of
from support.strict.anthropic.fields import BINDING_BETA, betas
from support.strict.anthropic.models import traits
from support.strict.anthropic.turns import turns_of
from support.strict.playing import Mint, Reel, pieces, usage_of
from support.strict.rule import Json, Violation, WireRequest, as_list, as_object

STOPS = {
    "end": "end_turn",
    "tool": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "prompt_blocked": "refusal",
    "pause": "pause_turn",
    "context_window": "model_context_window_exceeded",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_TEXTS = {
    401: "invalid x-api-key",
    413: "Request exceeds the maximum allowed number of bytes",
    429: "This request would exceed your organization's rate limit of 450,000 input tokens per minute.",
    500: "Internal server error",
    503: "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
    529: "Overloaded",
}


def render(answer: Answer, request: WireRequest, mint: Mint) -> Reel:
    """Return the answer as the Messages API would give it."""
    message, raw = _message(answer, request, mint)
    events = [_event(name, data) for name, data in _events(message, raw, answer.pace.piece)]
    texts = (index for index, block in enumerate(message["content"]) if block["type"] == "text")
    index = next(texts, 0)
    return Reel(
        body=message,
        events=events,
        terminal=2,
        error_events=lambda ending: [_error_event(ending)],
        text_event=lambda text: _delta(index, {"type": "text_delta", "text": text}),
        headers=_headers(mint),
    )


def error(fail: Fail | Violation, mint: Mint) -> tuple[Json, tuple[tuple[str, str], ...]]:
    """Return the error body and headers for a scripted failure or a broken rule."""
    status = fail.status or 400
    kind = getattr(fail, "code", "") or _TYPES.get(status, "api_error")
    text = fail.message or _TEXTS.get(status, "An error occurred.")
    body = {"type": "error", "error": {"type": kind, "message": text}, "request_id": f"req_{mint.response}"}
    retry = getattr(fail, "should_retry", None)
    retry = status in (408, 409, 429, 529) if retry is None else retry
    return body, (*_headers(mint), ("x-should-retry", "true" if retry else "false"))


def count_tokens(request: WireRequest) -> Json:
    """Return the answer of `count_tokens`: four bytes a token."""
    return {"input_tokens": max(1, len(json.dumps(request.body)) // 4)}


def _headers(mint: Mint) -> tuple[tuple[str, str], ...]:
    limits = (("limit", "4000"), ("remaining", "3999"), ("reset", "2026-11-29T15:00:00Z"))
    kinds = ("requests", "tokens", "input-tokens", "output-tokens")
    rates = [(f"anthropic-ratelimit-{kind}-{name}", value) for kind in kinds for name, value in limits]
    return (("request-id", f"req_{mint.response}"), *rates)


def _message(answer: Answer, request: WireRequest, mint: Mint) -> tuple[Json, dict[int, str]]:
    body = as_object(request.body)
    turns = turns_of(as_list(body.get("messages")))
    seen = thinking.inspect(body, turns, traits(request.model), mint.signer, mint.owner)
    link = block_id(token_of(seen.visible[-1])) if seen.visible else ""
    content, raw = _content(answer, request, mint, link)
    reason = STOPS.get(answer.reason, "end_turn")
    message: Json = {
        "model": answer.served_model or request.model,
        "id": f"msg_01{mint.response}",
        "type": "message",
        "role": "assistant",
        "content": [] if answer.reason == "empty" else content,
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": _stop_details(reason),
        "usage": _usage(answer, request),
    }
    if answer.container:
        message["container"] = {"id": answer.container, "expires_at": "2026-11-29T16:00:00Z"}
    if BINDING_BETA in (betas(request) or ()):
        message["input_transformations"] = seen.transformations
    return message, raw


def _stop_details(reason: str) -> Json | None:
    if reason != "refusal":
        return None
    return {"type": "refusal", "category": "cyber", "explanation": "This request was declined."}


def _content(answer: Answer, request: WireRequest, mint: Mint, link: str) -> tuple[list[Json], dict[int, str]]:
    """Return the blocks, and for each call whose arguments were scripted as text that text."""
    prefix = _prefix(as_object(request.body)) if traits(request.model).preserved else None
    count = sum(isinstance(part, Thinking) for part in answer.parts)
    blocks: list[Json] = []
    raw: dict[int, str] = {}
    thought = 0
    for number, part in enumerate(answer.parts):
        if isinstance(part, Thinking):
            place = (thought, count)
            before = prefix.value() if prefix else ""
            block = _thinking_block(part, request, mint, place=place, prefix=before, link=link)
            link = block_id(str(block.get("signature") or block.get("data")))
            thought += 1
        else:
            block = _block(part, mint, number, count)
            if isinstance(part, Call) and isinstance(part.arguments, str):
                raw[len(blocks)] = part.arguments
        if prefix:
            prefix.add("assistant", block)
        blocks.append(block)
    return blocks, raw


def _prefix(body: Json) -> Prefix:
    prefix = Prefix(body)
    for turn in turns_of(as_list(body.get("messages"))):
        for placed in turn.blocks:
            prefix.add(turn.role, placed.block)
    return prefix


def _thinking_block(
    part: Thinking, request: WireRequest, mint: Mint, *, place: tuple[int, int], prefix: str, link: str
) -> Json:
    row = traits(request.model)
    text = "" if part.hidden or part.redacted else part.text
    token = seal_thinking(
        mint.signer,
        model=row.model,
        owner=mint.owner,
        response=mint.response,
        place=place,
        text=text,
        prefix=prefix,
        link=link,
    )
    if part.redacted:
        return {"type": "redacted_thinking", "data": token}
    return {"type": "thinking", "thinking": text, "signature": token}


def _block(part: Part, mint: Mint, number: int, thoughts: int) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Native):
        return part.block
    assert isinstance(part, Call)
    identifier = part.id or mint.signer.mark("toolu_", mint.response, number, f"{thoughts:02x}")
    block = {"type": "tool_use", "id": identifier, "name": part.name, "input": _input(part.arguments)}
    return {**block, "caller": {"type": "direct"}}


def _input(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return dict(arguments)
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _usage(answer: Answer, request: WireRequest) -> Json:
    usage = usage_of(answer, request)
    details = {"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {}
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output,
        "service_tier": "standard",
        **details,
    }


def _events(message: Json, raw: dict[int, str], piece: int) -> Iterator[tuple[str, Json]]:
    late = ("stop_reason", "stop_sequence", "stop_details", "container")
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    start.pop("container", None)
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = _split(block, raw.get(index), piece)
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        if index == 0:
            yield "ping", {"type": "ping"}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in late if key in message}
    usage = {key: value for key, value in message["usage"].items() if key not in ("cache_creation", "service_tier")}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _split(block: Json, raw: str | None, piece: int) -> tuple[Json, list[Json]]:
    """Return the block as `content_block_start` has it, and the deltas that fill it."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"], piece)]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], piece)]
        deltas = deltas if block["thinking"] else []
        signature = [{"type": "signature_delta", "signature": block["signature"]}]
        return {**block, "thinking": "", "signature": ""}, deltas + signature
    if block["type"] in ("tool_use", "server_tool_use", "mcp_tool_use"):
        text = json.dumps(block["input"]) if raw is None else raw
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *pieces(text, piece)]]
        return {**block, "input": {}}, deltas
    return block, []


def _event(name: str, data: Json) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "surrogatepass")


def _delta(index: int, delta: Json) -> bytes:
    return _event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})


def _error_event(ending: Ending) -> bytes:
    error_body = {"type": ending.code or "overloaded_error", "message": ending.message or "Overloaded"}
    return _event("error", {"type": "error", "error": error_body})
