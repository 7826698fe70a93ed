"""Servers are found on this machine in 300 ms, whatever else answers there, and asked by address in plain words."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.providers.local import DiscoveredModel, discover_servers, discovery, list_models
from unit.local.talking_server import answer, models, talking

HUGE = b'{"data": [' + b'{"id": "x"},' * 600_000 + b'{"id": "y"}]}'
DEEP = b"[" * 500_000

NO_MODELS = {
    "garbage": b"\x00\xff\x16 no http at all\r\n\r\n",
    "nothing": b"",
    "a page": answer(b"<html>Tomcat</html>"),
    "deep": answer(DEEP),
    "other json": answer({"status": "ok"}),
    "a list": answer([1, 2]),
    "a word": answer(b'"models"'),
    "not found": answer({"error": "x"}, status="404 Not Found"),
    "refused": answer({"error": "x"}, status="401 Unauthorized"),
    "broken": answer(b"", status="500 Oops"),
    "no content": answer(b"", status="204 No Content"),
    "moved": answer(b"", status="302 Found", headers=["Location: http://127.0.0.1:9/v1/models"]),
    "huge": answer(HUGE),
    "compressed": answer(gzip.compress(HUGE), headers=["Content-Encoding: gzip"]),
    "cut": answer(b'{"data": []}').replace(b"Content-Length: 12", b"Content-Length: 5000"),
    "not utf-8": answer(b'{"data": [{"id": "\xff\xfe"}]}'),
}


@pytest.fixture
def nearby(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that says which ports the well-known servers have."""
    return lambda **ports: monkeypatch.setattr(discovery, "KNOWN_SERVERS", ports)


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_models_of_all_servers_are_found_with_their_window_where_it_is_told(nearby: Callable[..., None]) -> None:
    async def scenario() -> tuple[list[DiscoveredModel], list[int]]:
        async with (
            talking(models({"id": "llama3.2:3b", "object": "model", "owned_by": "library"})) as (ollama, _),
            talking(models({"id": "Qwen/Qwen3-8B", "max_model_len": 32768})) as (vllm, _),
            talking(models({"id": "local", "meta": {"n_ctx": 8192, "n_ctx_train": 131072}}, {"id": "b"})) as (cpp, _),
        ):
            nearby(Ollama=ollama, vLLM=vllm, **{"llama-server": cpp, "LM Studio": free_port()})
            return await discover_servers(timeout_s=2), [ollama, vllm, cpp]

    found, (ollama, vllm, cpp) = asyncio.run(scenario())
    assert found == [
        DiscoveredModel("llama3.2:3b", "Ollama", f"http://127.0.0.1:{ollama}/v1", None),
        DiscoveredModel("Qwen/Qwen3-8B", "vLLM", f"http://127.0.0.1:{vllm}/v1", 32768),
        DiscoveredModel("local", "llama-server", f"http://127.0.0.1:{cpp}/v1", 8192),
        DiscoveredModel("b", "llama-server", f"http://127.0.0.1:{cpp}/v1", None),
    ]


@pytest.mark.parametrize("reply", NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_list_is_left_out_and_does_not_hide_the_others(
    nearby: Callable[..., None], reply: bytes
) -> None:
    async def scenario() -> list[DiscoveredModel]:
        async with talking(reply) as (odd, _), talking(models({"id": "good"})) as (good, _):
            nearby(Ollama=odd, vLLM=good)
            return await discover_servers(timeout_s=2)

    assert [each.id for each in asyncio.run(scenario())] == ["good"]


@pytest.mark.parametrize("kind", ["never answers", "drips", "accepts nothing", "head only"])
def test_slow_servers_cost_300_ms_in_all(nearby: Callable[..., None], kind: str) -> None:
    whole = models({"id": "slow"})

    async def scenario() -> tuple[list[DiscoveredModel], float]:
        nearby()
        await discover_servers()  # loads the client
        pieces = {
            "never answers": [],
            "drips": [bytes([byte]) for byte in whole],
            "accepts nothing": [],
            "head only": [whole[:60]],
        }[kind]
        async with (
            talking(*pieces, pause_s=0.05, ends=False) as (slow, _),
            talking(models({"id": "good"})) as (good, _),
        ):
            with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
                port = deaf.getsockname()[1] if kind == "accepts nothing" else slow
                nearby(Ollama=port, **{"LM Studio": port, "llama-server": port, "vLLM": good})
                started = time.perf_counter()
                return await discover_servers(), time.perf_counter() - started

    found, took = asyncio.run(scenario())
    assert [each.id for each in found] == ["good"]
    assert took < 0.3 + 0.3  # what a loaded machine may add


def test_only_this_machine_is_asked_without_a_key_and_past_every_proxy(
    nearby: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    asked: list[object] = []
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **keywords: Any) -> Any:
        asked.append(host)
        return real(host, *arguments, **keywords)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    async def scenario() -> list[str]:
        async with talking(models({"id": "good"})) as (port, heads):
            nearby(Ollama=port)
            assert len(await discover_servers(timeout_s=2)) == 1
            return heads

    (head,) = asyncio.run(scenario())
    assert head.startswith("GET /v1/models HTTP/1.1")
    assert "s3cret" not in head
    assert "authorization" not in head.lower()
    assert set(asked) <= {"127.0.0.1", b"127.0.0.1"}


def test_the_well_known_servers_are_those_of_the_four_programs() -> None:
    assert discovery.KNOWN_SERVERS == {"Ollama": 11434, "LM Studio": 1234, "llama-server": 8080, "vLLM": 8000}


def test_discovery_can_be_cancelled_at_once(nearby: Callable[..., None]) -> None:
    async def scenario() -> float:
        async with talking(pause_s=0, ends=False) as (port, _):
            nearby(Ollama=port)
            task = asyncio.create_task(discover_servers(timeout_s=30))
            await asyncio.sleep(0.2)
            started = time.perf_counter()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return time.perf_counter() - started

    assert asyncio.run(scenario()) < 0.2


def test_entries_that_are_no_models_are_left_out_of_a_list(nearby: Callable[..., None]) -> None:
    odd = [
        None,
        5,
        "x",
        {},
        {"id": None},
        {"id": 7},
        {"id": ""},
        {"id": "a\nb"},
        {"id": "x" * 500},
        {"id": "a\x1b[31m"},
    ]
    windows = [{"id": "w1", "max_model_len": "many"}, {"id": "w2", "max_model_len": True}, {"id": "w3", "meta": [1]}]

    async def scenario() -> list[DiscoveredModel]:
        async with talking(models(*odd, *windows, {"id": "w1"}, {"id": "w4", "max_model_len": -1})) as (port, _):
            nearby(Ollama=port)
            return await discover_servers(timeout_s=2)

    assert [(each.id, each.context_window) for each in asyncio.run(scenario())] == [
        ("w1", None),
        ("w2", None),
        ("w3", None),
        ("w4", None),
    ]


def by_address(
    *pieces: bytes, path: str = "", key: str | None = None, timeout_s: float = 2, ends: bool = True
) -> tuple[list[DiscoveredModel], list[str], int]:
    """Ask a server by its address; return the models, the requests and the port."""

    async def scenario() -> tuple[list[DiscoveredModel], list[str], int]:
        async with talking(*pieces, ends=ends) as (port, heads):
            return await list_models(f"http://127.0.0.1:{port}{path}", key, timeout_s), heads, port

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("path", "asked", "base"),
    [
        ("", "/v1/models", "/v1"),
        ("/", "/v1/models", "/v1"),
        ("/v1", "/v1/models", "/v1"),
        ("/v1/", "/v1/models", "/v1"),
        ("/api/openai//", "/api/openai/models", "/api/openai"),
        ("/v1?x=1#top", "/v1/models", "/v1"),
    ],
)
def test_an_address_is_understood_as_people_write_it(path: str, asked: str, base: str) -> None:
    found, heads, port = by_address(models({"id": "m"}), path=path)
    assert heads[0].startswith(f"GET {asked} HTTP/1.1")
    assert found == [DiscoveredModel("m", "127.0.0.1", f"http://127.0.0.1:{port}{base}", None)]


def test_the_key_is_sent_as_a_bearer_token_and_never_told() -> None:
    _, heads, _ = by_address(models({"id": "m"}), key="s3cret")
    assert "authorization: bearer s3cret" in heads[0].lower()
    with pytest.raises(ProviderError) as caught:
        by_address(answer(b"{}", status="403 Forbidden"), key="s3cret")
    assert "s3cret" not in str(caught.value)
    assert caught.value.status == 403


def test_a_server_without_models_has_an_empty_list() -> None:
    assert by_address(answer({"object": "list", "data": None}))[0] == []
    assert by_address(models())[0] == []


WORDS = {
    "garbage": "No server answers",
    "nothing": "No server answers",
    "a page": "Check the address",
    "deep": "Check the address",
    "other json": "does not list models",
    "a list": "does not list models",
    "a word": "does not list models",
    "not found": r"usually ends in /v1",
    "refused": "API key",
    "broken": "status 500",
    "no content": "status 204",
    "moved": "another address",
    "huge": "far more than a list",
    "compressed": "compressed",
    "cut": "No server answers",
    "not utf-8": "Check the address",
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_what_is_wrong_with_an_address_is_said_in_words(name: str) -> None:
    with pytest.raises(ProviderError, match=rf"http://127\.0\.0\.1:\d+/v1.*{WORDS[name]}|{WORDS[name]}.*http://127"):
        by_address(NO_MODELS[name])


def test_a_server_that_does_not_answer_in_time_is_an_error() -> None:
    with pytest.raises(ProviderError, match=r"did not answer within 0\.3 seconds"):
        by_address(timeout_s=0.3, ends=False)


def test_an_address_where_nobody_listens_is_an_error() -> None:
    with pytest.raises(ProviderError, match=r"No server answers at http://127\.0\.0\.1:\d+/v1"):
        asyncio.run(list_models(f"http://127.0.0.1:{free_port()}"))


@pytest.mark.parametrize(
    "address",
    [
        "",
        "   ",
        "127.0.0.1:8080",
        "ftp://127.0.0.1",
        "http://",
        "http://:80",
        "http://127.0.0.1:99999",
        "http://[::1",
        "x",
        "http://127.0.0.1:0",
        "http://127.0.0.1:abc/v1",
        "file:///etc/passwd",
        "http://a b/v1",
        "http://\udcff/",
    ],
)
def test_an_address_that_is_none_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ProviderError, match=r"http://127\.0\.0\.1:8080/v1"):
        asyncio.run(list_models(address))


@pytest.mark.parametrize("address", ["http://user:s3cret@127.0.0.1/v1", "http://s3cret@127.0.0.1/v1"])
def test_a_password_in_the_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ProviderError) as caught:
        asyncio.run(list_models(address))
    assert "s3cret" not in str(caught.value)


def test_the_network_client_is_loaded_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    here = threading.get_ident()
    loaded_in: list[int] = []

    def load() -> object:
        loaded_in.append(threading.get_ident())
        return real()

    real: Callable[[], object] = discovery._import_client
    monkeypatch.setattr(discovery, "_import_client", load)
    monkeypatch.setattr(discovery, "_LOADED_LATE", ("not.loaded",))
    task: Awaitable[object] = discovery._load_client()
    asyncio.run(_done(task))
    assert loaded_in
    assert here not in loaded_in


async def _done(task: Awaitable[object]) -> None:
    await task
