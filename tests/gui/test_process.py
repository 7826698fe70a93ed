"""The app as a process: signals, a second start, exit codes, and what it has loaded when it is first seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOO_EARLY = (
    "anthropic",
    "openai",
    "google.genai",
    "pydantic",
    "httpx2",
    "markdown_it",
    "pygments",
    "keyring",
    "chardet",
    "pypdfium2",
    "xllamacpp",
    "yaml",
    "genai_prices",
)


def environment() -> dict[str, str]:
    path = os.pathsep.join((str(ROOT / "app"), str(ROOT / "tests")))
    return {**os.environ, "PYTHONPATH": path, "QT_QPA_PLATFORM": "offscreen", "PYTHONUNBUFFERED": "1"}


@contextmanager
def started(*arguments: str, module: str = "gui.scripted_app") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for_line(process: subprocess.Popen[str], wanted: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if wanted in line:
            return
    raise AssertionError(f"{wanted!r} was never printed; {process.stderr.read() if process.stderr else ''}")


def journal_of(profile: Path) -> dict[str, Any]:
    """The journal of the only conversation, empty while there is none."""
    for path in (profile / "data" / "sessions").glob("*.meta.json"):
        return json.loads(path.read_text())["journal"] or {}
    return {}


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_in_mid_answer_ends_within_three_seconds_and_keeps_the_turn(tmp_path: Path, number: int) -> None:
    profile = tmp_path / "profile"
    with started("--ask", "--profile", str(profile)) as process:
        wait_for_line(process, "rows")
        deadline = time.monotonic() + 20
        while not journal_of(profile).get("partial") and time.monotonic() < deadline:
            time.sleep(0.05)
        sent = time.monotonic()
        process.send_signal(number)
        assert process.wait(5) == 0
        assert time.monotonic() - sent < 3
    journal = journal_of(profile)
    assert journal["cause"] == "closed"
    assert journal["partial"].startswith("0 1 2")
    assert not (profile / "state" / "running").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["before_the_profile", "before_the_window", "after_the_window"])
def test_signal_before_the_loop_runs_ends_with_zero(tmp_path: Path, number: int, moment: str) -> None:
    script = f"""
import os, signal
# A shell starts what runs in its background with SIGINT ignored, and that would be inherited.
signal.signal({int(number)}, signal.SIG_DFL)
from turnleaf import main
from turnleaf.services import profile
from turnleaf.ui import desktop

def with_signal(owner, name, after=False):
    original = getattr(owner, name)
    def wrapped(*arguments, **options):
        if not after:
            os.kill(os.getpid(), {int(number)})
        made = original(*arguments, **options)
        if after:
            os.kill(os.getpid(), {int(number)})
        return made
    setattr(owner, name, wrapped)

match {moment!r}:
    case "before_the_profile":
        with_signal(profile, "open_profile")
    case "before_the_window":
        with_signal(desktop.Desktop, "_make_window")
    case "after_the_window":
        with_signal(desktop.Desktop, "show", after=True)
raise SystemExit(main.main(["--profile", {str(tmp_path / "profile")!r}]))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "profile" / "state" / "running").exists()


def test_second_start_hands_its_files_over_and_ends(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    with started("--ask", "--profile", str(profile)) as first:
        wait_for_line(first, "rows")
        asked = time.monotonic()
        other = tmp_path / "no conversation.json"
        other.write_text("{}")
        with started(str(other), "--new", "--profile", str(profile)) as second:
            assert second.wait(15) == 0
        assert time.monotonic() - asked < 15
        assert first.poll() is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_second_start_does_not_hang_when_the_first_does(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    with started("--ask", "--profile", str(profile)) as first:
        wait_for_line(first, "rows")
        first.send_signal(signal.SIGSTOP)
        try:
            with started("--profile", str(profile)) as second:
                assert second.wait(15) == 1
                assert second.stderr is not None
                assert "does not answer" in second.stderr.read()
        finally:
            first.send_signal(signal.SIGCONT)


def test_start_after_a_kill_owns_the_profile_again(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    with started("--ask", "--profile", str(profile)) as first:
        wait_for_line(first, "rows")
        first.kill()
        with started("--ask", "--profile", str(profile)) as second:
            wait_for_line(second, "rows")


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["--no-such-option"], 2)])
def test_exit_codes_of_the_command_line(arguments: list[str], code: int) -> None:
    with started(*arguments, module="turnleaf") as process:
        assert process.wait(20) == code


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are named in the environment on Linux only")
def test_without_a_display_it_says_so_and_ends_with_two(tmp_path: Path) -> None:
    bare = {
        name: value
        for name, value in environment().items()
        if name not in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    }
    command = [sys.executable, "-m", "turnleaf", "--profile", str(tmp_path / "profile")]
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "display" in done.stderr


def test_nothing_heavy_is_loaded_before_the_window_is_seen(tmp_path: Path) -> None:
    script = f"""
import sys
from turnleaf.ui import desktop

def seen(run):
    print("LOADED", [name for name in {TOO_EARLY!r} if name in sys.modules], flush=True)
    print("FOCUS", run.window.page.card.edit.hasFocus() or not run.window.isActiveWindow(), flush=True)
    run.quit(forced=True)

desktop.Desktop._on_first_painted = seen
from turnleaf.main import main
raise SystemExit(main(["--profile", {str(tmp_path / "profile")!r}]))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert "LOADED []" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
