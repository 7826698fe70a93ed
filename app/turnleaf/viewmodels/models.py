"""The model list: what can answer, what cannot and why, and how to add one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from turnleaf.bridge.tasks import FailureHandler, TaskOwner
from turnleaf.services.errors import ServiceError
from turnleaf.services.notices import Notice, notice_of

if TYPE_CHECKING:
    from turnleaf.services.models import ModelCatalogue, ModelEntry


class ModelsViewModel(QObject):
    """Keeps the list of models fresh. Empty until the services are there."""

    entries_changed = Signal(object)
    """The models, demo model first (a tuple of ``ModelEntry``)."""
    added = Signal(object)
    """A model of the user's was added and can be chosen (a ``ModelEntry``)."""
    refused = Signal(object)
    """A model could not be added (a ``Notice``)."""

    def __init__(self, on_failure: FailureHandler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = TaskOwner("models", on_failure)
        self._catalogue: ModelCatalogue | None = None
        self._entries: tuple[ModelEntry, ...] = ()
        self._refreshing = False

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """The models as known now."""
        return self._entries

    def attach(self, catalogue: ModelCatalogue) -> None:
        """Begin to show the models of `catalogue`."""
        self._catalogue = catalogue
        self._show(catalogue.entries())

    def refresh(self) -> None:
        """Ask the servers again, without waiting for them."""
        if self._catalogue is not None and not self._refreshing:
            self._refreshing = True
            self._tasks.start(self._refresh(self._catalogue), "refresh")

    def add_file(self, path: Path) -> None:
        """Add a model file (``.gguf``) of the user's."""
        self._tasks.start(self._add_file(path), "add model file")

    def add_server(self, address: str) -> None:
        """Add an OpenAI-compatible server by its address."""
        self._tasks.start(self._add_server(address.strip()), "add server")

    async def close(self) -> None:
        """End what runs."""
        await self._tasks.close(timeout_s=0.5)

    async def _refresh(self, catalogue: ModelCatalogue) -> None:
        try:
            self._show(await catalogue.refresh())
        finally:
            self._refreshing = False

    async def _add_file(self, path: Path) -> None:
        if self._catalogue is not None:
            try:
                entry = await self._catalogue.add_file(path)
            except (ServiceError, ValueError) as error:
                self.refused.emit(_refusal(error))
            else:
                self._show(self._catalogue.entries())
                self.added.emit(entry)

    async def _add_server(self, address: str) -> None:
        if self._catalogue is not None:
            try:
                entries = await self._catalogue.add_server(address)
            except (ServiceError, ValueError) as error:
                self.refused.emit(_refusal(error))
            else:
                self._show(self._catalogue.entries())
                self.added.emit(next(entry for entry in entries if entry.usable))

    def _show(self, entries: list[ModelEntry]) -> None:
        self._entries = tuple(entries)
        self.entries_changed.emit(self._entries)


def _refusal(error: ServiceError | ValueError) -> Notice:
    if isinstance(error, ServiceError):
        return notice_of(error)
    return Notice(id="address_refused", text=str(error).removeprefix("servers: "), severity="warning")
