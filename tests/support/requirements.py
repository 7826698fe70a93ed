"""Owns what tests need from the system: a test without it is skipped and its package remembered, or fails in CI."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import PySide6
import pytest

import launcher_libraries

# Tool -> Debian's package.
_PACKAGES = {
    "Xvfb": "xvfb",
    "dbus-daemon": "dbus-daemon",
    "dbus-launch": "dbus-x11",
    "dbus-run-session": "dbus-daemon",
    "dbus-send": "dbus-bin",
    "gnome-keyring-daemon": "gnome-keyring",
    "openbox": "openbox",
    "readelf": "binutils",
    "unshare": "util-linux",
    "xclip": "xclip",
    "xdotool": "xdotool",
    "xprop": "x11-utils",
    "xwininfo": "x11-utils",
}
# The at-spi launcher lies outside of the path, in a place of Debian's.
_FILES = {
    "at-spi-bus-launcher": ("/usr/libexec/at-spi-bus-launcher", "at-spi2-core"),
}

missing_packages: set[str] = set()
"""What the run's skipped tests would have needed; the last line of the run names it."""


def everything_is_required() -> bool:
    """Return whether a test that cannot run counts as failed (TURNLEAF_REQUIRE_ALL=1, as in CI)."""
    return os.environ.get("TURNLEAF_REQUIRE_ALL") == "1"


def unavailable(reason: str) -> NoReturn:
    """End the calling test: skipped, or failed where everything is required."""
    if everything_is_required():
        pytest.fail(f"{reason}, and TURNLEAF_REQUIRE_ALL=1", pytrace=False)
    pytest.skip(reason)


def require_tools(*tools: str) -> None:
    """Skip or fail the calling test unless every tool ("Xvfb", "xdotool" …) is installed."""
    absent = [tool for tool in tools if not _is_there(tool)]
    if absent:
        require_packages_for(absent, {_package_of(tool) for tool in absent})


def require_packages_for(absent: list[str], packages: set[str]) -> NoReturn:
    """End the calling test since `absent` is missing, and remember the packages that would bring it."""
    missing_packages.update(packages)
    unavailable(f"{', '.join(absent)} is not installed ({', '.join(sorted(packages))})")


def _is_there(tool: str) -> bool:
    if tool in _FILES:
        return os.path.exists(_FILES[tool][0])
    return shutil.which(tool) is not None


def _package_of(tool: str) -> str:
    if tool in _FILES:
        return _FILES[tool][1]
    return _PACKAGES[tool]


def require_window_libraries() -> None:
    """Skip or fail the calling test unless Qt's X11 platform finds its system libraries."""
    site = str(Path(PySide6.__file__).resolve().parents[1])
    missing = launcher_libraries.missing_libraries(site, ("xcb",))
    if missing:
        packages, _ = launcher_libraries.packages_of(missing)
        require_packages_for(sorted(missing), set(packages))
