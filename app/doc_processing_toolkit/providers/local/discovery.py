"""Which OpenAI-compatible servers answer, and which models they offer: on this machine, or at an address."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from doc_processing_toolkit.core.errors import ProviderError

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

KNOWN_SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama-server": 8080, "vLLM": 8000}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_PROVIDER = "openai-compatible"
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_MAX_MODELS = 2_000
_MAX_ID_CHARACTERS = 256
# What the first request would load otherwise, on the event loop.
_LOADED_LATE = ("httpcore2", "httpcore2._backends.auto", "httpcore2._backends.anyio", "anyio._backends._asyncio")


@dataclass(frozen=True, slots=True)
class DiscoveredModel:
    """A model that a server offers. ``base_url`` ends where ``/chat/completions`` begins.

    ``context_window`` is in tokens, ``None`` where the server does not say.
    """

    id: str
    server: str
    base_url: str
    context_window: int | None = None


async def discover_servers(*, timeout_s: float = 0.3) -> list[DiscoveredModel]:
    """Return the models of the well-known servers that answer on 127.0.0.1 within ``timeout_s``, all asked at once.

    What does not answer, or answers something else, is left out.
    """
    library = await _load_client()
    async with _client(library, stays_here=True, verify=False) as client:
        asked = [_ask_nearby(library, client, name, port, timeout_s) for name, port in KNOWN_SERVERS.items()]
        return [model for models in await asyncio.gather(*asked) for model in models]


async def list_models(base_url: str, api_key: str | None = None, timeout_s: float = 5.0) -> list[DiscoveredModel]:
    """Return the models that the server at ``base_url`` offers; an address without a path means its ``/v1``.

    Raises ``ProviderError`` that says what is wrong: the address, the key, no server there, or one of another kind.
    """
    address = _checked(base_url)
    url = urlunsplit(address)
    shown = _shown(address)
    library = await _load_client()
    try:
        async with asyncio.timeout(timeout_s):
            body = await _body_at(library, address, api_key)
        return await asyncio.to_thread(_models_in, body, address.hostname or "", url)
    except TimeoutError as exc:
        raise _failure(f"The server at {shown} did not answer within {timeout_s:g} seconds. Is it running?") from exc
    except (library.HTTPError, OSError) as exc:
        raise _failure(
            f"No server answers at {shown} ({_words(exc)}). Is it running, and is the address right?"
        ) from exc
    except (library.InvalidURL, UnicodeError) as exc:
        raise _failure(f"The address {shown} is not usable. Write it like http://127.0.0.1:8080/v1.") from exc
    except _AnswerError as exc:
        raise _failure(f"The server at {shown} {exc}", status=exc.status) from exc


class _AnswerError(Exception):
    """The server answered, but not with a list of models. The text goes on after "The server at …"."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


async def _ask_nearby(
    library: ModuleType, client: httpx2.AsyncClient, name: str, port: int, timeout_s: float
) -> list[DiscoveredModel]:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(timeout_s):
            body = await _fetch(client, url, None)
            return await asyncio.to_thread(_models_in, body, name, url)
    except (TimeoutError, library.HTTPError, OSError, _AnswerError) as exc:
        log.debug("no models from %s on port %d: %s", name, port, type(exc).__name__)
        return []


async def _fetch(client: httpx2.AsyncClient, url: str, api_key: str | None) -> bytes:
    """Return the body of the model list, bounded. Raises what the client raises, and ``_AnswerError``."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    async with client.stream("GET", f"{url}/models", headers=headers) as response:
        _check_answer(response)
        body = bytearray()
        async for block in response.aiter_raw():
            body += block
            if len(body) > _MAX_ANSWER_BYTES:
                raise _AnswerError("sends far more than a list of models. Check the address.")
        return bytes(body)


def _client(library: ModuleType, *, stays_here: bool, verify: Any) -> httpx2.AsyncClient:
    """Return a client that follows nobody elsewhere; proxies are for what does not stay on this machine."""
    client: httpx2.AsyncClient = library.AsyncClient(
        verify=verify,
        trust_env=not stays_here,
        follow_redirects=False,
        timeout=None,
        limits=library.Limits(max_keepalive_connections=0),
    )
    return client


async def _body_at(library: ModuleType, address: SplitResult, api_key: str | None) -> bytes:
    verify: Any = False
    if address.scheme == "https":
        verify = await asyncio.to_thread(library.create_ssl_context)  # reads the certificates: 50 ms and more
    async with _client(library, stays_here=address.hostname in _LOOPBACK, verify=verify) as client:
        return await _fetch(client, urlunsplit(address), api_key)


def _check_answer(response: httpx2.Response) -> None:
    status = response.status_code
    if status in (401, 403):
        raise _AnswerError(f"wants an API key, or does not accept the one given (status {status}).", status)
    if 300 <= status < 400:
        raise _AnswerError("sends its visitors to another address. Enter that one.", status)
    if status == 404:
        raise _AnswerError("has no list of models there. The address usually ends in /v1.", status)
    if status != 200:
        raise _AnswerError(f"answered with status {status} instead of its models. Try again later.", status)
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise _AnswerError("sends compressed data that was not asked for. Check the address.", status)


def _models_in(body: bytes, server: str, base_url: str) -> list[DiscoveredModel]:
    """Return the models of an answer; entries that are no models are left out. Raises ``_AnswerError``."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise _AnswerError("does not answer as an OpenAI-compatible server does. Check the address.") from exc
    entries = answer.get("data") if isinstance(answer, dict) else None
    if entries is None and isinstance(answer, dict) and answer.get("object") == "list":
        entries = []  # Ollama without a model says null
    if not isinstance(entries, list):
        raise _AnswerError("does not list models as an OpenAI-compatible server does. Check the address.")
    found: dict[str, DiscoveredModel] = {}
    for entry in entries[:_MAX_MODELS]:
        if isinstance(entry, dict) and (model_id := _usable_id(entry.get("id"))):
            found[model_id] = DiscoveredModel(model_id, server, base_url, _context_window(entry))
    return list(found.values())


def _usable_id(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_ID_CHARACTERS or not value.isprintable():
        return ""
    return value.strip()


def _context_window(entry: Mapping[str, Any]) -> int | None:
    """Return the window that a server gives a request: vLLM says ``max_model_len``, llama-server ``meta.n_ctx``."""
    meta = entry.get("meta")
    for value in (entry.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _checked(base_url: str) -> SplitResult:
    """Return the address in parts, with ``/v1`` where it has no path. Raises ``ProviderError`` for an unusable one."""
    text = base_url.strip()
    try:
        address = urlsplit(text)
        is_whole = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
        usable = is_whole and text.isprintable() and " " not in text
    except ValueError:
        usable = False
    if not usable:
        raise _failure("The address of a server starts with http:// or https://, like http://127.0.0.1:8080/v1.")
    if address.username is not None or address.password is not None:
        raise _failure("A key or password does not belong into the address of a server; give it as the API key.")
    return address._replace(path=address.path.rstrip("/") or "/v1", query="", fragment="")


def _shown(address: SplitResult) -> str:
    return f"{address.scheme}://{address.netloc}{address.path}"


def _failure(message: str, status: int | None = None) -> ProviderError:
    return ProviderError(message, provider=_PROVIDER, status=status)


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


async def _load_client() -> ModuleType:
    """Return ``httpx2``; its first import takes a tenth of a second and happens in a thread."""
    if "httpx2" in sys.modules and _LOADED_LATE[-1] in sys.modules:
        return sys.modules["httpx2"]
    return await asyncio.to_thread(_import_client)


def _import_client() -> ModuleType:
    client = importlib.import_module("httpx2")
    for name in _LOADED_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return client
