"""Where requests through the OpenAI SDK go: the arguments of the agent, else the environment, else the default."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.providers.base import Access


@dataclass(frozen=True, slots=True)
class Provider:
    """What a provider is called, where it is reached by default, and where its keys are made."""

    name: str
    base_url: str
    key_page: str


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address and the key for it."""

    base_url: str
    api_key: str = field(repr=False)

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


def address_of(access: Access, row: ModelRow, provider: Provider) -> Address:
    """Return where a row's requests go, and with which key; the environment is read now.

    Raises ``ProviderError`` that names the variable when there is no key, or an address or a key that cannot be.
    """
    return Address(_base_url(access, row, provider), _api_key(access, row, provider))


def _base_url(access: Access, row: ModelRow, provider: Provider) -> str:
    if access.base_url is not None:
        return access.base_url
    variable = row.address_variable
    given = os.environ.get(variable, "").strip() if variable else ""
    if not given:
        return provider.base_url
    try:
        Access(base_url=given).check()
    except ValueError as error:
        raise ProviderError(f"{variable} is no usable address: {error}", provider=row.provider) from error
    return given


def _api_key(access: Access, row: ModelRow, provider: Provider) -> str:
    if access.api_key:
        return access.api_key
    for variable in row.key_variables:
        key = os.environ.get(variable, "").strip()
        if not key:
            continue
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(
                f"{variable} holds a character that no key has; copy the key again",
                provider=row.provider,
                code="invalid_key",
            )
        return key
    raise ProviderError(
        f"{row.label} needs a key of {provider.name}: set {' or '.join(row.key_variables)}, or give api_key; "
        f"keys are made at {provider.key_page}",
        provider=row.provider,
        code="missing_key",
    )
