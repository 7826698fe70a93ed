"""Settings: one schema, kept in one file, whatever is in it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from turnleaf.services.errors import StorageError
from turnleaf.services.settings import Settings, SettingsValues
from unit.services.checkpointing import profile_at


def settings_at(path: Path) -> Settings:
    return Settings(profile_at(path))


def test_a_value_that_was_set_is_there_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = settings_at(tmp_path)
        heard: list[str] = []
        settings.on_change(heard.append)
        await settings.set("theme", "dark")
        await settings.set("zoom", 1.25)
        await settings.set("servers", ["http://127.0.0.1:8080/v1"])
        await settings.set("gguf_files", ("/models/a.gguf",))
        assert heard == ["theme", "zoom", "servers", "gguf_files"]

    asyncio.run(scenario())
    values = settings_at(tmp_path).values
    assert (values.theme, values.zoom, values.enter_sends) == ("dark", 1.25, True)
    assert values.servers == ("http://127.0.0.1:8080/v1",)
    assert values.gguf_files == ("/models/a.gguf",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "pink"),
        ("theme", None),
        ("zoom", 0),
        ("zoom", "large"),
        ("zoom", True),
        ("zoom", float("nan")),
        ("enter_sends", "yes"),
        ("servers", ["ftp://host"]),
        ("servers", ["http://"]),
        ("servers", ["http://host:99999"]),
        ("servers", ["http://me:secret@host/v1"]),
        ("servers", [5]),
        ("servers", "http://host"),
        ("gguf_files", ["relative.gguf"]),
    ],
)
def test_a_value_outside_the_schema_is_refused_and_nothing_changes(tmp_path: Path, name: str, value: Any) -> None:
    settings = settings_at(tmp_path)
    with pytest.raises(ValueError, match=name):
        asyncio.run(settings.set(name, value))
    assert settings.values == SettingsValues()
    assert not settings.path.exists()


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with pytest.raises(KeyError):
        asyncio.run(settings.set("colour", "red"))
    with pytest.raises(KeyError):
        settings.get("colour")


def test_one_bad_value_costs_only_itself_and_a_later_versions_setting_is_kept(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    settings.path.write_text(json.dumps({"theme": "pink", "zoom": 2.0, "from_the_future": [1]}))

    settings = settings_at(tmp_path)
    assert (settings.values.theme, settings.values.zoom) == ("system", 2.0)
    assert len(settings.problems) == 1
    asyncio.run(settings.set("theme", "light"))
    assert json.loads(settings.path.read_bytes())["from_the_future"] == [1]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_damaged_file_is_moved_aside_and_the_defaults_hold(tmp_path: Path, content: bytes) -> None:
    path = settings_at(tmp_path).path
    path.write_bytes(content)

    settings = settings_at(tmp_path)

    assert settings.values == SettingsValues()
    assert settings.problems
    (kept,) = path.parent.glob("settings.json.damaged-*")
    assert kept.read_bytes() == content


def test_a_full_disk_is_said_and_the_value_holds_for_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_at(tmp_path)
    asyncio.run(settings.set("zoom", 1.5))

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError) as caught:
        asyncio.run(settings.set("zoom", 2.0))
    assert caught.value.full_disk
    assert settings.values.zoom == 2.0
    assert settings_at(tmp_path).values.zoom == 1.5
