"""Gemini answers: the response of an `Answer`, its chunks (SSE or a JSON array), its error bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.strict.answers import Answer, Call, Ending, Fail, Native, Text, Thinking
from support.strict.google.signatures import demands_signatures, seal
from support.strict.playing import Mint, Reel, pieces, usage_of
from support.strict.rule import Json, Violation, WireRequest
from support.strict.signer import digest

_FINISH = {
    "max_tokens": "MAX_TOKENS",
    "context_window": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "SAFETY",
    "recitation": "RECITATION",
    "malformed_call": "MALFORMED_FUNCTION_CALL",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TEXTS = {
    400: "Request contains an invalid argument.",
    403: "You do not have permission to access this resource.",
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
    504: "The request timed out. Please try again.",
}
BAD_KEY = "API key not valid. Please pass a valid API key."


def render(answer: Answer, request: WireRequest, mint: Mint) -> Reel:
    """Return the answer as the Gemini API would give it; a stream without `alt=sse` is a JSON array."""
    frame = _Frame(answer, request, mint)
    chunks = list(_chunks(answer, frame))
    array = request.stream and "alt=sse" not in request.path
    events = _array(chunks) if array else [_event(chunk) for chunk in chunks]
    return Reel(
        body=frame.response(_whole(answer, frame), _finish(answer)),
        events=events,
        terminal=1,
        error_events=lambda ending: [_event(_stream_error(ending))],
        text_event=lambda text: _event(frame.response([{"text": text}], None)),
        content_type="application/json; charset=UTF-8" if array else "text/event-stream",
    )


def error(fail: Fail | Violation, mint: Mint) -> tuple[Json, tuple[tuple[str, str], ...]]:
    """Return the error body for a scripted failure or a broken rule. There is no retry-after header (W-G28)."""
    status = fail.status or 400
    text = fail.message or _TEXTS.get(status, "The request was refused.")
    details: list[Json] = list(fail.details) if isinstance(fail, Violation) else []
    wait = None if isinstance(fail, Violation) else fail.retry_after
    if wait is not None:
        text += f"\nPlease retry in {wait:g}s."
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{int(wait)}s"})
    if text == BAD_KEY:
        info = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info})
    body = {"code": status, "message": text, "status": fail.code or _STATUS.get(status, "UNKNOWN")}
    return {"error": {**body, "details": details} if details else body}, ()


def count_tokens(request: WireRequest) -> Json:
    """Return the answer of `countTokens`: four bytes a token."""
    return {"totalTokens": max(1, len(json.dumps(request.body)) // 4)}


class _Frame:
    """What every chunk of one answer repeats, and how its parts are written."""

    def __init__(self, answer: Answer, request: WireRequest, mint: Mint) -> None:
        self.mint = mint
        self.numbered = demands_signatures(request.model)
        self._model = answer.served_model or request.model
        self._usage = _usage(answer, request)
        self._blocked = answer.reason == "prompt_blocked"

    def response(self, parts: list[Json] | None, finish: str | None) -> Json:
        """Return one response or chunk. `parts` = `None`: a content without parts."""
        base = {"usageMetadata": self._usage, "modelVersion": self._model, "responseId": self.mint.response}
        if self._blocked:
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **base}
        content: Json = {"role": "model"} if parts is None else {"parts": parts, "role": "model"}
        candidate: Json = {"content": content, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], **base}

    def part(self, part: Any, number: int, *, first_call: bool) -> Json:
        """Return one part as a whole, signed where it is to be."""
        if isinstance(part, Native):
            return part.block
        if isinstance(part, Thinking):
            return {"text": part.text, "thought": True}
        if isinstance(part, Text):
            return self.signed({"text": part.text}) if part.signed else {"text": part.text}
        assert isinstance(part, Call)
        call: Json = {"name": part.name, "args": _object(part.arguments)}
        if part.id or self.numbered:
            call["id"] = part.id or digest(f"{self.mint.response} {number}", length=8)
        signed = self.numbered and first_call if part.signed is None else part.signed
        return self.signed({"functionCall": call}) if signed else {"functionCall": call}

    def signed(self, part: Json) -> Json:
        """Return the part with a signature that stands on it."""
        return {**part, "thoughtSignature": seal(part, self.mint.signer, self.mint.response)}


def _object(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return dict(arguments)
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _finish(answer: Answer) -> str:
    return _FINISH.get(answer.reason, "STOP")


def _whole(answer: Answer, frame: _Frame) -> list[Json] | None:
    if answer.reason in ("malformed_call", "empty", "content_filter", "recitation"):
        return None
    first = next((part for part in answer.parts if isinstance(part, Call)), None)
    return [frame.part(part, number, first_call=part is first) for number, part in enumerate(answer.parts)]


def _chunks(answer: Answer, frame: _Frame) -> Iterator[Json]:
    if _whole(answer, frame) is None or answer.reason == "prompt_blocked":
        yield frame.response(None, _finish(answer))
        return
    first = next((part for part in answer.parts if isinstance(part, Call)), None)
    signed = False
    for number, part in enumerate(answer.parts):
        if isinstance(part, Text | Thinking):
            extra = {"thought": True} if isinstance(part, Thinking) else {}
            for text in pieces(part.text, answer.pace.piece):
                yield frame.response([{"text": text, **extra}], None)
            signed = signed or (isinstance(part, Text) and part.signed)
        else:
            yield frame.response([frame.part(part, number, first_call=part is first)], None)
    # The signature of streamed text rides on a last part with empty text (W-G18).
    last = {"text": ""}
    yield frame.response([frame.signed(last) if signed else last], _finish(answer))


def _usage(answer: Answer, request: WireRequest) -> Json:
    usage = usage_of(answer, request)
    counted = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }
    if usage.cached:
        counted["cachedContentTokenCount"] = usage.cached
    if usage.reasoning:
        counted["thoughtsTokenCount"] = usage.reasoning
    return counted


def _stream_error(ending: Ending) -> Json:
    text = ending.message or _TEXTS[503]
    return {"error": {"code": 503, "message": text, "status": ending.code or "UNAVAILABLE"}}


def _event(data: Json) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode("utf-8", "surrogatepass")


def _array(chunks: list[Json]) -> list[bytes]:
    texts = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks]
    starts = ["["] + [",\r\n"] * (len(texts) - 1)
    ends = [""] * (len(texts) - 1) + ["]"]
    return [f"{start}{text}{end}".encode() for start, text, end in zip(starts, texts, ends, strict=True)]
