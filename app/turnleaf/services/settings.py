"""Every setting, declared once in ``SettingsValues`` (type, default, limits), and the file they are kept in."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from turnleaf.services.codec import CodecError, from_plain, to_plain
from turnleaf.services.errors import StorageError
from turnleaf.services.profile import Profile
from turnleaf.services.storage import OrderedWriter, move_aside, write_json

log = logging.getLogger(__name__)

MIN_ZOOM = 0.5
MAX_ZOOM = 3.0
Theme = Literal["system", "light", "dark", "contrast"]


def _check_zoom(value: float) -> None:
    if not MIN_ZOOM <= value <= MAX_ZOOM:
        raise ValueError(f"zoom: {value:g} is not between {MIN_ZOOM:g} and {MAX_ZOOM:g}")


def check_address(value: str) -> None:
    """Raise ``ValueError`` unless `value` is the http(s) address of a server, without a password in it."""
    try:
        parts = urlsplit(value)
        has_password = parts.password is not None or parts.username is not None
        is_usable = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        )
    except ValueError as exc:
        raise ValueError(f"servers: {value!r} is not an address ({exc})") from exc
    if has_password:
        raise ValueError("servers: an address must not hold a name or password; it would be stored in the open")
    if not is_usable:
        raise ValueError(f"servers: {value!r} is not an address such as http://127.0.0.1:11434/v1")


def _check_servers(value: tuple[str, ...]) -> None:
    for address in value:
        check_address(address)


def _check_files(value: tuple[str, ...]) -> None:
    for path in value:
        if not Path(path).is_absolute():
            raise ValueError(f"gguf_files: {path!r} is not an absolute path")


@dataclass(frozen=True, slots=True)
class SettingsValues:
    """The schema: one field a setting, ``check`` raises ``ValueError`` for a value outside the limits."""

    theme: Theme = "system"
    zoom: float = field(default=1.0, metadata={"check": _check_zoom})
    enter_sends: bool = True
    default_model: str = "local/gemma-3-270m"
    compact_text: bool = False
    reduced_motion: bool = False
    servers: tuple[str, ...] = field(default=(), metadata={"check": _check_servers})
    gguf_files: tuple[str, ...] = field(default=(), metadata={"check": _check_files})


_FIELDS = {each.name: each for each in dataclasses.fields(SettingsValues)}


class Settings:
    """The settings of a profile: ``settings.values.theme`` reads, ``await settings.set("theme", "dark")`` writes.

    A damaged file is moved aside; a single value that is not valid falls back to its default, the others stay.
    ``problems`` says what was not usable. Construction reads the file (blocking, a few kilobytes).
    """

    def __init__(self, profile: Profile) -> None:
        self.path = profile.config / "settings.json"
        self.problems: list[str] = []
        self._unknown: dict[str, Any] = {}
        self._writer = OrderedWriter("settings")
        self._listeners: list[Callable[[str], None]] = []
        self.values = self._load()

    def get(self, name: str) -> Any:
        """Return a setting's value. Raises ``KeyError`` for a name that is none."""
        if name not in _FIELDS:
            raise KeyError(f"no setting is called {name!r}")
        return getattr(self.values, name)

    async def set(self, name: str, value: Any) -> None:
        """Set a value and return when it is on disk.

        Raises ``KeyError``, ``ValueError`` (nothing changes then), and ``StorageError``: the value holds until the end.
        """
        self.values = dataclasses.replace(self.values, **{name: _checked(name, value)})
        for listener in tuple(self._listeners):
            listener(name)
        content = {**self._unknown, **to_plain(self.values)}
        try:
            await self._writer.run(lambda: write_json(self.path, content))
        except OSError as exc:
            raise StorageError(
                f"the settings could not be saved to {self.path}: {exc.strerror or exc}", path=self.path, cause=exc
            ) from exc

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a setting's name after it has changed."""
        self._listeners.append(listener)

    def _load(self) -> SettingsValues:
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return SettingsValues()
        except OSError as exc:
            self._note(f"the settings in {self.path} cannot be read: {exc.strerror or exc}")
            return SettingsValues()
        except ValueError:
            data = None
        if not isinstance(data, dict):
            self._set_aside()
            return SettingsValues()
        self._unknown = {name: value for name, value in data.items() if name not in _FIELDS}
        return SettingsValues(**self._valid(data))

    def _valid(self, data: dict[str, Any]) -> dict[str, Any]:
        values = {}
        for name in _FIELDS.keys() & data.keys():
            try:
                values[name] = _checked(name, data[name])
            except ValueError as exc:
                self._note(f"a setting was not usable and is at its default: {exc}")
        return values

    def _set_aside(self) -> None:
        try:
            kept = move_aside(self.path)
        except OSError as exc:
            self._note(f"the settings in {self.path} are damaged and could not be moved aside: {exc.strerror or exc}")
        else:
            self._note(f"the settings were damaged; the defaults are in use, the damaged file is {kept}")

    def _note(self, problem: str) -> None:
        log.warning("%s", problem)
        self.problems.append(problem)


def _checked(name: str, value: Any) -> Any:
    if name not in _FIELDS:
        raise KeyError(f"no setting is called {name!r}")
    plain = list(value) if isinstance(value, tuple) else value
    try:
        checked = getattr(from_plain(SettingsValues, {name: plain}), name)
    except CodecError as exc:
        raise ValueError(f"{name}: {exc}") from exc
    check = _FIELDS[name].metadata.get("check")
    if check is not None:
        check(checked)
    return checked
