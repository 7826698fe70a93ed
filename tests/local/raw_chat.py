"""Drives the local server without any adapter: raw requests, streamed, as the wire has them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from doc_processing_toolkit.providers.local import Lease, LocalModel, LocalModelService
from doc_processing_toolkit.providers.local.service import PACKAGED

Message = dict[str, str]


class RefusedError(Exception):
    """The server refused a request; ``body`` is its answer."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"status {status}")
        self.body = body


@dataclass
class Answer:
    """What came back: the text, the progress of the prompt with its times, the usage, the time to the first token."""

    text: str = ""
    progress: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    first_token_s: float = 0.0


def user(text: str) -> Message:
    """Return a question."""
    return {"role": "user", "content": text}


def document(text: str, question: str) -> Message:
    """Return a question about a document, in the form that the demo model understands."""
    return user(f"Document: {text}\n\nQuestion: {question}")


async def chunks(lease: Lease, messages: list[Message], **settings: Any) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of one streamed answer; marks the lease at the first token."""
    body = {
        "model": "local",
        "messages": messages,
        "temperature": 0,
        "max_tokens": 48,
        "stop": list(lease.stop),
        "stream": True,
        "stream_options": {"include_usage": True},
        **lease.request_fields,
        **settings,
    }
    headers = {"Authorization": f"Bearer {lease.api_key}"}
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(limits=limits, trust_env=False, verify=False, timeout=120) as client:
        url = f"{lease.base_url}/chat/completions"
        async with client.stream("POST", url, json=body, headers=headers) as response:
            if response.status_code != 200:
                lease.mark_prompt_read()
                raise RefusedError(response.status_code, json.loads(await response.aread()))
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line.removeprefix("data: "))


async def ask(lease: Lease, messages: list[Message], **settings: Any) -> Answer:
    """Send the messages and return the whole answer."""
    answer, started = Answer(), time.perf_counter()
    async for chunk in chunks(lease, messages, **settings):
        if "prompt_progress" in chunk:
            answer.progress.append((time.perf_counter() - started, chunk["prompt_progress"]))
        if chunk.get("usage"):
            answer.usage = chunk["usage"]
        for choice in chunk["choices"]:
            if piece := choice["delta"].get("content"):
                lease.mark_prompt_read()
                answer.first_token_s = answer.first_token_s or time.perf_counter() - started
                answer.text += piece
    lease.mark_prompt_read()
    return answer


async def dialogue(
    service: LocalModelService, questions: list[str], *, model: LocalModel = PACKAGED, cache_prompt: bool = False
) -> list[str]:
    """Ask one question after the other in one conversation and return the answers."""
    history: list[Message] = []
    for question in questions:
        history.append(user(question))
        async with service.lease(model, cache_prompt=cache_prompt) as lease:
            answer = await ask(lease, history)
        history.append({"role": "assistant", "content": answer.text.strip()})
    return [message["content"] for message in history[1::2]]
