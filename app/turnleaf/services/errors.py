"""Every error of the desktop's services, in one tree.

::

    ServiceError
    ├── ProfileError                a profile's folders cannot be used
    │   └── ProfileBusyError        another process holds the profile
    ├── StorageError                something could not be written (``full_disk`` tells the usual reason)
    │   ├── CheckpointError         a turn is not on disk; it is still in memory and the old file is intact
    │   ├── JournalError            the question could not be made durable, so it was not sent
    │   └── SaveFileError           a ``.json`` of the user's could not be written
    ├── LinkedFileChangedError      the linked file was changed by somebody else since it was read or saved
    ├── ConversationNotFoundError   no conversation has this id
    ├── ConversationDamagedError    the envelope cannot be read (``generation`` is what can be opened instead)
    └── ModelUnavailableError       a model is named that cannot be used here and now

A file that cannot be attached is the toolkit's ``DocumentError``, one that is no session its ``EnvelopeError``.
"""

from __future__ import annotations

import errno
from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class ServiceError(Exception):
    """The root of the services' errors. The message says what happened, to which thing, and what to do next."""


class ProfileError(ServiceError):
    """A profile's folders cannot be made or used; the message names the folder."""


class ProfileBusyError(ProfileError):
    """Another process holds the profile's lock."""


class StorageError(ServiceError):
    """Something could not be written to ``path``. ``full_disk`` is true when there was no room left."""

    def __init__(self, message: str, *, path: Path, cause: OSError | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.full_disk = cause is not None and cause.errno in _FULL


class CheckpointError(StorageError):
    """A checkpoint failed: the turn is in memory only, and the file on disk is the one before."""


class JournalError(StorageError):
    """The question could not be journalled; nothing was sent, and the draft is as it was."""


class SaveFileError(StorageError):
    """A file that the user named could not be written; what stood there is as it was."""


class LinkedFileChangedError(ServiceError):
    """The file at ``path`` is no longer what was read or saved last; it was not overwritten."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class ConversationNotFoundError(ServiceError):
    """No conversation with this id is on disk."""


class ConversationDamagedError(ServiceError):
    """The envelope of ``session_id`` cannot be read. ``generation`` is the newest kept one that can, or ``None``.

    ``can_recover`` says whether ``Library.recover`` finds anything: a generation, or the questions in the sidecar.
    """

    def __init__(self, message: str, *, session_id: str, generation: Path | None, can_recover: bool = False) -> None:
        super().__init__(message)
        self.session_id = session_id
        self.generation = generation
        self.can_recover = can_recover or generation is not None


class ModelUnavailableError(ServiceError):
    """The model ``model_id`` cannot be used; ``reason`` is one plain sentence."""

    def __init__(self, reason: str, *, model_id: str) -> None:
        super().__init__(f"{model_id}: {reason}")
        self.model_id = model_id
        self.reason = reason
