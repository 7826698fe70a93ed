"""Where a profile's files live: config, data, state and cache, and the lock that keeps two processes apart."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from turnleaf.services.errors import ProfileBusyError, ProfileError

APP_NAME = "turnleaf"
PROFILE_VARIABLE = "TURNLEAF_PROFILE"


@dataclass(frozen=True, slots=True)
class Profile:
    """The four folders of a profile; each exists and is the user's own (mode 0700)."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def sessions(self) -> Path:
        """Envelopes, sidecars and kept generations."""
        return self.data / "sessions"

    @property
    def media(self) -> Path:
        """The one media store that all conversations share."""
        return self.data / "media"

    @property
    def trash(self) -> Path:
        """Deleted conversations until the trash is emptied."""
        return self.data / "trash"


class ProfileLock:
    """Held while a process uses a profile; the system releases it when the process ends, however it ends."""

    def __init__(self, profile: Profile) -> None:
        import filelock  # 20 ms that the first window need not wait for

        self._profile = profile
        self._busy = filelock.Timeout
        self._lock = filelock.FileLock(profile.state / "profile.lock", timeout=0)

    def acquire(self) -> None:
        """Take the lock or raise ``ProfileBusyError`` at once."""
        try:
            self._lock.acquire()
        except self._busy as exc:
            raise ProfileBusyError(
                f"the profile {self._profile.data} is in use by another Turnleaf; close that one first"
            ) from exc

    def release(self) -> None:
        """Give the lock back; doing so twice is harmless."""
        self._lock.release()

    def __enter__(self) -> ProfileLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def open_profile(root: Path | None = None) -> Profile:
    """Return the profile under `root`, else under ``TURNLEAF_PROFILE``, else in the platform's usual folders.

    Creates what is missing. Raises ``ProfileError`` when a folder cannot be made or written to.
    """
    profile = _locate(root)
    for folder in (profile.config, profile.data, profile.state, profile.cache, profile.sessions, profile.media):
        _make_private(folder)
    _make_private(profile.trash)
    return profile


def _locate(root: Path | None) -> Profile:
    named = root or (Path(value) if (value := os.environ.get(PROFILE_VARIABLE)) else None)
    if named is not None:
        base = named.expanduser().absolute()
        return Profile(config=base / "config", data=base / "data", state=base / "state", cache=base / "cache")
    import platformdirs

    dirs = platformdirs.PlatformDirs(APP_NAME, appauthor=False)
    return Profile(
        config=dirs.user_config_path,
        data=dirs.user_data_path,
        state=dirs.user_state_path,
        cache=dirs.user_cache_path,
    )


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise ProfileError(f"cannot make the folder {folder}: {exc.strerror or exc}; choose another --profile") from exc
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ProfileError(f"cannot write to the folder {folder}; change its permissions or choose another --profile")
