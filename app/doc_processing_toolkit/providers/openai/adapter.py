"""The adapter for OpenAI Responses: one request through the SDK, its raw events put together by us."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from types import ModuleType

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.usage import TokenUsage
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.providers.base import Access, AdapterEvent, ModelCall, RequestFailedError
from doc_processing_toolkit.providers.openai.address import Address, Provider, address_of
from doc_processing_toolkit.providers.openai.errors import (
    REASONING_REFUSED,
    failure_of,
    streamed_failure,
    unfinished,
)
from doc_processing_toolkit.providers.openai.posting import drain, encoded, failures, load_sdk, post_events
from doc_processing_toolkit.providers.openai.replay import reasoning_in, retreat, sendable
from doc_processing_toolkit.providers.openai.request import body_of, keeps_payloads
from doc_processing_toolkit.providers.openai.stream import ResponseAccumulator

log = logging.getLogger(__name__)

OPENAI = Provider("OpenAI", "https://api.openai.com/v1", "https://platform.openai.com/api-keys")


def openai_adapter(access: Access) -> OpenAIAdapter:
    """Return the adapter for OpenAI's models."""
    return OpenAIAdapter(access)


class OpenAIAdapter:
    """Speaks Responses to OpenAI, statelessly: the history goes along with every request.

    Reasoning that the server cannot read (another account's, or no longer stored) is left out and the request sent
    once more; what was refused is remembered, so that the next request begins without it.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._unreadable: set[str] = set()

    async def stream(self, call: ModelCall) -> AsyncGenerator[AdapterEvent, None]:
        """Send one request; see :class:`~doc_processing_toolkit.providers.base.Adapter`."""
        address = address_of(self._access, call.row, OPENAI)
        sdk = await load_sdk()
        items: Sequence[Message] | None = sendable(call.messages, self._unreadable)
        while items is not None:
            shorter: list[Message] | None = None
            try:
                async with contextlib.aclosing(self._request(sdk, address, call, items)) as events:
                    async for event in events:
                        yield event
            except RequestFailedError as error:
                is_about_reasoning = error.status is not None and error.code in REASONING_REFUSED
                shorter = retreat(items) if is_about_reasoning else None
                if shorter is None:
                    raise
                self._forget(items, shorter)
            items = shorter

    def _forget(self, items: Sequence[Message], shorter: Sequence[Message]) -> None:
        refused = reasoning_in(items) - reasoning_in(shorter)
        self._unreadable |= refused
        log.warning("the server cannot read earlier reasoning; %d item(s) are left out from now on", len(refused))

    async def _request(
        self, sdk: ModuleType, address: Address, call: ModelCall, items: Sequence[Message]
    ) -> AsyncGenerator[AdapterEvent, None]:
        collected = ResponseAccumulator(call.meter, call.row.model)
        pieces = await encoded(body_of(call, items))
        try:
            events = post_events(sdk, address, "/responses", pieces, read_timeout_s=call.read_timeout_s)
            async with contextlib.aclosing(events):
                async for event in events:
                    for delta in collected.feed(event):
                        yield delta
                    if collected.is_complete or collected.failure is not None:
                        break
                if collected.is_complete:
                    await drain(sdk, events)
            if collected.failure is not None:
                raise streamed_failure(collected.failure, call.row, address)
            if not collected.is_complete:
                raise unfinished(call.row, address)
            reply = collected.reply(keeps_payloads=keeps_payloads(), has_tools=bool(call.tools))
        except failures(sdk) as error:
            raise failure_of(error, call.row, address) from error
        finally:
            if collected.has_begun and not collected.has_account:
                call.meter.usage = _estimated(call, collected)
        yield reply


def _estimated(call: ModelCall, collected: ResponseAccumulator) -> TokenUsage:
    """Return about what a broken request has used: the server tells only with its last event."""
    texts = [call.instructions or ""]
    for message in call.messages:
        texts.extend(_texts(message))
    written = estimate_tokens(collected.answered)
    return TokenUsage(
        input_tokens=estimate_tokens("".join(texts)),
        output_tokens=max(call.meter.usage.output_tokens, written),
    )


def _texts(item: Message) -> list[str]:
    """Return what of an item the model reads as text; media counts nothing here."""
    texts = [item[key] for key in ("content", "arguments", "output") if isinstance(item.get(key), str)]
    for key in ("content", "output"):
        parts = item.get(key)
        if isinstance(parts, list):
            texts += [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return texts
