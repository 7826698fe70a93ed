"""One attempt to bring a model up, in a thread of its own: weights, settings, process, first answer."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from doc_processing_toolkit.core.errors import ProviderError
from doc_processing_toolkit.core.events import Progress
from doc_processing_toolkit.providers.local.cores import default_threads
from doc_processing_toolkit.providers.local.failures import service_closed
from doc_processing_toolkit.providers.local.gguf import describe_gguf
from doc_processing_toolkit.providers.local.model import DEFAULT_CONTEXT_TOKENS, LocalModel
from doc_processing_toolkit.providers.local.process import SERVER_COMMAND, ServerProcess, ServerSettings
from doc_processing_toolkit.providers.local.template import TRANSCRIPT_TEMPLATE
from doc_processing_toolkit.providers.local.weights import GEMMA, AssemblyStoppedError, assembled_weights

Watcher = Callable[[Progress], None]

_PATIENCE_S = 120.0
_SLOWEST_DISK_BYTES_S = 20e6


@dataclass(frozen=True, slots=True)
class Launch:
    """How models are brought up: the server's command line, and where weights are kept (``None``: the usual places)."""

    command: tuple[str, ...] = SERVER_COMMAND
    weights_folders: tuple[Path, ...] | None = None


USUAL_LAUNCH = Launch()


class Startup:
    """Brings up the server for ``model``; ``server`` holds it, or the ``ProviderError`` that says why there is none.

    The predecessor, where there is one, is ended first, so that two models are never in memory at once.
    """

    def __init__(self, model: LocalModel, launch: Launch, predecessor: Startup | None = None) -> None:
        self.model = model
        self._launch = launch
        self.server: Future[ServerProcess] = Future()
        # Running from the start: a waiter's cancellation must not reach what others may need.
        self.server.set_running_or_notify_cancel()
        self._predecessor = predecessor
        self._process: ServerProcess | None = None
        self._stopped = threading.Event()
        self._process_lock = threading.Lock()
        self._watch_lock = threading.Lock()
        self._watchers: list[Watcher] = []
        self._latest = Progress("starting_model")
        self._thread = threading.Thread(target=self._run, name="local-model-start", daemon=True)

    def begin(self) -> None:
        """Start working; returns at once."""
        self._thread.start()

    @property
    def is_usable(self) -> bool:
        """Whether there is, or may soon be, a server that answers."""
        if self._stopped.is_set():
            return False
        if not self.server.done():
            return True
        return self.server.exception() is None and self.server.result().is_answering

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with the progress as it stands and as it goes on, from any thread."""
        with self._watch_lock:
            self._watchers.append(watcher)
            latest = self._latest
        watcher(latest)

    def unwatch(self, watcher: Watcher) -> None:
        """Call ``watcher`` no more."""
        with self._watch_lock:
            self._watchers.remove(watcher)

    def abort(self) -> None:
        """Make the attempt fail, or end the server that it led to; returns at once."""
        self._stopped.set()
        with self._process_lock:
            process = self._process
        if process is not None:
            process.kill()

    def finish(self, timeout_s: float | None = None) -> None:
        """Abort and wait until nothing is left of it (blocking)."""
        self.abort()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if self._process is not None:
            self._process.wait()

    def disown(self) -> None:
        """Forget the process, in a fork of its owner."""
        self._stopped.set()
        if self._process is not None:
            self._process.disown()

    def _run(self) -> None:
        try:
            if self._predecessor is not None:
                self._predecessor.finish()
                self._predecessor = None
            server = self._bring_up()
        except AssemblyStoppedError:
            self.server.set_exception(service_closed())
        except ProviderError as exc:
            self.server.set_exception(service_closed() if self._stopped.is_set() else exc)
        else:
            self.server.set_result(server)
        finally:
            if not self.server.done():  # an error nobody thought of: it goes to the thread's exception hook
                self.abort()
                self.server.set_exception(
                    ProviderError("The local model could not be started. Try again.", provider="local")
                )

    def _bring_up(self) -> ServerProcess:
        settings = settings_for(self.model, self._report, self._stopped, self._launch.weights_folders)
        patience_s = _PATIENCE_S + Path(settings.model_path).stat().st_size / _SLOWEST_DISK_BYTES_S
        self._report(Progress("starting_model"))
        with self._process_lock:
            if self._stopped.is_set():
                raise service_closed()
            process = self._process = ServerProcess(settings, command=self._launch.command)
        process.wait_ready(patience_s)
        return process

    def _report(self, progress: Progress) -> None:
        with self._watch_lock:
            self._latest = progress
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher(progress)


def settings_for(
    model: LocalModel, report: Watcher, stopped: threading.Event, folders: tuple[Path, ...] | None = None
) -> ServerSettings:
    """Return what the server process is to be told, assembling the weights where the model is the packaged one.

    Blocking. The window is what was asked for, but no more than the model was trained on. Raises ``ProviderError``.
    """
    wanted = model.context_tokens if model.context_tokens > 0 else DEFAULT_CONTEXT_TOKENS
    if model.path is None:
        path = assembled_weights(report, stopped, folders=folders)
        trained_on, has_template = GEMMA.context_tokens, False
    else:
        info, path = describe_gguf(model.path), model.path.absolute()
        trained_on, has_template = info.context_length or wanted, info.has_chat_template
    return ServerSettings(
        model_path=str(path),
        template=model.template or ("" if has_template else TRANSCRIPT_TEMPLATE),
        context_tokens=min(wanted, trained_on),
        threads=default_threads(),
        api_key=secrets.token_urlsafe(32),
        # The engine finds out what fits on which device; the packaged model fits anywhere, and starts faster without.
        fit_to_memory=model.path is not None,
    )
