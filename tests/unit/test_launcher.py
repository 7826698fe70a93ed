"""The two commands, started as a user starts them, in a small clone with a stand-in for the installer."""

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import launcher
from launcher import Clone, StartError
from support.launcher_clone import REPOSITORY, SmallClone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for uv is a POSIX script")
_INSTALL = ["venv --no-project", "pip install"]


@pytest.fixture
def clone(tmp_path: Path) -> SmallClone:
    return SmallClone(tmp_path / "my clone ä 日本")


def test_first_start_makes_the_environment_and_the_second_only_reads_the_stamp(clone: SmallClone) -> None:
    first = clone.start("--version", "a b")
    assert first.stdout == f"app ['--version', 'a b'] {clone.places.environment}\n", first.stderr
    assert clone.calls() == _INSTALL
    second = clone.start("--version")
    assert second.stdout == f"app ['--version'] {clone.places.environment}\n"
    assert second.stderr == ""
    assert clone.calls() == _INSTALL


def test_every_line_of_a_start_is_one_step_on_stderr(clone: SmallClone) -> None:
    lines = clone.start("--version").stderr.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("turnleaf: ") for line in lines)
    assert clone.places.log in lines[0]


def test_workers_of_the_environment_find_the_project(clone: SmallClone) -> None:
    clone.start("--version")
    line = [clone.places.python, "-P", "-m", "turnleaf", "worker"]
    done = subprocess.run(line, cwd="/", env={}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("app ['worker']")


def test_file_in_the_current_folder_does_not_stand_in_for_a_module(clone: SmallClone, tmp_path: Path) -> None:
    for name in ("turnleaf.py", "json.py", "launcher.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    done = clone.start("--version", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout.startswith("app ['--version']"), done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"format 1\n", b"\x00\xff\xfe", b"format 1\nlock 0000\n", b"checked offscreen\n"]
)
def test_damaged_stamp_makes_the_environment_anew(clone: SmallClone, content: bytes) -> None:
    clone.start("--version")
    Path(clone.places.stamp).write_bytes(content)
    done = clone.start("--version")
    assert done.stdout.startswith("app"), done.stderr
    assert "not whole" in done.stderr
    assert clone.calls() == _INSTALL * 2


def test_environment_without_its_python_is_made_anew(clone: SmallClone) -> None:
    clone.start("--version")
    os.remove(clone.places.python)
    assert clone.start("--version").stdout.startswith("app")
    assert clone.calls() == _INSTALL * 2


def test_changed_lock_makes_the_environment_anew(clone: SmallClone) -> None:
    clone.start("--version")
    Path(clone.places.lock).write_text("# other packages\n")
    assert clone.start("--version").stdout.startswith("app")
    assert clone.calls() == _INSTALL * 2


def test_moved_clone_keeps_its_environment(clone: SmallClone, tmp_path: Path) -> None:
    clone.start("--version")
    moved = tmp_path / "moved"
    clone.root.rename(moved)
    line = [sys.executable, str(moved / "app"), "--version"]
    done = subprocess.run(line, env=clone.variables(), capture_output=True, text=True, check=True)
    assert done.stdout == f"app ['--version'] {moved}/.venv\n"
    assert clone.calls() == _INSTALL


def test_two_starts_at_once_install_once(clone: SmallClone) -> None:
    variables = clone.variables(UV_PIP_SECONDS="1")
    starts = [
        subprocess.Popen(
            clone.line("--version", name), env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    ends = [start.communicate(timeout=60) for start in starts]
    assert [start.returncode for start in starts] == [0, 0], ends
    assert sorted(output[:20] for output, _ in ends) == ["app ['--version', 'o", "app ['--version', 't"]
    assert clone.calls() == _INSTALL
    assert sum("another start is preparing the environment" in errors for _, errors in ends) == 1


def test_start_after_a_kill_in_the_middle_of_the_install_goes_through(clone: SmallClone) -> None:
    killed = subprocess.Popen(
        clone.line("--version"), env=clone.variables(UV_PIP_SECONDS="30"), stderr=subprocess.DEVNULL
    )
    pid_file = clone.calls_file.with_name("calls.pid")
    _wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    installer = int(pid_file.read_text())
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not os.path.exists(clone.places.stamp)
    done = clone.start("--version")
    assert done.stdout.startswith("app"), done.stderr
    assert clone.calls() == _INSTALL * 2
    assert not _is_running(installer)


def test_uv_that_fails_leaves_the_work_to_pip(clone: SmallClone) -> None:
    pytest.importorskip("ensurepip")
    done = clone.start("--version", UV_PIP_ERROR="error: invalid peer certificate: UnknownIssuer")
    assert done.stdout.startswith("app ['--version']"), done.stderr
    assert "uv failed (the certificate of the package index is not trusted here); going on with pip" in done.stderr
    assert "pip install --require-hashes" in Path(clone.places.log).read_text()


def test_start_goes_on_when_stderr_is_closed(clone: SmallClone) -> None:
    line = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *clone.line("--version")]
    done = subprocess.run(line, env=clone.variables(), capture_output=True, text=True, check=False)
    assert done.stdout.startswith("app")


def test_incomplete_clone_is_one_sentence(clone: SmallClone) -> None:
    os.remove(clone.places.lock)
    done = clone.start("--version")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "requirements.lock cannot be read" in done.stderr


def test_read_only_clone_is_one_sentence(clone: SmallClone, monkeypatch: pytest.MonkeyPatch) -> None:
    _make_read_only(monkeypatch)
    with pytest.raises(StartError, match=r"cannot be written \(Read-only file system\)") as stopped:
        launcher.prepare(clone.places, ())
    assert stopped.value.code == 1


def test_read_only_clone_with_its_environment_starts(clone: SmallClone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.start("--version")
    _make_read_only(monkeypatch)
    checked: list[object] = []
    monkeypatch.setattr("launcher_libraries.ensure_libraries", lambda place, platforms: checked.append(platforms))
    launcher.prepare(clone.places, ())
    launcher.prepare(clone.places, ("offscreen",))
    assert checked == [("offscreen",)]


def test_libraries_are_looked_for_once_for_each_platform(clone: SmallClone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.start("--version")
    checked: list[object] = []
    monkeypatch.setattr("launcher_libraries.ensure_libraries", lambda place, platforms: checked.append(platforms))
    for platforms in (("offscreen",), ("xcb",), ("offscreen",), ("wayland", "xcb"), ("xcb",), ()):
        launcher.prepare(clone.places, platforms)
    assert checked == [("offscreen",), ("xcb",), ("wayland", "xcb")]


def test_stamp_of_a_platform_whose_libraries_are_missing_is_not_written(
    clone: SmallClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.start("--version")

    def refuse(place: Clone, platforms: object) -> None:
        raise StartError("libEGL.so.1 is missing")

    monkeypatch.setattr("launcher_libraries.ensure_libraries", refuse)
    for _ in range(2):
        with pytest.raises(StartError, match="libEGL"):
            launcher.prepare(clone.places, ("offscreen",))
    assert launcher.read_stamp(clone.places, launcher.expected_stamp(clone.places)) == ()


def test_full_disk_is_one_sentence(clone: SmallClone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher_install.build", lambda place, lock: os.makedirs(place.environment))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StartError, match="could not be made: No space left on device"):
        launcher.prepare(clone.places, ())
    assert not os.path.exists(clone.places.stamp)


@pytest.mark.parametrize("version", [(3, 8, 18), (3, 9, 0), (3, 10, 13)])
def test_old_python_is_told_which_one_is_needed(
    version: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    assert launcher.main("app", ["--version"]) == 1
    found = ".".join(map(str, version))
    said = capsys.readouterr().err
    assert f"Python 3.11 or newer is needed; this is Python {found}" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("module", sorted(path.name for path in REPOSITORY.glob("app/*.py")))
def test_launcher_parses_on_python_3_8(module: str) -> None:
    ast.parse((REPOSITORY / "app" / module).read_text(encoding="utf-8"), feature_version=(3, 8))


def test_test_files_are_found_from_the_folder_where_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit/test_x.py").touch()
    monkeypatch.chdir(tmp_path)
    arguments = ["unit/test_x.py::test_a[1::2]", "-k", "unit", "--co", "elsewhere/test_y.py"]
    expected = [f"{tmp_path}/unit/test_x.py::test_a[1::2]", *arguments[1:]]
    assert launcher._paths_from(str(tmp_path / "clone"), arguments) == expected
    assert launcher._paths_from(str(tmp_path), arguments) == arguments


def _make_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "makedirs", refuse)


def _wait_until(condition: "object", seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended counts as gone, also before its parent has asked for it.
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
