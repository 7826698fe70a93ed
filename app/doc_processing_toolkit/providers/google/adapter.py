"""The adapter for the Gemini API: one request below the SDK's typed methods, its raw chunks put together by us."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.result import MediaUpload
from doc_processing_toolkit.providers.base import (
    Access,
    AdapterEvent,
    HeldFile,
    ModelCall,
    Reply,
    RequestFailedError,
)
from doc_processing_toolkit.providers.google.endings import CONTINUES, blocked, ending_failure
from doc_processing_toolkit.providers.google.errors import FILE_UNAVAILABLE, failure_of, streamed_failure, unfinished
from doc_processing_toolkit.providers.google.files import Desk, Placed, Shelf, look_up, upload_file
from doc_processing_toolkit.providers.google.posting import encoded, post_events
from doc_processing_toolkit.providers.google.request import Request, request_of
from doc_processing_toolkit.providers.google.sdk import Place, failures, load_sdk, make_client, options_of, place_of
from doc_processing_toolkit.providers.google.stream import ContentAccumulator

if TYPE_CHECKING:
    from google import genai

log = logging.getLogger(__name__)

# How long a connection is given to end after the finish reason, so that it can serve the next request.
_LAST_BYTES_S = 0.25
# How often one answer may stop at the request's limit and be asked to go on.
_MOST_CONTINUATIONS = 32


def google_adapter(access: Access) -> GoogleAdapter:
    """Return the adapter for Gemini models."""
    return GoogleAdapter(access)


@dataclass(frozen=True, slots=True)
class _Means:
    """What a request goes through: the SDK, its client, and the place with the key."""

    sdk: ModuleType
    client: genai.Client
    place: Place

    def desk(self, row: ModelRow, timeout_s: float) -> Desk:
        # With the address given the SDK sends the bytes to it, whatever host the server names for them.
        options = options_of(self.sdk, timeout_s).model_copy(update={"base_url": self.place.base_url})
        return Desk(self.client, options, row)


class GoogleAdapter:
    """Speaks the Gemini API. It keeps the SDK's client, and which files it has uploaded."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._client: tuple[Place, genai.Client] | None = None
        self._shelf = Shelf()
        self._warned: set[str] = set()

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Send one request; see :class:`~doc_processing_toolkit.providers.base.Adapter`.

        Media that cannot go inline is uploaded first. An answer that stops at the limit of one request is asked to
        go on, until it has ended.
        """
        means = await self._means(call.row)
        request = request_of(call)
        self._warn(call.row, request)
        collected, placed = ContentAccumulator(call.meter, call.row.model), Placed({}, [])
        try:
            request, placed = await self._placed(means, call, request)
            async with contextlib.aclosing(self._chunks(means, call, request.body, collected)) as chunks:
                async for chunk in chunks:
                    for delta in collected.feed(chunk):
                        yield delta
        except failures(means.sdk) as error:
            if not collected.is_complete:
                failure = failure_of(error, call.row, means.place.api_key)
                raise self._failure(failure, is_about_uploads=bool(placed.messages)) from error
        finally:
            collected.settle()
        reply = _answer(call.row, collected, means.place.api_key)
        yield replace(reply, media_uploads=self._shelf.news(placed.uploads), placed=placed.messages)

    async def upload(
        self, row: ModelRow, data: bytes, mime_type: str, name: str = "", *, timeout_s: float
    ) -> MediaUpload:
        """Upload bytes; see :class:`~doc_processing_toolkit.providers.base.FileHolder`."""
        means = await self._means(row)
        try:
            return await upload_file(means.desk(row, timeout_s), data, mime_type, name)
        except failures(means.sdk) as error:
            raise failure_of(error, row, means.place.api_key) from error

    async def check_file(self, row: ModelRow, uri: str, *, timeout_s: float) -> HeldFile:
        """Ask for a file; see :class:`~doc_processing_toolkit.providers.base.FileHolder`."""
        means = await self._means(row)
        try:
            return await look_up(means.desk(row, timeout_s), uri, means.sdk.errors)
        except failures(means.sdk) as error:
            raise failure_of(error, row, means.place.api_key) from error

    async def _placed(self, means: _Means, call: ModelCall, request: Request) -> tuple[Request, Placed]:
        """Return the request with references in the place of media that cannot go inline."""
        if not request.with_media:
            return request, Placed({}, [])
        desk = means.desk(call.row, call.read_timeout_s)
        placed = await self._shelf.place(desk, call.messages, request.with_media)
        if not placed.messages:
            return request, placed
        messages = [placed.messages.get(position, message) for position, message in enumerate(call.messages)]
        return request_of(replace(call, messages=messages)), placed

    async def _chunks(
        self, means: _Means, call: ModelCall, body: dict[str, Any], collected: ContentAccumulator
    ) -> AsyncGenerator[Any, None]:
        """Yield the chunks of an answer, of as many requests as it takes; each is collected before the next is read."""
        options = options_of(means.sdk, call.read_timeout_s)
        for _ in range(_MOST_CONTINUATIONS):
            pieces = await encoded(body)
            async with contextlib.aclosing(post_events(means.client, call.row.model, pieces, options)) as chunks:
                async for chunk in chunks:
                    yield chunk
                    if collected.is_complete:
                        break
                if collected.is_complete:
                    await _drain(chunks, collected, failures(means.sdk))
            if collected.finish_reason != CONTINUES or not collected.continuation:
                return
            config = {**body.get("generation_config", {}), "continuation_token": collected.go_on()}
            body = {**body, "generation_config": config}

    async def _means(self, row: ModelRow) -> _Means:
        """Return what requests go through now; a client is made anew when the key or the address has changed."""
        place = place_of(self._access, row)
        sdk = await load_sdk()
        if self._client is None or self._client[0] != place:
            # Files belong to the key that uploaded them.
            self._shelf = Shelf()
            self._client = (place, await asyncio.to_thread(make_client, sdk, place, row))
        return _Means(sdk, self._client[1], place)

    def _failure(self, failure: RequestFailedError, *, is_about_uploads: bool) -> RequestFailedError:
        """Return the failure; where a file of this adapter's has gone early, as one that sending again can mend."""
        if failure.code != FILE_UNAVAILABLE or not is_about_uploads or not self._shelf.forget():
            return failure
        return RequestFailedError(
            f"{failure}; it is uploaded anew",
            is_retryable=True,
            provider=failure.provider,
            status=failure.status,
            code=failure.code,
        )

    def _warn(self, row: ModelRow, request: Request) -> None:
        for warning in request.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                log.warning("%s: %s", row.id, warning)


async def _drain(
    chunks: AsyncGenerator[Any, None], collected: ContentAccumulator, ignored: tuple[type[Exception], ...]
) -> None:
    """Read what is left of an answer that is whole already: at most the account, so that the connection can go on."""
    with contextlib.suppress(TimeoutError, *ignored):
        async with asyncio.timeout(_LAST_BYTES_S):
            async for chunk in chunks:
                collected.feed(chunk)


def _answer(row: ModelRow, collected: ContentAccumulator, key: str) -> Reply:
    """Return the reply of a stream that has ended. Raises :class:`RequestFailedError` for one that is no answer."""
    if collected.error is not None:
        raise streamed_failure(collected.error, row, key)
    if collected.block_reason:
        raise blocked(row, collected.block_reason, collected.finish_message)
    if not collected.is_complete:
        raise unfinished(row)
    reply = collected.reply()
    failure = ending_failure(row, reply, collected.finish_reason, collected.finish_message)
    if failure is not None:
        raise failure
    return reply
