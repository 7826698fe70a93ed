"""The model list, and agents for conversations whose model may be gone."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.providers.local import discovery
from turnleaf.services import model_checks
from turnleaf.services.errors import ModelUnavailableError
from turnleaf.services.models import DEMO_MODEL, ModelCatalogue
from turnleaf.services.settings import Settings
from unit.services.checkpointing import agent, profile_at


def catalogue_at(path: Path) -> ModelCatalogue:
    profile = profile_at(path)
    return ModelCatalogue(Settings(profile), DirectoryMediaStore(profile.media))


@pytest.fixture(autouse=True)
def nobody_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may well have an Ollama."""
    monkeypatch.setattr(discovery, "KNOWN_SERVERS", {})


@contextlib.asynccontextmanager
async def model_server(*models: dict[str, Any], delay_s: float = 0.0) -> AsyncIterator[str]:
    handlers: set[asyncio.Task[Any]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(delay_s)
            body = json.dumps({"object": "list", "data": list(models)}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


def gguf(path: Path) -> Path:
    """The smallest file that is a model by its header."""
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    return path


def test_G09_the_demo_model_is_first_and_usable_without_a_key(tmp_path: Path) -> None:
    first = catalogue_at(tmp_path).entries()[0]

    assert (first.id, first.label, first.provider, first.usable) == (DEMO_MODEL, "Local demo model", "local", True)
    assert first.context_window


def test_a_demo_model_that_is_not_installed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        model_checks.importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else find_spec(name)
    )
    first = catalogue_at(tmp_path).entries()[0]
    assert not first.usable
    assert "xllamacpp" in first.reason


def test_a_file_of_the_users_is_listed_for_good(tmp_path: Path) -> None:
    async def scenario() -> None:
        catalogue = catalogue_at(tmp_path)
        entry = await catalogue.add_file(gguf(tmp_path / "Mine-7B.gguf"))
        assert (entry.id, entry.label, entry.usable) == (f"local/{tmp_path}/Mine-7B.gguf", "Mine-7B", True)

    asyncio.run(scenario())
    assert [entry.label for entry in catalogue_at(tmp_path).entries()] == ["Local demo model", "Mine-7B"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gguf", b"not a model"),
        ("b.gguf", b""),
        ("c.gguf", None),
        ("d.txt", b"GGUF" + bytes(20)),
        ("e.gguf", b"GGUF\x03"),
    ],
)
def test_what_is_no_model_file_is_refused_with_a_reason(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    catalogue = catalogue_at(tmp_path)

    with pytest.raises(ModelUnavailableError) as caught:
        asyncio.run(catalogue.add_file(path))

    assert name in str(caught.value)
    assert len(catalogue.entries()) == 1


def test_a_file_that_is_gone_is_listed_with_its_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        catalogue = catalogue_at(tmp_path)
        path = gguf(tmp_path / "mine.gguf")
        await catalogue.add_file(path)
        path.unlink()
        entry = (await catalogue.refresh())[1]
        assert not entry.usable
        assert "not there any more" in entry.reason

    asyncio.run(scenario())


def test_models_of_servers_nearby_and_by_address_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with (
            model_server({"id": "llama3:8b", "max_model_len": 8192}) as nearby,
            model_server({"id": "qwen"}, {"id": "phi"}) as far,
        ):
            monkeypatch.setattr(discovery, "KNOWN_SERVERS", {"Ollama": int(nearby.split(":")[2].split("/")[0])})
            catalogue = catalogue_at(tmp_path)
            added = await catalogue.add_server(far)
            assert [entry.label for entry in added] == ["qwen", "phi"]

            entries = await catalogue_at(tmp_path).refresh()

            assert [(each.id, each.group, each.usable) for each in entries[1:]] == [
                ("openai-compatible/llama3:8b", "Ollama", True),
                ("openai-compatible/qwen", far.split("/")[2], True),
                ("openai-compatible/phi", far.split("/")[2], True),
            ]
            assert entries[1].base_url == nearby
            assert entries[1].context_window == 8192

    asyncio.run(scenario())


def test_a_server_that_does_not_answer_is_one_line_with_its_reason_and_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with model_server({"id": "slow"}, delay_s=30) as slow:
            monkeypatch.setattr(discovery, "KNOWN_SERVERS", {"Ollama": int(slow.split(":")[2].split("/")[0])})
            catalogue = catalogue_at(tmp_path)
            await catalogue.refresh()  # loads the network client
            started = time.monotonic()
            assert len(await catalogue.refresh()) == 1
            assert time.monotonic() - started < 0.8
        with pytest.raises(ModelUnavailableError, match="127"):
            await catalogue.add_server(slow)
        with pytest.raises(ValueError, match="not an address"):
            await catalogue.add_server("localhost")

    asyncio.run(scenario())


def test_an_agent_has_the_profiles_store_and_stores_streamed_turns_whole(tmp_path: Path) -> None:
    catalogue = catalogue_at(tmp_path)

    made = catalogue.make_agent(DEMO_MODEL, recipe={"instructions": "Be brief.", "stream_history": "light"})

    assert made.model == DEMO_MODEL
    assert made.stream_history == "native"
    assert isinstance(made.media_store, DirectoryMediaStore)
    assert made.media_store.path == profile_at(tmp_path).media
    assert made.to_config()["instructions"] == "Be brief."
    with pytest.raises(ModelUnavailableError, match="close matches"):
        catalogue.make_agent("local/gemma")


def test_a_recipe_gives_its_agent_back(tmp_path: Path) -> None:
    catalogue = catalogue_at(tmp_path)
    before = catalogue.make_agent("openai-compatible/qwen", "http://127.0.0.1:9/v1", {"temperature": 0.5})

    again = catalogue.agent_of_recipe(before.to_config())

    assert again.notice is None
    assert not again.substituted
    assert again.agent.to_config() == before.to_config()


@pytest.mark.parametrize(
    "recipe",
    [
        {"model": "no-such-model"},
        {"model": "nowhere/gone"},
        {"model": "anthropics/claude-haiku-4-5"},
    ],
)
def test_a_conversation_whose_model_is_not_known_opens_with_the_demo_model_and_a_notice(
    tmp_path: Path, recipe: dict[str, Any]
) -> None:
    made = catalogue_at(tmp_path).agent_of_recipe(recipe)

    assert made.substituted
    assert made.agent.model == DEMO_MODEL
    assert made.notice is not None
    assert made.notice.id == "model_unavailable"
    assert recipe["model"] in made.notice.text


def test_a_conversation_whose_model_file_is_gone_opens_with_a_notice_that_offers_the_demo_model(tmp_path: Path) -> None:
    path = tmp_path / "gone.gguf"

    made = catalogue_at(tmp_path).agent_of_recipe({"model": f"local/{path}"})

    assert made.notice is not None
    assert "use_demo_model" in made.notice.actions
    assert "gone" in made.notice.text


def test_a_model_that_its_server_no_longer_offers_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with model_server({"id": "qwen"}) as address:
            catalogue = catalogue_at(tmp_path)
            await catalogue.add_server(address)
            await catalogue.refresh()
            here = catalogue.agent_of_recipe({"model": "openai-compatible/qwen", "base_url": address})
            gone = catalogue.agent_of_recipe({"model": "openai-compatible/phi", "base_url": address})
            assert here.notice is None
            assert gone.notice is not None
            assert not gone.substituted

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "recipe", [{}, {"model": 5}, {"model": DEMO_MODEL, "base_url": 5}, {"model": DEMO_MODEL, "from_the_future": 1}]
)
def test_a_damaged_or_newer_recipe_keeps_no_conversation_shut(tmp_path: Path, recipe: dict[str, Any]) -> None:
    assert catalogue_at(tmp_path).agent_of_recipe(recipe).agent.model == DEMO_MODEL


def test_the_window_that_a_server_told_is_in_the_row(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with model_server({"id": "qwen", "max_model_len": 4096}) as address:
            catalogue = catalogue_at(tmp_path)
            await catalogue.add_server(address)
            assert catalogue.row("openai-compatible/qwen", address).context_window == 4096
            assert catalogue.label("openai-compatible/qwen", address) == "qwen"
            assert catalogue.label("local//gone/Mine.gguf") == "Mine"

    asyncio.run(scenario())


def test_a_scripted_agents_recipe_has_no_path_of_this_machine_when_it_is_used_again(tmp_path: Path) -> None:
    recipe = agent("x", media_store=str(tmp_path / "elsewhere")).to_config()
    made = catalogue_at(tmp_path).make_agent(DEMO_MODEL, recipe=recipe)
    assert isinstance(made.media_store, DirectoryMediaStore)
    assert made.media_store.path == profile_at(tmp_path).media
