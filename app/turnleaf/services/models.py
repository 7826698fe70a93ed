"""The models that can answer: the demo model, the user's own files, servers nearby and by address."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doc_processing_toolkit.core.errors import AgentError
from doc_processing_toolkit.registry import ModelRow, find
from turnleaf.services.errors import ModelUnavailableError
from turnleaf.services.model_checks import (
    COMPATIBLE,
    demo_problem,
    file_of,
    file_problem,
    header_problem,
    id_of_file,
    shown_address,
    shown_name,
)
from turnleaf.services.notices import Notice, notice_of
from turnleaf.services.redaction import redact
from turnleaf.services.settings import Settings, check_address

if TYPE_CHECKING:
    from doc_processing_toolkit import Agent, DirectoryMediaStore
    from doc_processing_toolkit.providers.local import DiscoveredModel

log = logging.getLogger(__name__)

DEMO_MODEL = "local/gemma-3-270m"
ON_THIS_COMPUTER = "On this computer"
NEARBY_TIMEOUT_S = 0.3
ADDRESS_TIMEOUT_S = 2.0
_NOT_RECIPE = frozenset({"model", "base_url", "media_store", "stream_history", "unserialisable", "api_key"})
_AGENT_ERRORS = (ValueError, TypeError, AgentError, OSError)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One line of the model list; ``id`` and ``base_url`` are what ``make_agent`` takes.

    ``group`` is the heading it stands under (``"On this computer"``, ``"Ollama"``, an address). ``reason`` is a plain
    sentence when it is not ``usable``; a server that does not answer is one such line with an empty ``id``.
    """

    id: str
    label: str
    provider: str
    base_url: str | None
    usable: bool
    reason: str = ""
    group: str = ""
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class RecipeAgent:
    """An agent made from a conversation's recipe; ``notice`` says when its model is gone (the demo model is offered).

    ``substituted`` is true when no agent can be made from the recipe, and this is the demo model's.
    """

    agent: Agent
    notice: Notice | None = None
    substituted: bool = False


class ModelCatalogue:
    """The model list of a profile."""

    def __init__(self, settings: Settings, media: DirectoryMediaStore) -> None:
        self._settings = settings
        self._media = media
        self._found: tuple[ModelEntry, ...] = ()
        self._file_problems: dict[str, str] = {}
        self._is_refreshed = False

    def entries(self) -> list[ModelEntry]:
        """Return the models known now, the demo model first; waits for nothing."""
        files = [self._file_entry(path) for path in self._settings.values.gguf_files]
        return [_demo_entry(), *files, *self._found]

    async def refresh(self) -> list[ModelEntry]:
        """Ask the servers (this computer's at most 300 ms, addresses at most 2 s, all at once) and return the list."""
        values = self._settings.values
        groups, problems = await asyncio.gather(
            asyncio.gather(self._nearby(), *(self._at_address(address) for address in values.servers)),
            asyncio.to_thread(lambda: {path: header_problem(Path(path)) for path in values.gguf_files}),
        )
        self._file_problems = problems
        self._found = tuple({(entry.id, entry.base_url): entry for group in groups for entry in group}.values())
        self._is_refreshed = True
        return self.entries()

    async def add_file(self, path: Path) -> ModelEntry:
        """Add a ``.gguf`` file of the user's to the list, for good.

        Raises ``ModelUnavailableError`` for a file that is no model, ``StorageError``.
        """
        full = path.expanduser().absolute()
        problem = await asyncio.to_thread(header_problem, full)
        if not problem and full.suffix.lower() != ".gguf":
            problem = f"{full.name} must be called .gguf to be used."
        if problem:
            raise ModelUnavailableError(problem, model_id=full.name)
        known = self._settings.values.gguf_files
        if str(full) not in known:
            await self._settings.set("gguf_files", (*known, str(full)))
        return self._file_entry(str(full))

    async def add_server(self, address: str) -> list[ModelEntry]:
        """Add a server by its address, for good, and return its models.

        Raises ``ValueError`` for what is no address, ``ModelUnavailableError`` when nothing answers there.
        """
        check_address(address)
        entries = await self._at_address(address)
        if not any(entry.usable for entry in entries):
            raise ModelUnavailableError(entries[0].reason, model_id=shown_address(address))
        known = self._settings.values.servers
        if address not in known:
            await self._settings.set("servers", (*known, address))
        self._found = (*(entry for entry in self._found if entry.base_url != entries[0].base_url), *entries)
        return list(entries)

    def label(self, model_id: str, base_url: str | None = None) -> str:
        """The name to show for a model, also for one that is not in the list any more."""
        entry = self._entry(model_id, base_url)
        if entry is not None:
            return entry.label
        try:
            return find(model_id, base_url).label
        except ValueError:
            return shown_name(model_id)

    def row(self, model_id: str, base_url: str | None = None) -> ModelRow:
        """The model's registry row, with the window that its server told. Raises ``ModelUnavailableError``."""
        try:
            row = find(model_id, base_url)
        except ValueError as exc:
            raise ModelUnavailableError(str(exc), model_id=model_id) from exc
        entry = self._entry(model_id, base_url)
        if row.context_window is None and entry is not None and entry.context_window:
            return dataclasses.replace(row, context_window=entry.context_window)
        return row

    def make_agent(self, model_id: str, base_url: str | None = None, recipe: Mapping[str, Any] | None = None) -> Agent:
        """Return an agent for the model, with the profile's media store; its other settings come from `recipe`.

        Raises ``ModelUnavailableError``. Whether a server or a file answers shows with the first question.
        """
        from doc_processing_toolkit import Agent

        settings = {name: value for name, value in (recipe or {}).items() if name not in _NOT_RECIPE}
        asked = {**settings, "model": model_id, "stream_history": "native"}
        if base_url is not None:
            asked["base_url"] = base_url
        try:
            return Agent.from_config(asked, media_store=self._media)
        except _AGENT_ERRORS as exc:
            raise ModelUnavailableError(str(exc), model_id=model_id) from exc

    def agent_of_recipe(self, recipe: Mapping[str, Any]) -> RecipeAgent:
        """Return an agent for a stored conversation; never raises because a model is gone."""
        model_id, base_url = recipe.get("model"), recipe.get("base_url")
        if not isinstance(model_id, str) or not isinstance(base_url, str | None):
            return RecipeAgent(self.make_agent(DEMO_MODEL), substituted=bool(recipe))
        try:
            agent = self._agent_or_plainer(model_id, base_url, recipe)
        except ModelUnavailableError as exc:
            log.info("the model of a conversation is not known any more; the demo model takes its place")
            return RecipeAgent(self.make_agent(DEMO_MODEL), notice_of(exc), substituted=True)
        problem = self._problem(model_id, base_url)
        if problem:
            return RecipeAgent(
                agent, notice_of(ModelUnavailableError(problem, model_id=self.label(model_id, base_url)))
            )
        return RecipeAgent(agent)

    def _agent_or_plainer(self, model_id: str, base_url: str | None, recipe: Mapping[str, Any]) -> Agent:
        try:
            return self.make_agent(model_id, base_url, recipe)
        except ModelUnavailableError:
            # A setting that this version does not know must not keep a conversation shut.
            return self.make_agent(model_id, base_url)

    def _problem(self, model_id: str, base_url: str | None) -> str:
        """Why a model cannot be used as far as is known; one small file check, no server is asked."""
        file = file_of(model_id)
        if file is not None:
            return file_problem(file)
        if model_id == DEMO_MODEL:
            return demo_problem()
        is_listed = any(entry.usable for entry in (self._entry(model_id, base_url),) if entry is not None)
        if self._is_refreshed and base_url is not None and not is_listed:
            return f"the server at {shown_address(base_url)} does not offer it at the moment."
        return ""

    def _entry(self, model_id: str, base_url: str | None) -> ModelEntry | None:
        return next((each for each in self.entries() if each.id == model_id and each.base_url == base_url), None)

    def _file_entry(self, path: str) -> ModelEntry:
        problem = self._file_problems.get(path, "")
        return ModelEntry(
            id=id_of_file(Path(path)),
            label=Path(path).stem,
            provider="local",
            base_url=None,
            usable=not problem,
            reason=problem,
            group=ON_THIS_COMPUTER,
        )

    async def _nearby(self) -> Sequence[ModelEntry]:
        local = await _local_provider()
        found = await local.discover_servers(timeout_s=NEARBY_TIMEOUT_S)
        return [_served_entry(model, model.server) for model in found]

    async def _at_address(self, address: str) -> Sequence[ModelEntry]:
        local = await _local_provider()
        try:
            found = await local.list_models(address, timeout_s=ADDRESS_TIMEOUT_S)
        except AgentError as exc:
            return [_silent_entry(address, str(exc))]
        if not found:
            return [_silent_entry(address, f"The server at {shown_address(address)} offers no models.")]
        return [_served_entry(model, shown_address(address)) for model in found]


async def _local_provider() -> Any:
    """Return the module that knows servers; it is loaded off the loop, because it brings its network client along."""
    return await asyncio.to_thread(importlib.import_module, "doc_processing_toolkit.providers.local")


def _demo_entry() -> ModelEntry:
    row, problem = find(DEMO_MODEL), demo_problem()
    return ModelEntry(
        id=DEMO_MODEL,
        label=row.label,
        provider=row.provider,
        base_url=None,
        usable=not problem,
        reason=problem,
        group=ON_THIS_COMPUTER,
        context_window=row.context_window,
    )


def _served_entry(model: DiscoveredModel, group: str) -> ModelEntry:
    return ModelEntry(
        id=f"{COMPATIBLE}{model.id}",
        label=model.id,
        provider="openai-compatible",
        base_url=model.base_url,
        usable=True,
        group=group,
        context_window=model.context_window,
    )


def _silent_entry(address: str, reason: str) -> ModelEntry:
    return ModelEntry(
        id="",
        label=shown_address(address),
        provider="openai-compatible",
        base_url=address,
        usable=False,
        reason=redact(reason),
        group=shown_address(address),
    )
