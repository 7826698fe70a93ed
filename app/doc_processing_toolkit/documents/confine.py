"""The limits that a worker process puts on itself before it parses anything."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

_LOOK_EVERY_S = 0.05
_IS_ENFORCED = sys.platform.startswith(("linux", "freebsd"))
_SPARE_CPU_S = 5
# A thread's stack counts as address space.
_STACK_BYTES = 256 << 10
# More than the libraries of the readers need to be loaded.
_ELBOW_ROOM_BYTES = 32 << 20


def confine(seconds: float, memory_bytes: int, on_memory_exceeded: Callable[[], None]) -> str:
    """Limit this process; return ``"enforced"``, or ``"watched"`` where the system has no limit on address space.

    Enforced, an allocation too many fails: as ``MemoryError`` in Python, by SIGABRT in the PDF library. Watched (on
    macOS, which ignores the limit, and on Windows), a thread looks at the resident memory every 50 ms and calls
    ``on_memory_exceeded``. The processor time is limited too, in case that nobody is left to look at the clock.
    """
    threading.stack_size(_STACK_BYTES)
    # Ctrl-C in a terminal reaches the whole process group; ending is the application's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        _limit_resources(seconds, memory_bytes)
    if _IS_ENFORCED:
        return "enforced"
    watch_memory(memory_bytes, on_memory_exceeded)
    return "watched"


def watch_memory(
    memory_bytes: int, on_exceeded: Callable[[], None], used: Callable[[], int] | None = None
) -> threading.Thread:
    """Call ``on_exceeded`` once the peak of the resident memory, ``used()`` in bytes, is above ``memory_bytes``."""
    measure = used or peak_memory

    def look() -> None:
        while measure() <= memory_bytes:
            time.sleep(_LOOK_EVERY_S)
        on_exceeded()

    thread = threading.Thread(target=look, name="memory watch", daemon=True)
    thread.start()
    return thread


def is_out_of_memory() -> bool:
    """Whether no more than a little memory is left to this process."""
    try:
        bytearray(_ELBOW_ROOM_BYTES)
    except MemoryError:
        return True
    return False


def end_with_input(fd: int) -> None:
    """End this process as soon as ``fd`` is closed at its other end: then the application is gone."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(fd, 4096):
                pass
        os._exit(0)

    threading.Thread(target=wait, name="input watch", daemon=True).start()


if sys.platform == "win32":

    def peak_memory() -> int:
        """Return the most memory, in bytes, that this process has had resident."""
        import ctypes
        from ctypes import wintypes

        class Counters(ctypes.Structure):
            _fields_ = (
                ("cb", wintypes.DWORD),
                ("PageFaultCount", wintypes.DWORD),
                *((name, ctypes.c_size_t) for name in ("PeakWorkingSetSize", "WorkingSetSize", "a", "b", "c", "d")),
                *((name, ctypes.c_size_t) for name in ("PagefileUsage", "PeakPagefileUsage")),
            )

        counters = Counters(cb=ctypes.sizeof(Counters))
        kernel = ctypes.WinDLL("kernel32")
        kernel.GetCurrentProcess.restype = wintypes.HANDLE
        kernel.K32GetProcessMemoryInfo.argtypes = (wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD)
        kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.cb)
        return int(counters.PeakPagefileUsage)

else:
    import resource

    def peak_memory() -> int:
        """Return the most memory, in bytes, that this process has had resident."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # Linux and the BSDs count KiB, macOS bytes.
        return peak if sys.platform == "darwin" else peak * 1024

    def _limit_resources(seconds: float, memory_bytes: int) -> None:
        cpu = int(seconds) + _SPARE_CPU_S
        for kind, limit in (
            (resource.RLIMIT_AS, memory_bytes),
            (resource.RLIMIT_CPU, cpu),
            # A core file would hold the user's document.
            (resource.RLIMIT_CORE, 0),
        ):
            # A hard limit below ours is stricter and stays.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (limit, limit))
