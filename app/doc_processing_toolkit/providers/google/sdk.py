"""The Google SDK: loaded when first needed, and told everything that it would take from the environment."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import Access
from doc_processing_toolkit.providers.openai.address import Provider, address_of

if TYPE_CHECKING:
    from google import genai
    from google.genai import types

GOOGLE = Provider("Google", "https://generativelanguage.googleapis.com", "https://aistudio.google.com/apikey")
# The SDK's own default; GOOGLE_GENAI_API_VERSION would change it unseen.
API_VERSION = "v1"
_TRANSPORT = "doc_processing_toolkit.providers.google.transport"
# What the first request would load otherwise, on the event loop.
_LOADED_LATE = ("google.genai", "google.genai.errors", "google.genai.files", _TRANSPORT)
_VERSION = re.compile(r"v\d+(alpha|beta)?\d*")


class UnreadableAnswerError(ValueError):
    """An answer that the SDK could not make anything of."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where requests go: the server's address, the version of the API there, and the key."""

    base_url: str
    api_version: str
    api_key: str = field(repr=False)


def place_of(access: Access, row: ModelRow) -> Place:
    """Return where a row's requests go; an address may end in the version (``…/v1beta``).

    Raises ``ProviderError`` that names the variable when there is no key, or an address or a key that cannot be.
    """
    address = address_of(access, row, GOOGLE)
    base, _, last = address.base_url.rstrip("/").rpartition("/")
    if urlsplit(base).hostname and _VERSION.fullmatch(last):
        return Place(base, last, address.api_key)
    return Place(address.base_url.rstrip("/"), API_VERSION, address.api_key)


async def load_sdk() -> ModuleType:
    """Return ``google.genai``; the first import takes most of a second and happens in a thread."""
    # A module that another thread still loads is in sys.modules already, so the last one of the list must be there.
    if all(name in sys.modules for name in _LOADED_LATE):
        return sys.modules["google.genai"]
    return await asyncio.to_thread(_import_sdk)


def make_client(sdk: ModuleType, place: Place, row: ModelRow) -> genai.Client:
    """Return a client that sends through the running loop's shared HTTP client.

    Raises ``ProviderError`` for what the SDK does not take.
    """
    transport = sys.modules[_TRANSPORT]
    try:
        client: genai.Client = sdk.Client(
            api_key=place.api_key,
            vertexai=False,
            # GOOGLE_GENAI_CLIENT_MODE would have it record its traffic, or play some.
            debug_config=sdk.client.DebugConfig(client_mode="", replays_directory="", replay_id=""),
            http_options=sdk.types.HttpOptions(
                base_url=place.base_url,
                api_version=place.api_version,
                # Without an injected client the SDK takes aiohttp where it finds it.
                httpx_async_client=transport.sdk_http_client(),
                # It would read the certificates twice, 50 ms, for blocking calls and for websockets; both are not used.
                httpx_client=transport.unused_http_client(),
                async_client_args={"ssl": False},
            ),
        )
    except (ImportError, ValueError) as error:
        # An ephemeral key, or GOOGLE_GENAI_HTTP_CLIENT names a client that is not installed.
        raise ProviderError(f"the Google SDK cannot be used: {error}", provider=row.provider, code="sdk") from error
    return client


def options_of(sdk: ModuleType, read_timeout_s: float) -> types.HttpOptions:
    """Return the options of one request. The SDK has no timeout by itself, takes milliseconds, and tells the server."""
    options: types.HttpOptions = sdk.types.HttpOptions(timeout=max(1, math.ceil(read_timeout_s * 1000)))
    return options


def failures(sdk: ModuleType) -> tuple[type[Exception], ...]:
    """Return what a request may raise: the SDK's errors, the HTTP client's, and what comes of bad JSON."""
    import httpx2

    return (sdk.errors.APIError, httpx2.HTTPError, ValueError)


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Turn what the SDK fails with on answers of another shape than it expects into an error that says so."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise UnreadableAnswerError(f"{type(error).__name__}: {error}") from error


def _import_sdk() -> ModuleType:
    for name in _LOADED_LATE:
        importlib.import_module(name)
    return sys.modules["google.genai"]
