"""Writing a file so that a reader always finds the old content or the new one, whole, even after a crash."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_FOLDER_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview], *, follow_link: bool = True) -> None:
    """Write the pieces to ``path``: mode 0600, missing folders made with mode 0700, the data and its folder synced.

    Raises what the disk raises; the old file is then byte for byte as before, and no temporary file is left.
    A link at ``path`` stays a link and the file that it points to is replaced, unless ``follow_link`` is off.
    """
    target = Path(os.path.realpath(path)) if follow_link else path
    _make_folder(target.parent)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(target))
    temporary = _sibling(target)
    try:
        _write_synced(temporary, pieces)
        _swap_in(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable; a file system that cannot sync folders is left as it is."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _FOLDER_SYNC_UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    # Not ``mkdir(parents=True)``: that gives the parents it makes the mode of everybody's folders.
    missing = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _sibling(target: Path) -> Path:
    # The name stays short: a long one of the user's plus a suffix could pass the file system's limit.
    return target.with_name(f".{secrets.token_hex(8)}.tmp")


def _write_synced(temporary: Path, pieces: Iterable[bytes | memoryview]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(temporary, flags, 0o600), "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _swap_in(temporary: Path, target: Path) -> None:
    """Rename over the target; when the folder cannot be synced after that, bring the old file back."""
    is_new = not os.path.lexists(target)
    kept = None if is_new else _keep_old(target)
    try:
        os.replace(temporary, target)
        try:
            sync_folder(target.parent)
        except OSError:
            with contextlib.suppress(OSError):
                if kept is not None:
                    os.replace(kept, target)
                elif is_new:
                    target.unlink()
            raise
    finally:
        if kept is not None:
            with contextlib.suppress(OSError):
                kept.unlink()


def _keep_old(target: Path) -> Path | None:
    """Return a second name for the file that stands there, ``None`` where the file system has no hard links."""
    kept = _sibling(target)
    try:
        os.link(target, kept, follow_symlinks=False)
    except (OSError, NotImplementedError):
        return None
    return kept
