"""Where media lives outside an envelope: the directory store, one file per blob, named by its digest (002, J04)."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from doc_processing_toolkit.core.durable import write_atomically
from doc_processing_toolkit.core.protocols import MediaStore

_REF = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EXTENSIONS = {
    "application/pdf": "pdf",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "video/mp4": "mp4",
}
_MAX_BLOB_BYTES = 4 << 30
_PIECE = 1 << 20


class DirectoryMediaStore:
    """Blobs as files ``<sha256>.<ext>`` in one directory, mode 0600; an envelope and its directory move together.

    A reference is data from a file: only names that :meth:`put` returns are accepted, links are not followed, and
    what :meth:`get` reads must have the digest that its name says.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # What was found whole, by size and time of change: a blob is not read again at every save.
        self._whole: dict[str, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"DirectoryMediaStore({str(self.path)!r})"

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Keep ``data`` and return its reference; atomic, and a second put of the same bytes changes nothing.

        Raises ``ValueError`` when ``sha256`` is not the digest of ``data``, ``OSError`` when it cannot be written.
        """
        if not _DIGEST.fullmatch(sha256) or hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError(f"{sha256!r} is not the SHA-256 of the {len(data)} bytes given")
        ref = self._existing(sha256) or f"{sha256}.{_extension(mime_type)}"
        if not self._is_whole(ref, len(data)):
            write_atomically(self.path / ref, _pieces(data), follow_link=False)
        return ref

    def get(self, ref: str) -> bytes:
        """Return the bytes behind a reference.

        Raises ``ValueError`` for a reference that is not ``<sha256>.<ext>`` or whose bytes are not those it names,
        ``OSError`` when there is no such file.
        """
        if not isinstance(ref, str) or not _REF.fullmatch(ref):
            raise ValueError(f"{ref!r} is not a reference of this store")
        data = _read(self.path / ref)
        if hashlib.sha256(data).hexdigest() != ref[:64]:
            raise ValueError(f"the file {ref} in {self.path} does not hold the bytes that its name says")
        return data

    def _is_whole(self, ref: str, size: int) -> bool:
        """Whether the blob stands there already, undamaged."""
        target = self.path / ref
        try:
            status = target.stat(follow_symlinks=False)
            if status.st_size != size:
                return False
            stamp = (status.st_mtime_ns, status.st_ino)
            if self._whole.get(ref) != stamp:
                if hashlib.sha256(_read(target)).hexdigest() != ref[:64]:
                    return False
                self._whole[ref] = stamp
        except OSError:
            return False
        return True

    def _existing(self, sha256: str) -> str | None:
        """Return the reference under which the blob was kept before, perhaps with another media type."""
        known = (f"{sha256}.{extension}" for extension in dict.fromkeys([*_EXTENSIONS.values(), "bin"]))
        return next((ref for ref in known if (self.path / ref).is_file()), None)


def store_from(store: MediaStore | str | os.PathLike[str] | None) -> MediaStore | None:
    """Return the store that a ``media_store`` argument means: a directory's path becomes a directory store."""
    if store is None:
        return None
    if isinstance(store, str | os.PathLike):
        return DirectoryMediaStore(store)
    if callable(getattr(store, "put", None)) and callable(getattr(store, "get", None)):
        return store
    raise TypeError(f"media_store takes a directory's path or an object with put and get, not {type(store).__name__}")


def _extension(mime_type: str | None) -> str:
    plain = (mime_type or "").partition(";")[0].strip().lower()
    guessed = _EXTENSIONS.get(plain) or (mimetypes.guess_extension(plain) or "").lstrip(".")
    return guessed if re.fullmatch(r"[a-z0-9]{1,12}", guessed) else "bin"


def _pieces(data: bytes) -> Iterator[memoryview]:
    """Yield the data in pieces, so that a writing thread lets the others run."""
    view = memoryview(data)
    return (view[start : start + _PIECE] for start in range(0, len(view), _PIECE))


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BLOB_BYTES:
            raise OSError(f"{path.name} is not a blob's file")
        return file.read()
