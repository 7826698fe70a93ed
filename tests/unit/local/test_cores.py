"""The model leaves one physical core to the window."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doc_processing_toolkit.providers.local import cores


def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str | None]) -> None:
    """Pretend to run on Linux with these logical processors, each with the list of those on its core."""
    for cpu, text in siblings.items():
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        if text is not None:
            (folder / "thread_siblings_list").write_text(text + "\n")
    monkeypatch.setattr(cores, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(siblings), raising=False)


@pytest.mark.parametrize(
    ("siblings", "threads"),
    [
        ({0: "0", 1: "1"}, 1),
        ({0: "0"}, 1),
        ({cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}, 3),
        ({0: "0-1", 1: "0-1"}, 1),
        ({2: "2,6", 3: "3,7"}, 1),  # pinned to two cores of a larger machine
        (dict.fromkeys(range(6)), 5),  # the kernel does not say
    ],
)
def test_all_physical_cores_but_one_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str | None], threads: int
) -> None:
    machine(tmp_path, monkeypatch, siblings)
    assert cores.default_threads() == threads


@pytest.mark.parametrize(("platform", "logical", "physical"), [("win32", 8, 4), ("darwin", 8, 8), ("win32", 1, 1)])
def test_elsewhere_the_number_is_estimated(
    monkeypatch: pytest.MonkeyPatch, platform: str, logical: int, physical: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "cpu_count", lambda: logical)
    assert cores.physical_cores() == physical
