"""One request through the Google SDK: our own body in pieces, the raw events of the answer."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from doc_processing_toolkit.core.jsonpieces import json_pieces
from doc_processing_toolkit.providers.google.events import events
from doc_processing_toolkit.providers.google.sdk import readable
from doc_processing_toolkit.providers.http import kept_responses

if TYPE_CHECKING:
    import httpx2
    from google import genai
    from google.genai import types

_LARGE_PIECE = 1 << 16
_COLLECTIONS = ("models/", "tunedModels/")


async def encoded(body: Mapping[str, Any]) -> list[bytes]:
    """Return the body as pieces of UTF-8; the loop gets its turn between large ones."""
    pieces: list[bytes] = []
    for piece in json_pieces(dict(body)):
        # Half a surrogate pair, in a tool's description, must not stop a request.
        pieces.append(piece.encode("utf-8", "replace"))
        if len(piece) > _LARGE_PIECE:
            await asyncio.sleep(0)
    return pieces


async def post_events(
    client: genai.Client, model: str, pieces: Sequence[bytes], options: types.HttpOptions
) -> AsyncGenerator[Any, None]:
    """Post a body to a model and yield the events of its answer, each as the plain value that was sent.

    Raises the SDK's ``APIError``, ``httpx2.HTTPError`` or ``ValueError``. Closing the generator closes the connection,
    which the SDK's own streams do not do.
    """
    response = await _opened(client, _path(model), pieces, options)
    try:
        async with contextlib.aclosing(events(response)) as values:
            async for value in values:
                yield value
    finally:
        await response.aclose()


async def _opened(
    client: genai.Client, path: str, pieces: Sequence[bytes], options: types.HttpOptions
) -> httpx2.Response:
    """Send the request and return the response, its body still to be read.

    The SDK's typed methods cost 650 ms of the loop at a thousand messages, look at each chunk four times and lose
    parts of a kind that they do not know, so this is the request below them; it makes the address and the headers,
    and raises what the status says.
    """
    transport = sys.modules["doc_processing_toolkit.providers.google.transport"]
    with transport.sending(pieces), kept_responses() as responses:
        try:
            with readable():
                # What it returns would read the body; nothing has been read when it is dropped.
                await client._api_client.async_request_streamed("post", path, {}, options)
        except BaseException:
            for response in responses:
                await response.aclose()
            raise
    return responses[-1]


def _path(model: str) -> str:
    name = model if model.startswith(_COLLECTIONS) else f"models/{model}"
    return f"{quote(name, safe='/@')}:streamGenerateContent?alt=sse"
