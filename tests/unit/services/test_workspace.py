"""Open tabs and the window's place, between two starts (G05)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from turnleaf.services.workspace import MAX_CLOSED, Workspace, WorkspaceState
from unit.services.checkpointing import profile_at


def test_tabs_in_order_the_active_one_and_the_geometry_come_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        workspace = Workspace(profile_at(tmp_path))
        workspace.set_tabs(("b", "a", "c"), "a")
        workspace.set_geometry(b"\x01\x00\xff", b"panes")
        await workspace.flush()
        expected = WorkspaceState(("b", "a", "c"), "a", (), b"\x01\x00\xff", b"panes")
        assert await Workspace(profile_at(tmp_path)).load() == expected

    asyncio.run(scenario())


def test_a_change_is_on_disk_within_300_ms_by_itself(tmp_path: Path) -> None:
    async def scenario() -> None:
        workspace = Workspace(profile_at(tmp_path))
        workspace.set_tabs(("a",), "a")
        await asyncio.sleep(0.3)
        assert (await Workspace(profile_at(tmp_path)).load()).tabs == ("a",)

    asyncio.run(scenario())


def test_closed_tabs_are_reopened_latest_first_and_each_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        workspace = Workspace(profile_at(tmp_path))
        workspace.set_tabs(("a", "b", "c"), "a")
        workspace.set_tabs(("a", "c"), "a")
        workspace.set_tabs(("a",), "a")
        assert workspace.reopen() == "c"
        workspace.set_tabs(("a", "b"), "b")
        assert workspace.reopen() is None
        workspace.set_tabs(("a",), "a")
        workspace.forget("b")
        assert workspace.reopen() is None
        for number in range(100):
            workspace.set_tabs((str(number),), None)
        assert len(workspace.state.closed) == MAX_CLOSED
        await workspace.flush()

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tabs": [5]}', b'{"geometry": "%%%"}'])
def test_a_damaged_file_gives_the_empty_state_and_is_kept(tmp_path: Path, content: bytes) -> None:
    workspace = Workspace(profile_at(tmp_path))
    workspace.path.write_bytes(content)

    assert asyncio.run(workspace.load()) == WorkspaceState()

    (kept,) = workspace.path.parent.glob("workspace.json.damaged-*")
    assert kept.read_bytes() == content
