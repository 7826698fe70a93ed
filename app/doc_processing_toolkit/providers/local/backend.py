"""At most one server process: which model it serves, its replacement, its end."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from doc_processing_toolkit.providers.local.failures import service_closed
from doc_processing_toolkit.providers.local.model import LocalModel
from doc_processing_toolkit.providers.local.startup import Launch, Startup

OwnerT = TypeVar("OwnerT")

log = logging.getLogger(__name__)

_CLOSING_S = 3.0


class Backend:
    """Owns at most one server process. All methods may be called from any thread and return at once, but ``close``."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._lock = threading.Lock()
        self._current: Startup | None = None
        self._is_closed = False
        after_fork(self, Backend.forget)

    def request(self, model: LocalModel) -> Startup:
        """Return the start that leads, or has led, to a running server for ``model``, beginning one where needed.

        A server for another model is ended first. Raises ``ProviderError`` after ``close``.
        """
        with self._lock:
            if self._is_closed:
                raise service_closed()
            current = self._current
            if current is not None and current.model == model and current.is_usable:
                return current
            return self._succeed(current, model)

    def replace(self, startup: Startup) -> None:
        """End the server of ``startup`` at once and start another behind it, unless something else has replaced it."""
        with self._lock:
            if self._is_closed or self._current is not startup:
                return
            log.info("the local model is stopped while it reads a prompt, and started again")
            startup.abort()
            self._succeed(startup, startup.model)

    def close(self) -> None:
        """End the process and wait until it is gone. Closing twice is fine."""
        with self._lock:
            self._is_closed = True
            current, self._current = self._current, None
        if current is not None:
            current.finish(_CLOSING_S)

    def forget(self) -> None:
        """Own nothing, in a fork: the process belongs to the parent, and a thread of the parent's may hold the lock."""
        self._lock = threading.Lock()
        if self._current is not None:
            self._current.disown()
        self._current = None

    def _succeed(self, predecessor: Startup | None, model: LocalModel) -> Startup:
        startup = self._current = Startup(model, self._launch, predecessor)
        startup.begin()
        return startup


def after_fork(owner: OwnerT, act: Callable[[OwnerT], None]) -> None:
    """Do ``act`` with ``owner``, where it still exists, in every process that is forked from this one."""
    reference = weakref.ref(owner)

    def in_child() -> None:
        if (alive := reference()) is not None:
            act(alive)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)
