"""One request through the OpenAI SDK: everything explicit, our own body in pieces, the raw events of the answer."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.providers.http import CONNECT_TIMEOUT_S, shared_client
from doc_processing_toolkit.providers.openai.address import Address

if TYPE_CHECKING:
    import openai

# What the first request would load otherwise, on the event loop.
_LOADED_LATE = ("httpx2", "openai.lib._client_auth")
_LARGE_PIECE = 1 << 16
# How long the end of the body is waited for after the answer is whole, so that the connection can be used again.
_DRAIN_S = 0.25
# Not part of the wire: the SDK's description of this machine.
_STAINLESS = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
    "X-Stainless-Retry-Count",
    "X-Stainless-Read-Timeout",
)


async def load_sdk() -> ModuleType:
    """Return the OpenAI SDK; the first import takes most of a second and happens in a thread."""
    if "openai" in sys.modules and all(name in sys.modules for name in _LOADED_LATE):
        return sys.modules["openai"]
    return await asyncio.to_thread(_import_sdk)


def failures(sdk: ModuleType) -> tuple[type[Exception], ...]:
    """Return what a request through the SDK may raise: its own errors, the HTTP client's, and bad JSON."""
    import httpx2

    return (sdk.OpenAIError, httpx2.HTTPError, ValueError)


async def encoded(body: Mapping[str, Any]) -> list[bytes]:
    """Return the body as pieces of UTF-8; the loop gets its turn between large ones."""
    pieces: list[bytes] = []
    for piece in json_pieces(body):
        # Half a surrogate pair, in instructions or a tool's description, must not stop a request.
        pieces.append(piece.encode("utf-8", "replace"))
        if len(piece) > _LARGE_PIECE:
            await asyncio.sleep(0)
    return pieces


async def post_events(
    sdk: ModuleType, address: Address, path: str, pieces: list[bytes], *, read_timeout_s: float
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Post a body and yield the events of the answer, each as the plain object that was sent.

    Raises one of :func:`failures`. Closing the generator closes the connection, unless the body had come to its end.
    """
    client = await _client(sdk, address)
    stream = await client.post(
        path,
        cast_to=object,
        content=_sent(pieces),
        options={
            "headers": {
                "Content-Type": "application/json",
                "Content-Length": str(sum(map(len, pieces))),
                **dict.fromkeys(_STAINLESS, sdk.Omit()),
            },
            "timeout": sdk.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S),
        },
        stream=True,
        stream_cls=sdk.AsyncStream[object],
    )
    async with stream:
        async for event in stream:
            if isinstance(event, Mapping):
                yield event


async def drain(sdk: ModuleType, events: AsyncGenerator[Mapping[str, Any], None]) -> None:
    """Read what is left of an answer that is whole already; whatever comes or fails now is of no interest."""
    with contextlib.suppress(TimeoutError, *failures(sdk)):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in events:
                pass


async def _client(sdk: ModuleType, address: Address) -> openai.AsyncOpenAI:
    """Return a client for one request; everything that the SDK would read from the environment is given."""
    http = await shared_client(is_loopback=address.is_loopback, is_encrypted=address.is_encrypted)
    client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
        base_url=address.base_url,
        api_key=address.api_key,
        max_retries=0,
        http_client=http,
        default_headers=_headers(sdk, address.api_key),
    )
    return client


def _headers(sdk: ModuleType, api_key: str) -> dict[str, Any]:
    """Return the headers of every request: the key given, and nothing that the SDK would take from the environment."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    ambient = [line.partition(":")[0].strip() for line in lines if ":" in line]
    return {
        **dict.fromkeys([*ambient, "OpenAI-Organization", "OpenAI-Project"], sdk.Omit()),
        "Authorization": f"Bearer {api_key}",
    }


async def _sent(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _import_sdk() -> ModuleType:
    sdk = importlib.import_module("openai")
    for name in _LOADED_LATE:
        importlib.import_module(name)
    return sdk
