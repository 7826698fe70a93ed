"""The adapter for the Messages API: one request through the Anthropic SDK, its raw events passed on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.anthropic.errors import (
    BOUND_ELSEWHERE,
    bound_place,
    failure_of,
    missing_key,
    refusal,
    too_large,
    unfinished,
)
from doc_processing_toolkit.providers.anthropic.messages import tokens_from
from doc_processing_toolkit.providers.anthropic.request import Refused, Request, request_of
from doc_processing_toolkit.providers.anthropic.sdk import client_headers, load_sdk, request_options
from doc_processing_toolkit.providers.anthropic.stream import MessageAccumulator
from doc_processing_toolkit.providers.base import Access, AdapterEvent, ModelCall, RequestFailedError
from doc_processing_toolkit.providers.encoding import encoded
from doc_processing_toolkit.providers.http import shared_client

if TYPE_CHECKING:
    import anthropic
    import httpx2

log = logging.getLogger(__name__)

DEFAULT_ADDRESS = "https://api.anthropic.com"
KEY_VARIABLE, ADDRESS_VARIABLE = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
MOST_REQUEST_BYTES = 32 * 1024 * 1024
# How long a connection is given to end after the terminal event, so that it can serve the next request.
_LAST_BYTES_S = 0.25
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def anthropic_adapter(access: Access) -> AnthropicAdapter:
    """Return the adapter for Claude models."""
    return AnthropicAdapter(access)


@dataclass(frozen=True, slots=True)
class _Kept:
    """An SDK client and what it was made for; the next request on the same loop finds it again."""

    client: anthropic.AsyncAnthropic
    made_for: tuple[httpx2.AsyncClient, str, str]


class AnthropicAdapter:
    """Speaks the Messages API. It remembers only which thinking the server has refused, and what it warned of."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._refused = Refused()
        self._warned: set[str] = set()
        self._kept: _Kept | None = None

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Send one request; see :class:`~doc_processing_toolkit.providers.base.Adapter`.

        With ``prefix_strip_fallback`` a refusal of bound thinking (W-A29) is retryable, and the next request leaves
        that thinking out.
        """
        key, address = self._key(call.row), self._address(call.row)
        sdk = await load_sdk()
        request = request_of(call, self._refused)
        self._warn(call.row, request)
        pieces = await encoded(request.body)
        size = sum(map(len, pieces))
        if size > MOST_REQUEST_BYTES:
            raise too_large(call.row, size, MOST_REQUEST_BYTES)
        client = await self._client(sdk, key, address)
        options = request_options(sdk, request.betas, size, call.read_timeout_s)
        collected = MessageAccumulator(call.meter, call.row.model)
        try:
            async with contextlib.aclosing(_events(sdk, client, options, pieces)) as events:
                async for event in events:
                    seen = collected.feed(event)
                    if seen is not None:
                        yield seen
        except (sdk.AnthropicError, _http_errors(), ValueError) as error:
            if not collected.is_complete:
                raise self._failure(failure_of(error, call.row, key), call, request) from error
        finally:
            collected.settle()
        if not collected.is_complete:
            raise unfinished(call.row)
        reply = collected.reply()
        if reply.stop_reason == "refusal" and not reply.text:
            raise refusal(call.row, collected.stop_details)
        yield reply

    async def _client(self, sdk: ModuleType, key: str, address: str) -> anthropic.AsyncAnthropic:
        """Return the running loop's client; everything that the SDK would read from the environment is given."""
        url = urlsplit(address)
        http = await shared_client(is_loopback=url.hostname in _LOOPBACK, is_encrypted=url.scheme == "https")
        made_for = (http, key, address)
        kept = self._kept
        if kept is None or kept.made_for != made_for:
            client = sdk.AsyncAnthropic(
                api_key=key,
                base_url=address,
                max_retries=0,
                http_client=http,
                default_headers=client_headers(sdk, key),
                open_telemetry=False,
            )
            kept = self._kept = _Kept(client, made_for)
        return kept.client

    def _failure(self, failure: RequestFailedError, call: ModelCall, request: Request) -> RequestFailedError:
        """Return the failure, as one that sending again can mend where thinking was refused and may be left out."""
        if failure.code != BOUND_ELSEWHERE or not call.settings.get("prefix_strip_fallback"):
            return failure
        tokens = tokens_from(request.body["messages"], *(bound_place(failure) or (0, 0)))
        if tokens <= self._refused.tokens:
            return failure
        self._refused.tokens |= tokens
        log.info("%d thinking block(s) are left out: what stood before them has changed", len(tokens))
        return RequestFailedError(
            "thinking of this history belongs to another conversation; sent again without it",
            is_retryable=True,
            is_mended=True,
            provider=failure.provider,
            status=failure.status,
            code=failure.code,
            retry_after=0.0,
        )

    def _key(self, row: ModelRow) -> str:
        key = (self._access.api_key or os.environ.get(KEY_VARIABLE, "")).strip()
        if not key:
            raise missing_key(row)
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(
                f"{KEY_VARIABLE} holds a character that no key has; copy the key again",
                provider=row.provider,
                code="missing_key",
            )
        return key

    def _address(self, row: ModelRow) -> str:
        """Return the server's address without a path of its own; ``/v1`` belongs to the request."""
        given = self._access.base_url or os.environ.get(ADDRESS_VARIABLE, "").strip() or DEFAULT_ADDRESS
        address = given.rstrip("/").removesuffix("/v1")
        if not address.lower().startswith(("http://", "https://")):
            raise ProviderError(
                f"{ADDRESS_VARIABLE} is {given!r}; it must be an address such as {DEFAULT_ADDRESS!r}",
                provider=row.provider,
                code="address",
            )
        return address

    def _warn(self, row: ModelRow, request: Request) -> None:
        for warning in request.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                log.warning("%s: %s", row.id, warning)


def _http_errors() -> type[Exception]:
    import httpx2

    return httpx2.HTTPError


async def _events(
    sdk: ModuleType, client: anthropic.AsyncAnthropic, options: Any, pieces: list[bytes]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Send a request and yield its events; closing this closes the connection."""
    stream = await client.post(
        "/v1/messages?beta=true" if "anthropic-beta" in options["headers"] else "/v1/messages",
        cast_to=object,
        content=_sent(pieces),
        options=options,
        stream=True,
        stream_cls=sdk.AsyncStream[object],
    )
    async with stream, contextlib.aclosing(aiter(stream)) as events:
        async for event in events:
            if isinstance(event, Mapping):
                yield event
                if event.get("type") == "message_stop":
                    break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_BYTES_S):
                async for _ in events:
                    pass


async def _sent(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
