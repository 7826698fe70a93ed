"""Owns what Qt and the local model need from the system: names the missing libraries and Debian's packages for them."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from typing import BinaryIO, Dict, List, Mapping, Sequence, Set, Tuple

from launcher import Clone, StartError, base_python, private_variables, say

_LDD_SECONDS = 60.0
_START_SECONDS = 120.0
_ALWAYS = (
    "PySide6/QtCore*.so*",
    "PySide6/QtGui*.so*",
    "PySide6/QtNetwork*.so*",
    "PySide6/QtWidgets*.so*",
    "PySide6/Qt/plugins/platforminputcontexts/lib[ci]*.so",  # compose and ibus; the on-screen keyboard is an addon
    "xllamacpp/*.so",
    "pypdfium2_raw/*.so",
)
_OF_PLATFORM = {
    "wayland": (
        "PySide6/Qt/plugins/platforms/libqwayland*.so",
        "PySide6/Qt/plugins/wayland-shell-integration/libxdg-shell.so",
        "PySide6/Qt/plugins/wayland-graphics-integration-client/libqt-plugin-wayland-egl.so",
    ),
}
# Debian's names, the same on 12 and 13 (which provides the old names of renamed ones).
_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libOpenGL.so.0": "libopengl0",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libbrotlicommon.so.1": "libbrotli1",
    "libbrotlidec.so.1": "libbrotli1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libdrm.so.2": "libdrm2",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libgbm.so.1": "libgbm1",
    "libgcc_s.so.1": "libgcc-s1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgomp.so.1": "libgomp1",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libstdc++.so.6": "libstdc++6",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
# Run by the environment's Python: the real start, in a process that may abort.
_REAL_START = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import pypdfium2
try:
    import xllamacpp
except ModuleNotFoundError:
    pass  # there is no build of the engine for some machines; the app says so where it matters
from PySide6 import QtNetwork, QtWidgets
application = QtWidgets.QApplication(["turnleaf"])
print("started on", application.platformName())
"""


def ensure_libraries(clone: Clone, platforms: Sequence[str]) -> None:
    """Return when Qt starts on one of `platforms` and the local model's engine loads.

    Missing libraries are installed on Debian as root. Raises StartError with their names and the command.
    """
    say("looking for the system libraries of Qt (%s) and of the local model." % ", ".join(platforms))
    site = sysconfig.get_path("purelib", "venv", vars={"base": clone.environment, "platbase": clone.environment})
    missing = missing_libraries(site, platforms)
    if missing:
        packages, unknown = packages_of(missing)
        install_packages(clone, "system libraries (%s)" % ", ".join(sorted(missing)), packages, unknown)
        missing = missing_libraries(site, platforms)
        if missing:
            raise StartError(
                "system libraries are still missing: %s (log: %s)." % (", ".join(sorted(missing)), clone.log)
            )
    _start_once(clone, platforms)


def missing_libraries(site: str, platforms: Sequence[str]) -> Set[str]:
    """Return the libraries that the loader does not find for the packages in the folder `site`.

    Of `platforms` (best first) the one that lacks least counts.
    """
    choices = [_not_found(site, _plugins(name)) for name in platforms]
    return _not_found(site, _ALWAYS) | min(choices, key=len, default=set())


def _plugins(platform: str) -> Tuple[str, ...]:
    kind = "wayland" if platform.startswith("wayland") else platform
    return _OF_PLATFORM.get(kind, ("PySide6/Qt/plugins/platforms/libq%s.so" % kind,))


def _not_found(site: str, patterns: Sequence[str]) -> Set[str]:
    files = sorted(name for pattern in patterns for name in glob.glob(os.path.join(glob.escape(site), pattern)))
    ldd = shutil.which("ldd")
    if not files or not ldd:
        return set()
    try:
        done = subprocess.run([ldd, *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_LDD_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return set()  # the real start will tell
    return set(re.findall(r"^\s*(\S+) => not found", done.stdout.decode("utf-8", "replace"), re.MULTILINE))


def packages_of(libraries: Set[str]) -> Tuple[List[str], List[str]]:
    """Return Debian's packages for `libraries`, and those that no package is known for."""
    known = sorted({_PACKAGES[name] for name in libraries if name in _PACKAGES})
    return known, sorted(name for name in libraries if name not in _PACKAGES)


def install_packages(clone: Clone, what: str, packages: Sequence[str], unknown: Sequence[str] = ()) -> None:
    """Install Debian packages when this is Debian and root; raises StartError with the exact command otherwise."""
    if not packages or not _is_debian():
        raise StartError(
            "%s missing; install what provides them with your system's package manager and start again." % _are(what)
        )
    also = "; also missing: %s" % ", ".join(unknown) if unknown else ""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        raise StartError("%s missing; install what is missing with: sudo %s%s" % (_are(what), " ".join(command), also))
    say("installing %s with apt-get." % " ".join(packages))
    with clone.open_log() as log:
        _apt(["apt-get", "update"], log)
        code = _apt(["apt-get", "-o", "DPkg::Lock::Timeout=300", *command[1:]], log)
    if code:
        raise StartError(
            "%s missing and apt-get failed (log: %s); try: %s%s" % (_are(what), clone.log, " ".join(command), also)
        )


def _is_debian() -> bool:
    return os.path.exists("/etc/debian_version") and shutil.which("apt-get") is not None


def _are(what: str) -> str:
    return what + (" is" if what.startswith("the ") else " are")


def _apt(line: Sequence[str], log: BinaryIO) -> int:
    variables = {**private_variables(os.environ), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        return subprocess.call(list(line), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables)
    except OSError:
        return 1


def venv_package() -> str:
    """Return the package that holds Debian's ensurepip for the Python that runs this."""
    if os.path.realpath("/usr/bin/python3") == base_python():
        return "python3-venv"
    return "python%d.%d-venv" % sys.version_info[:2]


def _start_once(clone: Clone, platforms: Sequence[str]) -> None:
    line = [clone.python, "-P", "-c", _REAL_START]
    try:
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=start_variables(os.environ, platforms),
            timeout=_START_SECONDS,
        )
        code, output = done.returncode, done.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        code, output = 1, str(error)
    if code == 0:
        return
    with clone.open_log() as log:
        text = "\n$ start Qt on %s: ended with code %d\n%s\n" % (" or ".join(platforms), code, output)
        log.write(text.encode("utf-8", "backslashreplace"))
    raise StartError(_why_not_started(output, clone))


def start_variables(environ: Mapping[str, str], platforms: Sequence[str]) -> Dict[str, str]:
    """Return the variables for a trial start on `platforms`."""
    variables = private_variables(environ)
    if not variables.get("QT_QPA_PLATFORM"):
        variables["QT_QPA_PLATFORM"] = ";".join(platforms)
    return variables


def _why_not_started(output: str, clone: Clone) -> str:
    missing = set(re.findall(r"(lib[^\s/:]+\.so[.\d]*): cannot open shared object file", output))
    if missing:
        packages, _ = packages_of(missing)
        hint = "; on Debian: apt-get install -y %s" % " ".join(packages) if packages else ""
        return "a system library is missing: %s%s (log: %s)." % (", ".join(sorted(missing)), hint, clone.log)
    return "Qt or the local model's engine does not start here: %s (log: %s)." % (_telling_line(output), clone.log)


def _telling_line(output: str) -> str:
    """Return a traceback's last line, and of Qt's complaints the first: what follows it guesses at causes."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not any(line.startswith("Traceback") for line in lines):
        lines = [line for line in lines if re.search("could not|cannot|error|failed", line, re.IGNORECASE)][:1] or lines
    return lines[-1] if lines else "it ended without a word"
