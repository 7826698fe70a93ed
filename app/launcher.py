"""Owns both commands, `python3 app` and `python3 tests`: a private environment like the lock, then the program."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import BinaryIO, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

NEEDED_PYTHON = (3, 11)
_FORMAT = "1"  # raise it when the environments of this launcher can no longer serve the next one
# Settings made for another Python must not reach the private one.
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__")


class StartError(Exception):
    """The start cannot go on; `sentence` says why and what to do; `code` is 1 (not installable) or 2 (no display)."""

    def __init__(self, sentence: str, code: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


class Clone:
    """The places of one clone; the launcher writes nowhere else."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.app = os.path.join(root, "app")
        self.lock = os.path.join(root, "packaging", "requirements.lock")
        self.environment = os.path.join(root, ".venv")
        self.stamp = os.path.join(self.environment, "turnleaf-stamp")
        # Beside the environment, which is removed whole before it is made anew; git ignores both.
        self.state = os.path.join(root, ".venv-state")
        self.log = os.path.join(self.state, "install.log")
        scripts = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
        self.python = os.path.join(self.environment, *scripts)

    def open_log(self) -> BinaryIO:
        """Open the log to write on at its end; what is said there is lost where the clone is read-only."""
        try:
            return open(self.log, "ab")
        except OSError:
            return open(os.devnull, "ab")


def say(sentence: str) -> None:
    """Print one line on stderr; a stderr that is closed or not there does not stop the start."""
    try:
        sys.stderr.write("turnleaf: %s\n" % sentence)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return


def main(command: str, arguments: Sequence[str]) -> int:
    """Run `command` ("app" or "tests") with `arguments`; on POSIX this process becomes it. Return the exit code."""
    clone = Clone(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    try:
        _refuse_old_python()
        _open_standard_streams()
        from launcher_display import choose_platforms

        platforms = choose_platforms(command, arguments, os.environ)
        prepare(clone, platforms.names)
        return _become(clone, command, arguments, platforms.setting)
    except StartError as stop:
        say(stop.sentence)
        return stop.code
    except OSError as error:
        say("the start failed: %s (%s)." % (error.strerror or error, error.filename or "no file named"))
        return 1
    except KeyboardInterrupt:
        say("interrupted; start it again to go on.")
        return 130


def _open_standard_streams() -> None:
    """Put a file of no content where a standard stream is closed, so that no other file gets its number by chance."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        os.set_inheritable(descriptor, True)
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _refuse_old_python() -> None:
    if sys.version_info < NEEDED_PYTHON:
        needed, found = (".".join(map(str, version)) for version in (NEEDED_PYTHON, sys.version_info[:3]))
        raise StartError("Python %s or newer is needed; this is Python %s (%s)." % (needed, found, sys.executable))


def prepare(clone: Clone, platforms: Sequence[str]) -> None:
    """Make the environment match the lock and have the libraries of one of `platforms`.

    A warm start only reads the stamp. Raises StartError with the reason.
    """
    expected = expected_stamp(clone)
    check = "+".join(platforms)
    checked = read_stamp(clone, expected)
    if checked is not None and (not check or check in checked):
        return
    try:
        with _locked(clone, needed=checked is None) as lock:
            _prepare_locked(clone, expected, platforms, lock)
    except OSError as error:
        where = error.filename or clone.environment
        reason = error.strerror or error
        raise StartError("the private environment could not be made: %s (%s)." % (reason, where)) from error


def _prepare_locked(clone: Clone, expected: str, platforms: Sequence[str], lock: Optional[int]) -> None:
    check = "+".join(platforms)
    checked = read_stamp(clone, expected)  # another start may have done it meanwhile
    if checked is None:
        from launcher_install import build

        build(clone, lock)
        checked = ()
        write_stamp(clone, expected, checked)
    if check and check not in checked:
        from launcher_libraries import ensure_libraries

        ensure_libraries(clone, platforms)
        if lock is not None:
            write_stamp(clone, expected, (*checked, check))


def expected_stamp(clone: Clone) -> str:
    """Return how the stamp of a current environment starts: the lock's hash, and the Python that it was made for."""
    from hashlib import sha256

    try:
        with open(clone.lock, "rb") as file:
            digest = sha256(file.read()).hexdigest()
    except OSError as error:
        raise StartError(
            "this clone is not complete: %s cannot be read (%s)." % (clone.lock, error.strerror)
        ) from error
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    version = "%s %s %s" % (sys.implementation.name, sys.version.split()[0], machine)
    lines = ("format " + _FORMAT, "lock " + digest, "python " + version, "interpreter " + base_python())
    return "".join(line + "\n" for line in lines)


def base_python() -> str:
    """Return the interpreter that runs this, or where that belongs to an environment the one it was made from."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def read_stamp(clone: Clone, expected: str) -> Optional[Tuple[str, ...]]:
    """Return what was checked in a whole and current environment (maybe nothing yet), None where it has to be made."""
    try:
        with open(clone.stamp, "rb") as file:
            text = file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return None
    if not text.startswith(expected) or not os.path.exists(clone.python):
        return None
    prefix = "checked "
    lines = text[len(expected) :].split("\n")[:-1]
    return tuple(line[len(prefix) :] for line in lines if line.startswith(prefix))


def write_stamp(clone: Clone, expected: str, checked: Sequence[str]) -> None:
    """Write the stamp, whole or not at all."""
    text = expected + "".join("checked %s\n" % name for name in checked)
    partial = clone.stamp + ".partial"
    with open(partial, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, clone.stamp)


@contextmanager
def _locked(clone: Clone, needed: bool) -> Iterator[Optional[int]]:
    """Hold the clone's lock, so that of two starts at once one installs; None where the clone is read-only and may be.

    The descriptor goes to the installers too: one that outlives a killed start keeps the lock until it has ended.
    """
    descriptor = _open_lock(clone, needed)
    if descriptor is None:
        yield None
        return
    try:
        _wait_for(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_lock(clone: Clone, needed: bool) -> Optional[int]:
    try:
        os.makedirs(clone.state, exist_ok=True)
        return os.open(os.path.join(clone.state, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if not needed:
            return None
        sentence = (
            "%s cannot be written (%s), and Turnleaf keeps its private environment there; clone it to a place of yours."
        )
        raise StartError(sentence % (clone.root, error.strerror)) from error


def _wait_for(descriptor: int) -> None:
    if _try_lock(descriptor):
        return
    say("another start is preparing the environment; waiting for it.")
    import time

    while not _try_lock(descriptor):
        time.sleep(0.2)


def _try_lock(descriptor: int) -> bool:
    """Return False while another process holds the lock; a file system without locks counts as free."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def private_variables(environ: Mapping[str, str]) -> Dict[str, str]:
    """Return `environ` without what was set for another Python."""
    return {name: value for name, value in environ.items() if name not in _FOREIGN}


def _become(clone: Clone, command: str, arguments: Sequence[str], platform: str) -> int:
    variables = private_variables(os.environ)
    if platform:
        variables["QT_QPA_PLATFORM"] = platform
    # -P: a file in the current folder must not stand in for a module.
    line = [clone.python, "-P", "-m"]
    if command == "tests":
        line += ["pytest", *_paths_from(clone.root, arguments)]
        os.chdir(clone.root)
    else:
        line += ["turnleaf", *arguments]
    if sys.platform == "win32":
        import subprocess

        return subprocess.call(line, env=variables)
    try:
        os.execve(clone.python, line, variables)
    except OSError as error:
        raise StartError(
            "%s cannot be started (%s); remove %s and start again." % (clone.python, error.strerror, clone.environment)
        ) from error


def _paths_from(root: str, arguments: Sequence[str]) -> List[str]:
    """Return pytest's arguments for a run in the clone: files named from the folder of the command become absolute."""
    try:
        if os.path.realpath(os.getcwd()) == root:
            return list(arguments)
    except FileNotFoundError:  # the current folder was removed
        return list(arguments)
    named = []
    for argument in arguments:
        path, colons, test = argument.partition("::")
        looks_like_path = os.sep in path or path.endswith(".py") or path in (os.curdir, os.pardir)
        if not argument.startswith("-") and looks_like_path and os.path.exists(path):
            argument = os.path.abspath(path) + colons + test
        named.append(argument)
    return named
