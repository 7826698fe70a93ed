"""What the machine must have for tests in a real window: a missing piece skips the test, or fails it in CI."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from support.requirements import require_tools, require_window_libraries


def require_desktop() -> None:
    """Skip or fail the calling test unless a real window can be opened, driven and read on this machine."""
    if not sys.platform.startswith("linux") or importlib.util.find_spec("jeepney") is None:
        pytest.skip("a private X server with an accessibility bus is driven on Linux only")
    require_tools("Xvfb", "dbus-daemon", "at-spi-bus-launcher")
    require_window_libraries()
