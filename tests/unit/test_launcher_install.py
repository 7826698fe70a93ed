"""How an installer is run, and what its failure is called."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import launcher_install
from launcher import Clone, StartError
from launcher_install import InstallerError, Runner, build, installer_variables, reason_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins for installers are POSIX scripts")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(str(tmp_path))
    os.makedirs(made.state)
    return made


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "new connection: [Errno -3] Temporary failure in name resolution\nNo matching distribution",
            "reached",
        ),
        (
            "error: Failed to fetch\n  Caused by: dns error\n  Caused by: failed to lookup address",
            "reached",
        ),
        ("socket.timeout: The read operation timed out. Read timed out.", "reached"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "reached"),
        ("SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate in chain", "certificate"),
        ("Caused by: invalid peer certificate: UnknownIssuer", "certificate"),
        (
            "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "not the one that the lock names",
        ),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for xllamacpp==2026.10.11549", "no build for this Python"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_reason_of_a_failure_is_a_few_words(output: str, reason: str) -> None:
    found = reason_in(output)
    assert reason in found
    assert bool(found) == bool(reason)


def test_failure_tells_the_reason_of_its_own_output_only(clone: Clone) -> None:
    run = Runner(clone, None)
    with pytest.raises(InstallerError, match="disk is full"):
        run.run(["/bin/sh", "-c", "echo 'No space left on device'; exit 1"])
    with pytest.raises(InstallerError, match=r"^the installer ended with code 3$"):
        run.run(["/bin/sh", "-c", "exit 3"])


def test_full_disk_is_named_where_the_log_could_not_tell(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    with pytest.raises(InstallerError, match="disk is full"):
        Runner(clone, None).run(["/bin/sh", "-c", "exit 1"])


def test_installer_that_cannot_be_started_is_a_failure(clone: Clone) -> None:
    with pytest.raises(InstallerError, match="cannot be started"):
        Runner(clone, None).run([str(Path(clone.root) / "absent"), "venv"])


def test_output_and_command_are_in_the_log(clone: Clone) -> None:
    Runner(clone, None).run(["/bin/sh", "-c", "echo out; echo err >&2"])
    assert Path(clone.log).read_text() == "\n$ /bin/sh -c echo out; echo err >&2\nout\nerr\n"


def test_installer_gets_the_users_index_but_nothing_that_diverts_it() -> None:
    asked = {
        "PIP_INDEX_URL": "https://i",
        "PIP_TARGET": "/t",
        "PIP_USER": "1",
        "PYTHONPATH": "/p",
        "PYTHONHOME": "/h",
        "A": "b",
    }
    given = installer_variables(asked)
    assert given["PIP_INDEX_URL"] == "https://i"
    assert given["A"] == "b"
    assert given["PIP_USER"] == "0"
    assert not {"PIP_TARGET", "PYTHONPATH", "PYTHONHOME"} & set(given)


def test_failed_install_names_reason_and_log_and_writes_no_stamp(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setattr(Runner, "run", _fail)
    with pytest.raises(
        StartError, match=r"could not be installed: the disk is full \(log: .*install\.log\)"
    ) as stopped:
        build(clone, None)
    assert stopped.value.code == 1
    assert not os.path.exists(clone.stamp)


def test_missing_ensurepip_asks_for_debians_package(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def refuse(place: Clone, what: str, packages: list[str]) -> None:
        asked.append(packages)
        raise StartError(what)

    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("launcher_libraries.install_packages", refuse)
    with pytest.raises(StartError):
        build(clone, None)
    assert asked in ([["python3-venv"]], [[f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]])


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_whatever_stands_in_the_environments_place_is_removed(clone: Clone, kind: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    place = Path(clone.environment)
    if kind == "file":
        place.touch()
    elif kind == "link":
        place.symlink_to(elsewhere)
    else:
        (place / "lib").mkdir(parents=True)
    launcher_install._remove(clone)
    assert not place.exists()
    assert (elsewhere / "mine").exists()


def test_stamp_goes_before_the_environment(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(clone.environment)
    Path(clone.stamp).touch()

    def interrupted(path: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launcher_install._remove(clone)
    assert os.path.isdir(clone.environment)
    assert not os.path.exists(clone.stamp)


def test_installer_of_a_killed_start_ends_with_it(clone: Clone) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the death signal is Linux's")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from launcher import Clone\nfrom launcher_install import Runner\n"
        "Runner(Clone(sys.argv[2]), None).run(['/bin/sh', '-c', 'echo $$; exec sleep 60'])\n"
    )
    app = str(Path(launcher_install.__file__).parent)
    start = subprocess.Popen([sys.executable, "-c", script, app, clone.root])
    try:
        installer = _pid_in(Path(clone.log))
    finally:
        start.kill()
        start.wait()
    _wait_for_end(installer)


def _fail(run: Runner, line: object) -> None:
    raise InstallerError("the disk is full")


def _pid_in(log: Path) -> int:
    for _ in range(500):
        lines = log.read_text().splitlines() if log.exists() else []
        if lines and lines[-1].isdigit():
            return int(lines[-1])
        subprocess.run(["/bin/sleep", "0.02"], check=True)
    pytest.fail("the installer did not start")


def _wait_for_end(pid: int) -> None:
    status = Path(f"/proc/{pid}/status")
    for _ in range(250):
        try:
            if "\nState:\tZ" in status.read_text():
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        subprocess.run(["/bin/sleep", "0.02"], check=True)
    pytest.fail("the installer outlived the start")
