"""Where Fireworks is reached, and the adapter that speaks chat completions to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import Access
from doc_processing_toolkit.providers.chat.adapter import ChatAdapter
from doc_processing_toolkit.providers.chat.endpoint import Connection
from doc_processing_toolkit.providers.fireworks.request import fitted
from doc_processing_toolkit.providers.openai.address import Provider, address_of

FIREWORKS = Provider(
    "Fireworks", "https://api.fireworks.ai/inference/v1", "https://app.fireworks.ai/settings/users/api-keys"
)


def fireworks_adapter(access: Access) -> ChatAdapter:
    """Return the adapter for models that Fireworks serves."""
    return ChatAdapter(FireworksEndpoint(access))


class FireworksEndpoint:
    """Fireworks' address and key: the agent's, else the environment's, read for every request."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def open(self, row: ModelRow) -> AsyncGenerator[Progress | Connection, None]:
        """Yield the connection. Raises ``ProviderError`` that names the variable when there is no key."""
        address = address_of(self._access, row, FIREWORKS)
        yield Connection(address.base_url, address.api_key, adapted=fitted)
