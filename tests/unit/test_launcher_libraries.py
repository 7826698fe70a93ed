"""Missing system libraries are found and named, and installed only where that may be done."""

import os
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

import launcher_libraries
from launcher import Clone, StartError
from launcher_libraries import (
    ensure_libraries,
    install_packages,
    missing_libraries,
    packages_of,
    start_variables,
    venv_package,
)
from support.requirements import require_tools, require_window_libraries

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are looked for on Linux only")
_SITE = str(Path(PySide6.__file__).resolve().parents[1])


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(str(tmp_path))
    os.makedirs(made.state)
    return made


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for apt-get that writes its calls to the returned file, and fails on the package `failing`."""
    calls = tmp_path / "apt-calls"
    script = tmp_path / "bin" / "apt-get"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *failing*) exit 100;; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(launcher_libraries, "_is_debian", lambda: True)
    return calls


def test_installed_environment_lacks_nothing_offscreen() -> None:
    assert missing_libraries(_SITE, ("offscreen",)) == set()


def test_window_platforms_libraries_are_found() -> None:
    require_window_libraries()
    assert missing_libraries(_SITE, ("xcb",)) == set()


def test_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site packages [1]"
    plugins = site / "PySide6/Qt/plugins/platforms"
    plugins.mkdir(parents=True)
    whole = next(Path(_SITE).glob("pypdfium2_raw/libpdfium.so")).read_bytes()
    (plugins / "libqoffscreen.so").write_bytes(whole)
    (plugins / "libqxcb.so").write_bytes(whole.replace(b"\0libm.so.6\0", b"\0libq.so.6\0"))
    assert missing_libraries(str(site), ("xcb",)) == {"libq.so.6"}
    assert missing_libraries(str(site), ("offscreen",)) == set()
    assert missing_libraries(str(site), ("xcb", "offscreen")) == set()


def test_packages_are_named_and_what_none_is_known_for() -> None:
    assert packages_of({"libEGL.so.1", "libgthread-2.0.so.0", "libglib-2.0.so.0", "libnew.so.7"}) == (
        ["libegl1", "libglib2.0-0"],
        ["libnew.so.7"],
    )


def test_every_library_that_qt_and_the_engine_ask_for_has_a_package() -> None:
    require_tools("readelf")
    patterns = [
        *launcher_libraries._ALWAYS,
        *launcher_libraries._plugins("xcb"),
        *launcher_libraries._plugins("wayland"),
    ]
    files = [str(file) for pattern in patterns for file in Path(_SITE).glob(pattern)]
    libraries = ("Core", "DBus", "Gui", "Network", "WaylandClient", "Widgets", "XcbQpa")
    files += [f"{_SITE}/PySide6/Qt/lib/libQt6{name}.so.6" for name in libraries]
    output = subprocess.run(["readelf", "-d", *files], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in output.splitlines() if "(NEEDED)" in line}
    of_libc = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "libresolv.", "libutil.", "ld-linux")
    bundled = ("libQt6", "libpyside6", "libshiboken6", "libicu")
    outside = {name for name in needed if not name.startswith((*of_libc, *bundled))}
    assert "libEGL.so.1" in outside
    assert packages_of(outside)[1] == []


def test_root_on_debian_installs(clone: Clone, apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    install_packages(clone, "system libraries (libEGL.so.1)", ["libegl1", "libgl1"])
    update, install = apt.read_text().splitlines()
    assert update == "update"
    assert install.endswith("install -y --no-install-recommends libegl1 libgl1")


def test_apt_that_fails_names_command_and_log(clone: Clone, apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(StartError, match=r"apt-get failed \(log: .*\); try: apt-get install -y .* failing"):
        install_packages(clone, "system libraries (libEGL.so.1)", ["failing"])


def test_user_on_debian_gets_the_exact_command(clone: Clone, apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(StartError) as stopped:
        install_packages(clone, "system libraries (libEGL.so.1, libx.so.1)", ["libegl1"], ["libx.so.1"])
    assert stopped.value.code == 1
    assert stopped.value.sentence == (
        "system libraries (libEGL.so.1, libx.so.1) are missing; install what is missing with:"
        " sudo apt-get install -y --no-install-recommends libegl1; also missing: libx.so.1"
    )
    assert not apt.exists()


def test_another_system_gets_the_names(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher_libraries, "_is_debian", lambda: False)
    with pytest.raises(StartError, match=r"system libraries \(libEGL.so.1\) are missing; .*package manager"):
        install_packages(clone, "system libraries (libEGL.so.1)", ["libegl1"])


def test_missing_libraries_are_installed_and_looked_for_again(
    clone: Clone, apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(launcher_libraries, "_start_once", lambda place, platforms: None)
    answers = iter([{"libEGL.so.1"}, set()])
    monkeypatch.setattr(launcher_libraries, "missing_libraries", lambda site, platforms: next(answers))
    ensure_libraries(clone, ("offscreen",))
    assert "libegl1" in apt.read_text()
    monkeypatch.setattr(launcher_libraries, "missing_libraries", lambda site, platforms: {"libEGL.so.1"})
    with pytest.raises(StartError, match=r"still missing: libEGL\.so\.1"):
        ensure_libraries(clone, ("offscreen",))


def test_trial_start_goes_through_in_this_environment(clone: Clone) -> None:
    clone.python = sys.executable
    launcher_libraries._start_once(clone, ("offscreen",))


def test_trial_start_that_fails_tells_its_last_line(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM")
    clone.python = sys.executable
    with pytest.raises(StartError, match=r"does not start here: .*turnleaf-absent.*log:"):
        launcher_libraries._start_once(clone, ("turnleaf-absent",))
    assert "turnleaf-absent" in Path(clone.log).read_text()


def test_trial_start_that_names_a_library_tells_its_package(clone: Clone) -> None:
    output = "ImportError: libgomp.so.1: cannot open shared object file: No such file or directory"
    sentence = launcher_libraries._why_not_started(output, clone)
    assert "libgomp.so.1" in sentence
    assert "apt-get install -y libgomp1" in sentence


def test_trial_start_uses_the_users_own_platform() -> None:
    assert start_variables({"QT_QPA_PLATFORM": "vnc:size=1x1"}, ("vnc",))["QT_QPA_PLATFORM"] == "vnc:size=1x1"
    assert start_variables({"QT_QPA_PLATFORM": ""}, ("wayland", "xcb"))["QT_QPA_PLATFORM"] == "wayland;xcb"


def test_package_of_ensurepip_is_the_one_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher_libraries, "base_python", lambda: os.path.realpath("/usr/bin/python3"))
    assert venv_package() == "python3-venv"
    monkeypatch.setattr(launcher_libraries, "base_python", lambda: "/opt/python/bin/python3")
    assert venv_package() == f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
