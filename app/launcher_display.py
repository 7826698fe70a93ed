"""Owns the question which Qt platform a start uses, and whether this machine has a display for it."""

from __future__ import annotations

import os
import socket
import sys
from typing import Mapping, NamedTuple, Sequence, Tuple, Union

from launcher import StartError

X_TCP_PORT = 6000
_CONNECT_SECONDS = 3.0
_WITHOUT_WINDOW = ("--version", "--help", "-h")


class Platforms(NamedTuple):
    """The Qt platforms that may serve this start, best first; `setting` is the QT_QPA_PLATFORM to set, or ""."""

    names: Tuple[str, ...]
    setting: str


def choose_platforms(command: str, arguments: Sequence[str], environ: Mapping[str, str]) -> Platforms:
    """Return the platforms for this start; `names` is empty where no window is opened or none has to be looked for.

    Raises StartError (code 2) when a window is wanted and there is no display. That is asked here, before Qt starts:
    without a display Qt aborts and blames a library.
    """
    options = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    if command == "app" and any(option in _WITHOUT_WINDOW for option in options):
        return Platforms((), "")
    if sys.platform in ("win32", "darwin", "cygwin"):
        return Platforms((), "")
    asked = environ.get("QT_QPA_PLATFORM", "")
    if asked:
        return Platforms(_usable(asked, environ), "")
    if command == "tests":
        return Platforms(("offscreen",), "offscreen")
    found = _displays(environ)
    if found:
        return Platforms(found, "")
    if "--smoke" in options:
        return Platforms(("offscreen",), "offscreen")
    raise StartError(_no_display(environ), code=2)


def _usable(asked: str, environ: Mapping[str, str]) -> Tuple[str, ...]:
    """Return the platforms named in QT_QPA_PLATFORM ("wayland;xcb", "vnc:size=800x600") that have what they need."""
    names = tuple(part.split(":")[0].strip() for part in asked.split(";") if part.strip())
    displays = _displays(environ)
    usable = tuple(name for name in names if _display_kind(name) in ("", *displays))
    if not usable:
        raise StartError("QT_QPA_PLATFORM=%s: %s" % (asked, _no_display(environ)), code=2)
    return usable


def _display_kind(name: str) -> str:
    if name.startswith("wayland"):
        return "wayland"
    return "xcb" if name == "xcb" else ""


def _displays(environ: Mapping[str, str]) -> Tuple[str, ...]:
    found = []
    if _wayland_answers(environ):
        found.append("wayland")
    if _x_answers(environ.get("DISPLAY", "")):
        found.append("xcb")
    return tuple(found)


def _no_display(environ: Mapping[str, str]) -> str:
    named = ["%s=%s" % (name, environ[name]) for name in ("WAYLAND_DISPLAY", "DISPLAY") if environ.get(name)]
    what = "nothing answers at %s" % " or ".join(named) if named else "DISPLAY and WAYLAND_DISPLAY are not set"
    return "no display: %s; start Turnleaf in a desktop session, or set QT_QPA_PLATFORM=offscreen." % what


def _wayland_answers(environ: Mapping[str, str]) -> bool:
    if environ.get("WAYLAND_SOCKET"):
        return True
    name = environ.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    return _connects(socket.AF_UNIX, os.path.join(environ.get("XDG_RUNTIME_DIR", ""), name))


def _x_answers(display: str) -> bool:
    """Return whether an X server takes connections at `display` ("[host]:number[.screen]", or a socket's path)."""
    if display.startswith("/") and _connects(socket.AF_UNIX, display):
        return True
    host, colon, rest = display.rpartition(":")
    number = rest.split(".")[0]
    if not colon or not number.isdigit():
        return False
    port = X_TCP_PORT + int(number)
    if host in ("", "unix"):
        path = "/tmp/.X11-unix/X" + number
        local = (path, "\0" + path) if sys.platform.startswith("linux") else (path,)
        return any(_connects(socket.AF_UNIX, name) for name in local) or _connects(socket.AF_INET, ("127.0.0.1", port))
    return _reaches(host.rpartition("/")[2].strip("[]"), port)


def _connects(family: int, address: Union[str, Tuple[str, int]]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            probe.connect(address)
    except (OSError, OverflowError, ValueError):
        return False
    return True


def _reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True
