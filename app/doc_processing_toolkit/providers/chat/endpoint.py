"""Where a chat request goes: a server with an address and a key, or the local model that is started for it."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.progress import WatchedWork

if TYPE_CHECKING:
    from doc_processing_toolkit.providers.local import Lease, LocalModelService

NO_KEY = "none"


def _nothing() -> None:
    """Most servers need not be told."""


def _as_it_is(body: dict[str, Any]) -> dict[str, Any]:
    """Most servers take the body as the dialect writes it."""
    return body


@dataclass(frozen=True, slots=True)
class Connection:
    """An address that answers now, and what a request to it needs besides the row's own.

    ``mark_prompt_read`` is called at the first generated token, at a clean end, and when the server refuses.
    ``adapted`` returns a request's body as this server takes it. ``is_short_lived`` says that the server may be gone
    before the next request, so that no connection to it is kept.
    """

    base_url: str
    api_key: str
    mark_prompt_read: Callable[[], None] = _nothing
    fields: Mapping[str, Any] = field(default_factory=dict)
    stop: tuple[str, ...] = ()
    adapted: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is
    is_short_lived: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether the server runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def is_encrypted(self) -> bool:
        """Whether the address is https."""
        return urlsplit(self.base_url).scheme == "https"


class Endpoint(Protocol):
    """A place that chat requests go to."""

    def open(self, row: ModelRow) -> AsyncGenerator[Progress | Connection, None]:
        """Yield progress, then the connection once; what was opened is released when the generator is closed."""


class ServerEndpoint:
    """A server that runs already, by address."""

    def __init__(self, base_url: str | None, api_key: str | None) -> None:
        self._base_url = base_url
        self._api_key = api_key

    async def open(self, row: ModelRow) -> AsyncGenerator[Progress | Connection, None]:
        """Yield the connection. Raises ``ProviderError`` when there is no usable address."""
        address = urlsplit(self._base_url or "")
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ProviderError(
                f"{row.id} needs base_url, the address of its server, such as 'http://127.0.0.1:8080/v1'; "
                f"it is {self._base_url!r}",
                provider=row.provider,
            )
        yield Connection(str(self._base_url), self._api_key or NO_KEY)


class LocalEndpoint:
    """The local model: its server is started when first needed, and serves one request at a time."""

    def __init__(self, service: LocalModelService | None = None) -> None:
        self._service = service

    async def open(self, row: ModelRow) -> AsyncGenerator[Progress | Connection, None]:
        """Yield progress while the model starts and while others are served, then the connection."""
        from doc_processing_toolkit.providers.local import LocalModel, shared_service

        service = self._service or shared_service()
        model = LocalModel(path=Path(row.weights) if row.weights else None, context_tokens=row.context_window or 0)

        async def enter(report: Callable[[Progress], None]) -> tuple[Lease, contextlib.AsyncExitStack]:
            stack = contextlib.AsyncExitStack()
            return await stack.enter_async_context(service.lease(model, on_progress=report)), stack

        work = WatchedWork(enter, undo=lambda entered: entered[1].aclose())
        async with contextlib.aclosing(work.reports()) as reports:
            async for progress in reports:
                yield progress
        lease, stack = work.result
        async with stack:
            yield Connection(
                lease.base_url,
                lease.api_key,
                lease.mark_prompt_read,
                lease.request_fields,
                tuple(lease.stop),
                is_short_lived=True,
            )
