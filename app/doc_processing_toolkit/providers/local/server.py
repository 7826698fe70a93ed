"""The llama.cpp server's own process: it serves one model on loopback and ends when its standard input closes.

Run by its path, so that nothing else of the toolkit is loaded. It reads one JSON line, the fields of
:class:`~doc_processing_toolkit.providers.local.process.ServerSettings`, and writes one: ``{"ready": address}`` or
``{"failed": reason, "detail": text}`` with the reason ``engine_missing``, ``library_missing``, ``memory`` or
``load``. The engine holds the interpreter while it loads a model, hence a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from typing import Any

SETTINGS_LIMIT = 32 * 1024 * 1024


def main() -> int:
    """Serve until standard input closes. Returns 1 when the model could not be started."""
    # Ctrl+C in a terminal reaches the whole group; whether the server ends is its owner's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = _claim_stdout()
    line = sys.stdin.buffer.readline(SETTINGS_LIMIT)
    if not line:
        return 0
    settings = json.loads(line)
    watcher = _end_with_stdin()
    try:
        server = _start(settings)
    except (ImportError, RuntimeError, MemoryError, ValueError) as exc:
        _say(answer, {"failed": _reason(exc), "detail": str(exc)})
        return 1
    _say(answer, {"ready": server.listening_address})
    os.close(answer)
    watcher.join()
    return 0


def _claim_stdout() -> int:
    """Return a descriptor for the answer; whatever else is printed in this process goes to standard error."""
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answer


def _end_with_stdin() -> threading.Thread:
    """End this process when its owner closes standard input or dies, by whatever way."""
    if sys.platform != "win32":
        _end_while_loading()
    watcher = threading.Thread(target=_wait_for_end, name="stdin", daemon=True)
    watcher.start()
    return watcher


def _wait_for_end() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if sys.platform != "win32":
    import fcntl

    def _end_while_loading() -> None:
        """Let the kernel end the process: no thread of Python's can run while the engine loads a model.

        The last writer's close raises SIGIO, whose default action is to end the process. Where a system does not do
        that for pipes, the thread does it as soon as the model has been loaded.
        """
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
        try:
            fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
        except OSError:
            return
        # It may have closed before the signal was asked for.
        if any(events & select.POLLHUP for _, events in _poll_stdin()):
            os._exit(0)

    def _poll_stdin() -> list[tuple[int, int]]:
        poller = select.poll()
        poller.register(0, select.POLLIN)
        return poller.poll(0)


def _start(settings: dict[str, Any]) -> Any:
    """Load the model and return the listening server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model_path"]
    params.model_alias = {"local"}
    params.chat_template = settings["template"]
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    # The progress of a prompt is told once a batch, and a cancelled prompt stops at the end of one.
    params.n_batch = params.n_ubatch = settings["batch_tokens"]
    params.cache_ram_mib = settings["cache_mib"]
    params.fit_params = settings["fit_to_memory"]
    # The first request warms it up as well, and the server is there 0.3 s earlier.
    params.warmup = False
    _close_doors(params, settings["api_key"])
    return xllamacpp.Server(params)


def _close_doors(params: Any, api_key: str) -> None:
    """Leave nothing open but the completions and the model list, on loopback, with the key."""
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.ui = False
    params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    # By default every web page that the user opens would be allowed to read the answers.
    params.cors_origins = params.cors_methods = params.cors_headers = ""
    params.cors_credentials = False
    # Warnings and errors only: the rest is noise that would push them out of the tail the owner keeps.
    params.verbosity = 2


def _reason(exc: Exception) -> str:
    if isinstance(exc, ModuleNotFoundError):
        return "engine_missing"
    if isinstance(exc, ImportError):
        return "library_missing"
    return "memory" if isinstance(exc, MemoryError) else "load"


def _say(answer: int, message: dict[str, str]) -> None:
    os.write(answer, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
