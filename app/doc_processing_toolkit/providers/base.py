"""The seam to a wire API: what one request holds, what an adapter hands back, and which adapter speaks for a row."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable
from urllib.parse import SplitResult, urlsplit

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress, ReasoningDelta, TextDelta
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.result import MediaUpload
from doc_processing_toolkit.core.usage import TokenUsage

_ADAPTERS: Mapping[str, tuple[str, str]] = {
    "anthropic": ("doc_processing_toolkit.providers.anthropic.adapter", "anthropic_adapter"),
    "google": ("doc_processing_toolkit.providers.google.adapter", "google_adapter"),
    "local": ("doc_processing_toolkit.providers.chat.adapter", "local_adapter"),
    "fireworks": ("doc_processing_toolkit.providers.fireworks.endpoint", "fireworks_adapter"),
    "openai": ("doc_processing_toolkit.providers.openai.adapter", "openai_adapter"),
    "openai-compatible": ("doc_processing_toolkit.providers.chat.adapter", "compatible_adapter"),
}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(slots=True)
class Meter:
    """What a request has used so far; the adapter keeps it up to date, for a request that may not reach its end."""

    usage: TokenUsage = field(default_factory=TokenUsage)
    served_model: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request: the whole conversation to send, in the row's dialect, and the settings that the row takes.

    ``container`` is the id of the provider's container to work in (H12); ``is_continued`` says that a later request
    is likely to begin with these messages, so that caching them pays.
    """

    row: ModelRow
    messages: Sequence[Message]
    instructions: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    read_timeout_s: float = 600.0
    meter: Meter = field(default_factory=Meter)
    container: str | None = None
    is_continued: bool = False


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A tool call that the model asks for. ``problem`` says why its arguments could not be read, else it is ``""``."""

    id: str
    name: str
    arguments: dict[str, Any]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a request: the answer in the dialect's own shape, and what it took.

    ``messages`` are the native messages to go into the transcript; ``stop_reason`` is ``end_turn``, ``tool_use``,
    ``max_tokens``, ``stop_sequence``, ``refusal``, ``pause_turn`` (send the conversation again as it now is, and the
    model goes on) or the server's own word. ``input_transformations`` says what the server left out of the request,
    ``media_uploads`` which files were uploaded for it (J12). ``placed`` are messages of the call, by position, whose
    media lies with the provider now: they are to be sent and stored like this from now on (J10).
    """

    messages: tuple[Message, ...]
    text: str
    calls: tuple[CallAsked, ...]
    stop_reason: str
    usage: TokenUsage
    served_model: str
    container_id: str | None = None
    input_transformations: tuple[dict[str, Any], ...] = ()
    media_uploads: tuple[MediaUpload, ...] = ()
    placed: Mapping[int, Message] = field(default_factory=dict)


AdapterEvent = Progress | TextDelta | ReasoningDelta | Reply


class RequestFailedError(ProviderError):
    """A request that failed. ``is_retryable`` says whether sending it again can help.

    ``is_mended`` says that the adapter has found what was wrong and will leave it out: then the request is sent again
    at once, however many retries the agent allows.
    """

    def __init__(self, message: str, *, is_retryable: bool, is_mended: bool = False, **details: Any) -> None:
        super().__init__(message, **details)
        self.is_retryable = is_retryable
        self.is_mended = is_mended


class Adapter(Protocol):
    """One wire API. An adapter decides nothing: it sends one request and passes on what comes."""

    def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Send one request and yield its events; the last one is the :class:`Reply`.

        Raises :class:`RequestFailedError` for what the server or the connection did, ``ProviderError`` for what
        sending again cannot mend (no key, no model file). A stream that ends without its terminal event is an error.
        Closing the generator closes the connection.
        """


@dataclass(frozen=True, slots=True)
class HeldFile:
    """What a provider says of an uploaded file; ``expiration_time`` is UTC, ``None`` where it does not say."""

    is_usable: bool
    expiration_time: datetime | None = None


@runtime_checkable
class FileHolder(Protocol):
    """An adapter whose provider holds uploaded files for a time; see :class:`Adapter` for what these raise.

    ``timeout_s`` bounds each step in seconds.
    """

    async def upload(
        self, row: ModelRow, data: bytes, mime_type: str, name: str = "", *, timeout_s: float
    ) -> MediaUpload:
        """Upload bytes and return when the file can be used."""

    async def check_file(self, row: ModelRow, uri: str, *, timeout_s: float) -> HeldFile:
        """Ask for a file by its URI; one that is gone, or another key's, is not usable."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is reached: the arguments that the agent was given."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    def check(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an address or a key that cannot be."""
        for name in ("base_url", "api_key"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} is text, not a {type(value).__name__}")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("api_key holds a character that no key has; copy it again")
        if self.base_url is None:
            return
        address = _split(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"base_url is {self.base_url!r}; it must be an address such as 'http://127.0.0.1:8080/v1'")
        if "@" in address.netloc:
            raise ValueError("base_url holds a user name; give the key as api_key")


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def make_adapter(row: ModelRow, access: Access) -> Adapter:
    """Return the adapter that speaks for a row. Raises ``ProviderError`` for a provider this version lacks."""
    entry = _ADAPTERS.get(row.provider)
    if entry is None:
        raise ProviderError(
            f"this version of the toolkit does not speak to {row.provider} yet; "
            f"choose a model of {', '.join(sorted(_ADAPTERS))}",
            provider=row.provider,
        )
    module = importlib.import_module(entry[0])
    adapter: Adapter = getattr(module, entry[1])(access)
    return adapter
