"""The way to the local model: its lease is entered with progress, marked at the first token, and always given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

import pytest

from doc_processing_toolkit import events
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.base import AdapterEvent, ModelCall, Reply, RequestFailedError
from doc_processing_toolkit.providers.chat.adapter import ChatAdapter
from doc_processing_toolkit.providers.chat.endpoint import LocalEndpoint
from doc_processing_toolkit.providers.local import LocalModel
from doc_processing_toolkit.registry import find
from support.chat_server import ChatServer, Status, Stream, Wait, chunk


class FakeLease:
    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.api_key = "lease-key"
        self.stop = ("\nExtra:",)
        self.request_fields = {"return_progress": True, "cache_prompt": True}
        self.is_marked = False

    def mark_prompt_read(self) -> None:
        self.is_marked = True


class FakeService:
    """Hands out leases on a test server and notes what became of them."""

    def __init__(self, base_url: str, *, waits: float = 0.0) -> None:
        self.lease_given = FakeLease(base_url)
        self.models: list[LocalModel] = []
        self.entered = self.left = 0
        self.waits = waits

    def lease(
        self, model: LocalModel, *, on_progress: Callable[[Progress], None] | None = None
    ) -> AbstractAsyncContextManager[Any]:
        self.models.append(model)
        service = self

        class Context(AbstractAsyncContextManager[Any]):
            async def __aenter__(self) -> FakeLease:
                assert on_progress is not None
                on_progress(Progress("waiting", 1, unit="requests"))
                await asyncio.sleep(service.waits)
                on_progress(Progress("starting_model"))
                service.entered += 1
                return service.lease_given

            async def __aexit__(
                self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
            ) -> None:
                service.left += 1

        return Context()


def call(text: str = "q", model: str = "local/gemma-3-270m") -> ModelCall:
    content = [{"type": "text", "text": "Document: d"}, {"type": "text", "text": text}]
    return ModelCall(row=find(model), messages=({"role": "user", "content": content},), settings={"temperature": 0.0})


async def collect(service: FakeService, asked: ModelCall) -> list[AdapterEvent]:
    return [event async for event in ChatAdapter(LocalEndpoint(service)).stream(asked)]  # type: ignore[arg-type]


def progress_chunk(done: int) -> dict[str, Any]:
    return chunk({"content": None}, prompt_progress={"total": 100, "cache": 40, "processed": done, "time_ms": 1})


def test_a_request_to_the_local_model_carries_what_row_and_lease_say() -> None:
    with ChatServer([Stream([progress_chunk(50), progress_chunk(100), " Hi", "\n"])]) as server:
        service = FakeService(server.base_url)
        seen = asyncio.run(collect(service, call()))
    body = server.asked[0].body
    assert server.asked[0].headers["authorization"] == "Bearer lease-key"
    assert body["messages"] == [{"role": "user", "content": "Document: d\n\nq"}]
    assert body["stop"] == ["\nUser:", "\nConversation", "\nQuestion:", "\nExtra:"]
    assert (body["temperature"], body["return_progress"], body["cache_prompt"]) == (0.0, True, True)
    assert seen[:-1] == [
        Progress("waiting", 1, unit="requests"),
        Progress("starting_model"),
        Progress("reading_prompt", 50, 100, "tokens"),
        Progress("reading_prompt", 100, 100, "tokens"),
        events.TextDelta("Hi"),
    ]
    assert isinstance(seen[-1], Reply)
    assert seen[-1].text == "Hi"
    assert service.lease_given.is_marked
    assert (service.entered, service.left) == (1, 1)
    assert service.models == [LocalModel(path=None, context_tokens=16384)]


def test_a_users_own_file_is_served_from_where_it_is() -> None:
    with ChatServer(["ok"]) as server:
        service = FakeService(server.base_url)
        asyncio.run(collect(service, call(model="local//models/My.gguf")))
    assert str(service.models[0].path) == "/models/My.gguf"


@pytest.mark.parametrize(
    ("pieces", "is_marked"), [([Wait(30)], False), ([progress_chunk(5), Wait(30)], False), (["x", Wait(30)], True)]
)
def test_a_lease_is_given_back_unmarked_when_the_prompt_was_still_being_read(
    pieces: list[Any], is_marked: bool
) -> None:
    with ChatServer([Stream(pieces)]) as server:
        service = FakeService(server.base_url)

        async def main() -> None:
            task = asyncio.ensure_future(collect(service, call()))
            while not server.asked:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        server.wait_closed()
    assert service.lease_given.is_marked is is_marked
    assert service.left == 1


def test_a_refusal_means_that_the_server_is_done_with_the_prompt() -> None:
    with ChatServer([Status(400, {"error": {"message": "bad"}})]) as server:
        service = FakeService(server.base_url)
        with pytest.raises(RequestFailedError):
            asyncio.run(collect(service, call()))
    assert service.lease_given.is_marked
    assert service.left == 1


def test_cancelling_while_the_model_starts_leaves_no_lease_behind() -> None:
    service = FakeService("http://127.0.0.1:9/v1", waits=30)

    async def main() -> None:
        task = asyncio.ensure_future(collect(service, call()))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert service.entered == service.left == 0


def test_a_stream_without_its_end_leaves_the_lease_marked_only_after_a_token() -> None:
    with ChatServer([Stream([progress_chunk(5)], finish=None), Stream(["x"], finish=None)]) as server:
        for is_marked in (False, True):
            service = FakeService(server.base_url)
            with pytest.raises(RequestFailedError, match="before it was complete"):
                asyncio.run(collect(service, call()))
            assert service.lease_given.is_marked is is_marked
