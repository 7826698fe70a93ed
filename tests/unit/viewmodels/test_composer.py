"""What stands in the composer before anything was read."""

from __future__ import annotations

from pathlib import Path

from turnleaf.bridge.tasks import TaskOwner
from turnleaf.viewmodels.composer import ComposerViewModel


def raised(failure: BaseException) -> None:
    raise failure


def test_a_name_is_shown_clean_from_the_moment_its_file_is_dropped() -> None:
    composer = ComposerViewModel(TaskOwner("test", raised))
    composer.add_files([Path("bell\x07 and\nline \x1b[31m\u202egpj.txt")])
    composer.add_bytes("two\r\nlines\u202e.txt", b"text")
    assert [chip.state for chip in composer.chips] == ["reading", "reading"]
    names = "".join(chip.name for chip in composer.chips)
    assert names.isprintable()
    assert "\u202e" not in names
