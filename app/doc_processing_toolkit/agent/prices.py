"""What requests cost: the prices of ``genai-prices``, loaded off the event loop when the first one is needed."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.usage import TokenUsage

log = logging.getLogger(__name__)

_PACKAGE = "genai_prices"
# The providers whose prices the package knows under the same names. A server of the user's own is not among them.
_PRICED = frozenset({"anthropic", "fireworks", "google", "openai"})


def are_needed(row: ModelRow) -> bool:
    """Whether a request to this row may cost something that can be known."""
    return not row.is_free and row.provider in _PRICED


async def load_prices() -> None:
    """Load the prices, in a thread: it takes a quarter of a second and more. A second call does nothing."""
    if _loaded() is None:
        await asyncio.to_thread(_load)


def price(row: ModelRow, usage: TokenUsage, served_model: str = "") -> tuple[float, bool]:
    """Return what a request costs in US dollars, and whether that is known; an unknown price counts as 0.

    The model that served is looked up first, then the row's own. Price tiers go by the size of the prompt. Call
    :func:`load_prices` before; prices that are not loaded are unknown.
    """
    if row.is_free:
        return 0.0, True
    package = _loaded()
    if package is None or not are_needed(row):
        return 0.0, False
    used = _usage(package, usage)
    for model in dict.fromkeys((served_model or row.model, row.model)):
        try:
            found = package.calc_price(used, model, provider_id=row.provider, genai_request_timestamp=datetime.now(UTC))
        except LookupError:
            continue
        except ValueError as error:
            log.warning("the price of a request to %s cannot be told: %s", row.id, error)
            return 0.0, False
        return float(found.total_price), True
    return 0.0, False


def context_window(row: ModelRow) -> int | None:
    """Return how many tokens the row's model holds: the row's own figure, else the one beside the prices."""
    package = _loaded()
    if row.context_window is not None or package is None or not are_needed(row):
        return row.context_window
    try:
        found = package.calc_price(_usage(package, TokenUsage()), row.model, provider_id=row.provider)
    except (LookupError, ValueError):
        return None
    window = found.model.context_window
    return window if isinstance(window, int) else None


def _loaded() -> Any:
    package = sys.modules.get(_PACKAGE)
    # While another thread loads the package it is listed, but its functions are not there yet.
    return package if hasattr(package, "extract_usage") else None


def _load() -> None:
    try:
        importlib.import_module(_PACKAGE)
    except ImportError as error:
        log.warning("prices are not known, because %s cannot be loaded: %s", _PACKAGE, error)


def _usage(package: Any, usage: TokenUsage) -> Any:
    """Return the counts as the package takes them, where the parts never exceed the whole."""
    parts = usage.cached_input_tokens + usage.cache_write_tokens
    return package.Usage(
        input_tokens=max(usage.input_tokens, parts),
        cache_read_tokens=usage.cached_input_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        output_tokens=usage.output_tokens,
    )
