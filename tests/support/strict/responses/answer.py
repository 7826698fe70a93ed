"""OpenAI Responses answers: the response of an `Answer`, its event stream, its error bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

from support.strict.answers import Answer, Call, Ending, Fail, Native, Part, Text, Thinking
from support.strict.playing import Mint, Reel, pieces, usage_of
from support.strict.responses.fields import items_of
from support.strict.responses.models import has_phases
from support.strict.responses.pairing import unread
from support.strict.rule import Json, Violation, WireRequest, as_list, as_object
from support.strict.signer import digest

Errors = tuple[Json, tuple[tuple[str, str], ...]]

_INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "content_filter": "content_filter",
    "context_window": "max_output_tokens",
}
_CODES = {
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    404: ("invalid_request_error", "model_not_found", "The requested model does not exist."),
    429: ("tokens", "rate_limit_exceeded", "Rate limit reached on tokens per min (TPM). Please try again later."),
    500: (
        "server_error",
        "server_error",
        "An error occurred while processing your request. You can retry your request.",
    ),
    503: ("service_unavailable_error", "server_is_overloaded", "The server is overloaded. Please try again later."),
}


def render(answer: Answer, request: WireRequest, mint: Mint) -> Reel:
    """Return the answer as the Responses API would give it."""
    response = _response(answer, request, mint)
    numbered = count()
    events = [_event(data, next(numbered)) for data in _events(response, answer)]
    after = len(events)
    return Reel(
        body=response,
        events=events,
        terminal=1,
        error_events=lambda ending: [_event(data, after + n) for n, data in enumerate(_errors(response, ending))],
        text_event=lambda text: _event(_text_delta(response, text), after),
        headers=headers(mint),
    )


def error(fail: Fail | Violation, mint: Mint) -> Errors:
    """Return the error body and headers for a scripted failure or a broken rule; chat completions use the same."""
    kind, code, text = _CODES.get(fail.status or 400, ("invalid_request_error", "", "The request was refused."))
    given = fail.code or None
    kind = "insufficient_quota" if given == "insufficient_quota" else kind
    body = {
        "message": fail.message or text,
        "type": "invalid_request_error" if isinstance(fail, Violation) else kind,
        "param": fail.param if isinstance(fail, Violation) else None,
        "code": given if isinstance(fail, Violation) else given or code or None,
    }
    return {"error": body}, headers(mint)


def headers(mint: Mint) -> tuple[tuple[str, str], ...]:
    """The headers that OpenAI sends with every answer."""
    rates = [
        (f"x-ratelimit-{name}-{kind}", value)
        for kind in ("requests", "tokens")
        for name, value in (("limit", "10000"), ("remaining", "9999"), ("reset", "6ms"))
    ]
    return (("x-request-id", f"req_{mint.response}"), *rates)


def _response(answer: Answer, request: WireRequest, mint: Mint) -> Json:
    body = as_object(request.body)
    incomplete = _INCOMPLETE.get(answer.reason)
    response: Json = {
        "id": f"resp_{mint.response}",
        "object": "response",
        "created_at": mint.created,
        "status": "incomplete" if incomplete else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": answer.served_model or request.model,
        "output": [] if answer.reason == "empty" else _output(answer, request, mint),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **as_object(body.get("reasoning"))},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": {"type": "text"}, "verbosity": "medium", **as_object(body.get("text"))},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": as_list(body.get("tools")),
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": _usage(answer, request),
        "metadata": {},
    }
    removed = unread(items_of(body), mint.signer, request.model)
    return {**response, "input_transformations": removed} if removed else response


def _output(answer: Answer, request: WireRequest, mint: Mint) -> list[Json]:
    """Return the output items. The ids say which reasoning item each of them was minted with (W-O2)."""
    output: list[Json] = []
    note = "ff"
    encrypted = "reasoning.encrypted_content" in as_list(as_object(request.body).get("include"))
    for number, part in enumerate(answer.parts):
        if isinstance(part, Thinking):
            note = f"{number:02x}"
            output.append(_reasoning(part, request, mint, number, encrypted=encrypted))
        elif isinstance(part, Native):
            output.append(part.block)
        else:
            output.append(_item(part, answer, mint, number, note, request.model))
    return output


def _reasoning(part: Thinking, request: WireRequest, mint: Mint, number: int, *, encrypted: bool) -> Json:
    identifier = mint.signer.mark("rs_", mint.response, number)
    summary = [] if part.hidden or not part.text else [{"type": "summary_text", "text": part.text}]
    item: Json = {"id": identifier, "type": "reasoning", "summary": summary}
    if encrypted:
        claims = {"k": "reasoning", "id": identifier, "r": mint.response, "o": mint.owner, "m": request.model}
        item["encrypted_content"] = mint.signer.seal({**claims, "h": digest(summary)})
    return item


def _item(part: Part, answer: Answer, mint: Mint, number: int, note: str, model: str) -> Json:
    status = "incomplete" if answer.reason in _INCOMPLETE else "completed"
    if isinstance(part, Call):
        arguments = part.arguments if isinstance(part.arguments, str) else json.dumps(dict(part.arguments))
        return {
            "id": mint.signer.mark("fc_", mint.response, number, note),
            "type": "function_call",
            "status": status,
            "arguments": arguments,
            "call_id": part.id or mint.signer.mark("call_", mint.response, number, note),
            "name": part.name,
        }
    assert isinstance(part, Text)
    text: Json = {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}
    if answer.reason == "refusal":
        text = {"type": "refusal", "refusal": part.text}
    identifier = mint.signer.mark("msg_", mint.response, number, note)
    item = {"id": identifier, "type": "message", "status": status, "role": "assistant", "content": [text]}
    return {**item, "phase": "commentary" if answer.calls else "final_answer"} if has_phases(model) else item


def _usage(answer: Answer, request: WireRequest) -> Json:
    usage = usage_of(answer, request)
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }


def _events(response: Json, answer: Answer) -> Iterator[Json]:
    started = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item.get("id", "")}
        yield {"type": "response.output_item.added", "output_index": index, "item": _opened(item)}
        for event in _fill(item, answer.pace.piece):
            yield {**event, **place}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _opened(item: Json) -> Json:
    """Return an item as `output_item.added` has it: empty, and with a payload that cannot be used (W-O4)."""
    empty: dict[str, Json] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "reasoning": {"summary": []},
    }
    opened = {**item, **empty.get(item["type"], {})}
    if "status" in item:
        opened["status"] = "in_progress"
    if "encrypted_content" in item:
        opened["encrypted_content"] = item["encrypted_content"][:64]
    return opened


def _fill(item: Json, piece: int) -> Iterator[Json]:
    if item["type"] == "message":
        for number, part in enumerate(item["content"]):
            yield from _fill_part(part, number, piece)
    elif item["type"] == "function_call":
        name = "response.function_call_arguments"
        yield from ({"type": f"{name}.delta", "delta": text} for text in pieces(item["arguments"], piece))
        yield {"type": f"{name}.done", "arguments": item["arguments"], "name": item["name"]}
    elif item["type"] == "reasoning":
        for number, part in enumerate(item["summary"]):
            yield from _fill_summary(part, {"summary_index": number}, piece)


def _fill_part(part: Json, number: int, piece: int) -> Iterator[Json]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    place: Json = {"content_index": number}
    logs: Json = {} if key == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", "part": {**part, key: ""}, **place}
    yield from ({"type": f"{name}.delta", "delta": text, **place, **logs} for text in pieces(part[key], piece))
    yield {"type": f"{name}.done", key: part[key], **place, **logs}
    yield {"type": "response.content_part.done", "part": part, **place}


def _fill_summary(part: Json, place: Json, piece: int) -> Iterator[Json]:
    yield {"type": "response.reasoning_summary_part.added", "part": {**part, "text": ""}, **place}
    name = "response.reasoning_summary_text"
    yield from ({"type": f"{name}.delta", "delta": text, **place} for text in pieces(part["text"], piece))
    yield {"type": f"{name}.done", "text": part["text"], **place}
    yield {"type": "response.reasoning_summary_part.done", "part": part, **place}


def _text_delta(response: Json, text: str) -> Json:
    messages = [(index, item) for index, item in enumerate(response["output"]) if item["type"] == "message"]
    index, item = messages[0] if messages else (0, {})
    place = {"output_index": index, "item_id": item.get("id", "msg_0"), "content_index": 0}
    return {"type": "response.output_text.delta", "delta": text, "logprobs": [], **place}


def _errors(response: Json, ending: Ending) -> list[Json]:
    code = ending.code or "server_error"
    text = ending.message or "An error occurred while processing your request."
    failed = {**response, "status": "failed", "output": [], "usage": None, "incomplete_details": None}
    failed["error"] = {"code": code, "message": text}
    last = {"type": "response.failed", "response": failed}
    if ending.kind == "failed":
        return [last]
    if ending.kind == "error_flat":
        return [{"type": "error", "code": code, "message": text, "param": None}]
    # Nested, and a failed response after it, as recorded.
    return [{"type": "error", "error": {"type": code, "code": code, "message": text, "param": None}}, last]


def _event(data: Json, number: int) -> bytes:
    line = json.dumps({**data, "sequence_number": number}, ensure_ascii=False)
    return f"event: {data['type']}\ndata: {line}\n\n".encode("utf-8", "surrogatepass")
