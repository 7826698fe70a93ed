"""Which platform a start uses, and what it says without a display."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import StartError
from launcher_display import Platforms, choose_platforms

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="displays are looked for on X11 and Wayland only"
)


@pytest.fixture
def wayland(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A socket that takes connections as a compositor's does."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen()
        yield {"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-7"}


@pytest.fixture
def x_server() -> Iterator[str]:
    """A TCP port that answers where an X server's would; returns its DISPLAY."""
    with socket.socket() as server:
        for number in range(600, 700):
            try:
                server.bind(("127.0.0.1", 6000 + number))
            except OSError:
                continue
            server.listen()
            yield f"127.0.0.1:{number}.0"
            return
    pytest.fail("no free port for a stand-in X server")


@pytest.mark.parametrize("arguments", [[], ["file.json"], ["--new"], ["--", "--smoke"], ["--", "--version"]])
def test_app_without_a_display_says_so_with_code_2(arguments: list[str]) -> None:
    with pytest.raises(StartError, match="no display: DISPLAY and WAYLAND_DISPLAY are not set") as stopped:
        choose_platforms("app", arguments, {})
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    "display",
    [":919", ":919.0", "unix:919", "nonsense", ":", ":x", ":99999999999", "/tmp/no-such-socket", "127.0.0.1:919"],
)
def test_a_display_that_does_not_answer_is_named(display: str) -> None:
    with pytest.raises(StartError, match="nothing answers at DISPLAY=") as stopped:
        choose_platforms("app", [], {"DISPLAY": display})
    assert display in stopped.value.sentence
    assert stopped.value.code == 2


def test_smoke_and_tests_run_offscreen_without_a_display() -> None:
    assert choose_platforms("app", ["--smoke"], {}) == Platforms(("offscreen",), "offscreen")
    assert choose_platforms("tests", ["-k", "x"], {}) == Platforms(("offscreen",), "offscreen")
    assert choose_platforms("app", ["--smoke"], {"DISPLAY": ":919"}) == Platforms(("offscreen",), "offscreen")


@pytest.mark.parametrize("argument", ["--version", "--help", "-h"])
def test_version_and_help_need_no_display_and_look_for_no_library(argument: str) -> None:
    assert choose_platforms("app", [argument], {}) == Platforms((), "")


def test_platform_that_the_user_names_is_left_alone() -> None:
    assert choose_platforms("app", [], {"QT_QPA_PLATFORM": "offscreen"}) == Platforms(("offscreen",), "")
    assert choose_platforms("tests", [], {"QT_QPA_PLATFORM": "minimal"}) == Platforms(("minimal",), "")
    assert choose_platforms("app", [], {"QT_QPA_PLATFORM": "vnc:size=800x600"}) == Platforms(("vnc",), "")


def test_platform_that_the_user_names_needs_its_display() -> None:
    with pytest.raises(StartError, match="QT_QPA_PLATFORM=xcb: no display") as stopped:
        choose_platforms("app", ["--smoke"], {"QT_QPA_PLATFORM": "xcb"})
    assert stopped.value.code == 2
    assert choose_platforms("app", [], {"QT_QPA_PLATFORM": "xcb;offscreen"}).names == ("offscreen",)


def test_display_that_answers_is_used(x_server: str) -> None:
    assert choose_platforms("app", [], {"DISPLAY": x_server}) == Platforms(("xcb",), "")
    assert choose_platforms("app", ["--smoke"], {"DISPLAY": x_server}) == Platforms(("xcb",), "")


def test_wayland_comes_before_x11(wayland: dict[str, str], x_server: str) -> None:
    assert choose_platforms("app", [], wayland).names == ("wayland",)
    assert choose_platforms("app", [], {**wayland, "DISPLAY": x_server}).names == ("wayland", "xcb")
    assert choose_platforms("app", [], {**wayland, "QT_QPA_PLATFORM": "wayland-egl"}).names == ("wayland-egl",)


def test_compositor_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="nothing answers at WAYLAND_DISPLAY=wayland-0"):
        choose_platforms("app", [], {"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-0"})
