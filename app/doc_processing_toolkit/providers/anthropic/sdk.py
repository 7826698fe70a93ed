"""The Anthropic SDK: loaded when first needed, and told everything that it would take from the environment."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from doc_processing_toolkit.providers.http import CONNECT_TIMEOUT_S

# Not part of the wire: the SDK's description of this machine.
_STAINLESS = (
    "X-Stainless-Lang",
    "X-Stainless-Package-Version",
    "X-Stainless-OS",
    "X-Stainless-Arch",
    "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version",
    "X-Stainless-Async",
    "X-Stainless-Retry-Count",
    "X-Stainless-Timeout",
    "X-Stainless-Read-Timeout",
)


async def load_sdk() -> ModuleType:
    """Return the SDK; the first import takes seconds and happens in a thread."""
    sdk = sys.modules.get("anthropic")
    # While another thread loads it, it stands in sys.modules half done; __spec__ tells.
    if sdk is None or getattr(sdk.__spec__, "_initializing", False):
        sdk = await asyncio.to_thread(importlib.import_module, "anthropic")
    return sdk


def client_headers(sdk: ModuleType, key: str) -> dict[str, Any]:
    """Return the headers of every request: the key given, and nothing that the SDK would take from the environment."""
    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    ambient = [line.partition(":")[0].strip() for line in lines if ":" in line]
    return {**dict.fromkeys(ambient, sdk.Omit()), "Authorization": f"Bearer {key}"}


def request_options(sdk: ModuleType, betas: Sequence[str], size: int, read_timeout_s: float) -> dict[str, Any]:
    """Return the SDK's options for one request with a body of ``size`` bytes."""
    import httpx2

    headers: dict[str, Any] = {"Content-Type": "application/json", "Content-Length": str(size)}
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return {
        "headers": {**headers, **dict.fromkeys(_STAINLESS, sdk.Omit())},
        "timeout": httpx2.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S),
    }
