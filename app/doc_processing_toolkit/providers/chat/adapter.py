"""The adapter for the chat-completions wire: one request through the OpenAI SDK, its raw chunks passed on."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.base import Access, AdapterEvent, ModelCall, RequestFailedError
from doc_processing_toolkit.providers.chat.endpoint import Connection, Endpoint, LocalEndpoint, ServerEndpoint
from doc_processing_toolkit.providers.chat.errors import failure_of, unfinished
from doc_processing_toolkit.providers.chat.request import body_of
from doc_processing_toolkit.providers.chat.stream import ChatAccumulator
from doc_processing_toolkit.providers.encoding import encoded
from doc_processing_toolkit.providers.http import CONNECT_TIMEOUT_S, shared_client

if TYPE_CHECKING:
    import httpx2
    import openai


def local_adapter(access: Access) -> ChatAdapter:
    """Return the adapter for local models."""
    return ChatAdapter(LocalEndpoint())


def compatible_adapter(access: Access) -> ChatAdapter:
    """Return the adapter for a server that speaks chat completions."""
    return ChatAdapter(ServerEndpoint(access.base_url, access.api_key))


class ChatAdapter:
    """Speaks chat completions to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._asks_for_usage = True

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Send one request; see :class:`~doc_processing_toolkit.providers.base.Adapter`."""
        sdk = await _load_sdk()
        async with contextlib.aclosing(self._endpoint.open(call.row)) as opening:
            async for step in opening:
                if isinstance(step, Progress):
                    yield step
                    continue
                async with contextlib.aclosing(self._request(sdk, step, call)) as events:
                    async for event in events:
                        yield event

    async def _request(
        self, sdk: ModuleType, connection: Connection, call: ModelCall
    ) -> AsyncGenerator[AdapterEvent, None]:
        try:
            async with contextlib.aclosing(self._answer(sdk, connection, call)) as events:
                async for event in events:
                    yield event
            return
        except RequestFailedError as error:
            if not self._asks_for_usage or not _refuses_stream_options(error):
                raise
        # Some servers refuse what they do not know (W-F1): this one gets it no more.
        self._asks_for_usage = False
        async with contextlib.aclosing(self._answer(sdk, connection, call)) as events:
            async for event in events:
                yield event

    async def _answer(
        self, sdk: ModuleType, connection: Connection, call: ModelCall
    ) -> AsyncGenerator[AdapterEvent, None]:
        collected = ChatAccumulator(call.meter, call.row)
        was_marked = False
        try:
            async with contextlib.aclosing(self._chunks(sdk, connection, call)) as chunks:
                async for chunk in chunks:
                    for event in collected.feed(chunk):
                        yield event
                    if collected.has_started and not was_marked:
                        was_marked = True
                        connection.mark_prompt_read()
        except (sdk.OpenAIError, _http_errors(), ValueError) as error:
            if not collected.is_complete:
                if getattr(error, "status_code", None) is not None:
                    connection.mark_prompt_read()
                raise failure_of(error, call.row, connection) from error
        if not collected.is_complete:
            raise unfinished(call.row, connection)
        connection.mark_prompt_read()
        yield collected.reply()

    async def _chunks(
        self, sdk: ModuleType, connection: Connection, call: ModelCall
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        body = body_of(call, fields=connection.fields, stop=connection.stop, asks_for_usage=self._asks_for_usage)
        pieces = await encoded(connection.adapted(body))
        async with self._client(sdk, connection, call.read_timeout_s) as client:
            stream = await client.post(
                "/chat/completions",
                cast_to=object,
                content=_sent(pieces),
                options={
                    "headers": {
                        "Content-Type": "application/json",
                        "Content-Length": str(sum(map(len, pieces))),
                        # Not part of the wire: the SDK's description of this machine.
                        **dict.fromkeys(_STAINLESS, sdk.Omit()),
                    }
                },
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
            async with stream:
                async for chunk in stream:
                    if isinstance(chunk, Mapping):
                        yield chunk

    @contextlib.asynccontextmanager
    async def _client(
        self, sdk: ModuleType, connection: Connection, read_timeout_s: float
    ) -> AsyncGenerator[openai.AsyncOpenAI, None]:
        """Open a client for one request; everything that the SDK would read from the environment is given."""
        import httpx2

        timeout = httpx2.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S)
        async with contextlib.AsyncExitStack() as stack:
            if connection.is_short_lived:
                http = await stack.enter_async_context(_own_client(timeout))
            else:
                http = await shared_client(is_loopback=connection.is_loopback, is_encrypted=connection.is_encrypted)
            yield sdk.AsyncOpenAI(
                base_url=connection.base_url,
                api_key=connection.api_key,
                max_retries=0,
                timeout=timeout,
                http_client=http,
                default_headers=_headers(sdk, connection.api_key),
            )


def _own_client(timeout: httpx2.Timeout) -> httpx2.AsyncClient:
    """Return a client for a server on this machine that may be gone before the next request."""
    import httpx2

    return httpx2.AsyncClient(
        timeout=timeout,
        # llama.cpp's server drops kept-alive connections without a word; this client lives for one request anyway.
        limits=httpx2.Limits(max_keepalive_connections=0),
        verify=False,
        trust_env=False,
        follow_redirects=False,
    )


# What the first request would load otherwise, on the event loop.
_LOADED_LATE = (
    "httpx2",
    "httpcore2",
    "httpcore2._backends.auto",
    "httpcore2._backends.anyio",
    "anyio._backends._asyncio",
    "openai.lib._client_auth",
)
_STAINLESS = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
)


async def _load_sdk() -> ModuleType:
    """Return the SDK; the first import takes most of a second and happens in a thread."""
    if "openai" in sys.modules and "httpx2" in sys.modules:
        return sys.modules["openai"]
    return await asyncio.to_thread(_import_sdk)


def _import_sdk() -> ModuleType:
    sdk = importlib.import_module("openai")
    for name in _LOADED_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return sdk


def _headers(sdk: ModuleType, api_key: str) -> dict[str, Any]:
    """Return the headers of every request: the key given, and nothing that the SDK would take from the environment."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    ambient = [line.partition(":")[0].strip() for line in lines if ":" in line]
    return {
        **dict.fromkeys([*ambient, "OpenAI-Organization", "OpenAI-Project"], sdk.Omit()),
        "Authorization": f"Bearer {api_key}",
    }


def _refuses_stream_options(error: RequestFailedError) -> bool:
    return error.status in (400, 422) and "stream_options" in str(error)


def _http_errors() -> type[Exception]:
    import httpx2

    return httpx2.HTTPError


async def _sent(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
