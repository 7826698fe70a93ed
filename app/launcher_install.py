"""Owns how the private environment is made from the lock: with `uv` where it is on the path, else `venv` and pip."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from launcher import Clone, StartError, base_python, private_variables, say

_PR_SET_PDEATHSIG = 1
_FULL_BYTES = 16 * 1024 * 1024
# Settings that would send packages elsewhere than into the environment that is named.
_DIVERTING = (
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_NO_BINARY",
    "UV_SYSTEM_PYTHON",
    "UV_PYTHON",
    "UV_TARGET",
    "UV_PREFIX",
)
_NETWORK = (
    r"temporary failure in name resolution|name or service not known|nodename nor servname|getaddrinfo failed"
    r"|failed to lookup address|dns error|network is unreachable|no route to host"
    r"|newconnectionerror|failed to establish a new connection"
    r"|connection refused|tcp connect error|connecttimeout|connect timeout|operation timed out|read timed out"
)
# What an installer's log says -> the reason in one sentence; the first that matches counts.
_REASONS = (
    (r"no space left on device|disk quota exceeded|errno 28", "the disk is full"),
    (r"do not match the hashes|hash mismatch", "a downloaded package is not the one that the lock names"),
    (
        r"certificate[ _]verify[ _]failed|unknownissuer|invalid peer certificate|self[- ]signed certificate",
        "the certificate of the package index is not trusted here",
    ),
    (_NETWORK, "the package index cannot be reached; is there a network?"),
    (
        r"no matching distribution|no wheels|has no usable wheels",
        "a package has no build for this Python and machine",
    ),
)


class InstallerError(Exception):
    """An installer ended with an error; the text is the reason in a few words."""


def build(clone: Clone, lock: Optional[int]) -> None:
    """Make the environment anew from the lock's packages; its stamp is the caller's to write, after this.

    Raises StartError with the reason and the log's path.
    """
    began = time.monotonic()
    if os.path.lexists(clone.environment):
        say("removing an environment that is not whole, or was made for other packages or another Python.")
    _remove(clone)
    with open(clone.log, "w", encoding="utf-8", errors="backslashreplace") as log:
        log.write("%s\nPython %s at %s\n" % (time.strftime("%Y-%m-%d %H:%M:%S %z"), sys.version, base_python()))
    run = Runner(clone, lock)
    uv = shutil.which("uv")
    if not (uv and _with_uv(run, uv)):
        _with_pip(run)
    _add_app(clone)
    say("the environment is ready after %.0f s." % (time.monotonic() - began))


def _remove(clone: Clone) -> None:
    """Remove what is left of an environment, its stamp first: half an environment must never look whole."""
    if os.path.lexists(clone.stamp):
        os.remove(clone.stamp)
    if os.path.islink(clone.environment) or os.path.isfile(clone.environment):
        os.remove(clone.environment)
    elif os.path.lexists(clone.environment):
        shutil.rmtree(clone.environment)


class Runner:
    """Runs installers one after the other, their output in the log and none of them left behind."""

    def __init__(self, clone: Clone, lock: Optional[int]) -> None:
        self.clone = clone
        self._lock = lock

    def run(self, line: Sequence[str]) -> None:
        """Run one installer to its end; raises InstallerError with the reason that its output gives."""
        with self.clone.open_log() as log:
            log.write(("\n$ %s\n" % " ".join(line)).encode("utf-8", "backslashreplace"))
            log.flush()
            start = log.tell()
            try:
                code = subprocess.call(list(line), stdout=log, stderr=log, **self._options())
            except OSError as error:
                raise InstallerError("%s cannot be started (%s)" % (line[0], error.strerror)) from error
        if code:
            raise InstallerError(self._reason(start, code))

    def _options(self) -> Dict[str, Any]:
        options: Dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "cwd": self.clone.state,
            "env": installer_variables(os.environ),
        }
        if sys.platform != "win32" and self._lock is not None:
            options["pass_fds"] = (self._lock,)
        if sys.platform.startswith("linux") and importlib.util.find_spec("_ctypes"):
            options["preexec_fn"] = _death_signal()
        return options

    def _reason(self, start: int, code: int) -> str:
        with open(self.clone.log, "rb") as log:
            log.seek(start)
            output = log.read().decode("utf-8", "replace")
        reason = reason_in(output)
        if not reason and shutil.disk_usage(self.clone.root).free < _FULL_BYTES:
            reason = "the disk is full"  # which is why the log does not tell
        return reason or "the installer ended with code %d" % code


def installer_variables(environ: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables for an installer: the user's own, index and certificates too, less what would divert it."""
    variables = {name: value for name, value in private_variables(environ).items() if name not in _DIVERTING}
    variables.setdefault("PIP_RETRIES", "3")
    variables.update(PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONUTF8="1")
    return variables


def reason_in(output: str) -> str:
    """Return why an installer failed, in a few words taken from a table, or "" where its output tells nothing known."""
    lowered = output.lower()
    for pattern, reason in _REASONS:
        if re.search(pattern, lowered):
            return reason
    return ""


def _death_signal() -> Callable[[], None]:
    """Return what lets a child end with this process, a SIGKILL included, so that no installer writes on alone."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def die_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return die_with_parent


def _with_uv(run: Runner, uv: str) -> bool:
    """Return whether uv made the environment; it has its own certificates and settings, and pip may get on without."""
    say("making the private environment with uv (about 1 GB, once; log: %s)." % run.clone.log)
    clone = run.clone
    try:
        run.run([uv, "venv", "--no-project", "--python", base_python(), clone.environment])
        say("installing the packages.")
        options = ["--python", clone.python, "--require-hashes", "--only-binary", ":all:", "--compile-bytecode"]
        run.run([uv, "pip", "install", *options, "-r", clone.lock])
    except InstallerError as failure:
        say("uv failed (%s); going on with pip." % failure)
        _remove(clone)
        return False
    return True


def _with_pip(run: Runner) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        from launcher_libraries import install_packages, venv_package

        install_packages(run.clone, "the standard library's ensurepip", [venv_package()])
    clone = run.clone
    say("making the private environment with venv (about 1 GB, once; log: %s)." % clone.log)
    options = ["--require-hashes", "--only-binary", ":all:", "--no-input", "--progress-bar", "off"]
    try:
        run.run([base_python(), "-P", "-m", "venv", clone.environment])
        say("installing the packages with pip.")
        run.run([clone.python, "-P", "-m", "pip", "install", *options, "-r", clone.lock])
    except InstallerError as failure:
        raise StartError("the packages could not be installed: %s (log: %s)." % (failure, clone.log)) from failure


def _add_app(clone: Clone) -> None:
    """Let every Python of the environment, the app's own workers too, find the project in `app/`."""
    base = {"base": clone.environment, "platbase": clone.environment}
    packages = sysconfig.get_path("purelib", "venv", vars=base)
    # Relative, so that a clone can be moved, and ASCII whatever the clone's path is called.
    with open(os.path.join(packages, "turnleaf.pth"), "w", encoding="ascii") as file:
        file.write(os.path.relpath(clone.app, packages) + "\n")
