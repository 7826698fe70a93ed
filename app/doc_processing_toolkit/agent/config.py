"""The recipe of an agent: its settings as a mapping that YAML can hold, written and read back."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doc_processing_toolkit.agent.hooks import Hooks
from doc_processing_toolkit.agent.settings import AgentSettings, setting_names
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import MediaStore
from doc_processing_toolkit.media.store import DirectoryMediaStore

_NOT_SETTINGS = ("model", "base_url", "media_store")
_IGNORED = ("unserialisable",)
_NEVER_WRITTEN = ("hooks",)


def recipe(
    row: ModelRow, settings: AgentSettings, tools: Mapping[str, Tool], store: MediaStore | None, base_url: str | None
) -> dict[str, Any]:
    """Return the recipe: the model, and each setting that is not its default."""
    written: dict[str, Any] = {"model": row.id}
    if base_url is not None:
        written["base_url"] = base_url
    defaults = AgentSettings()
    for name in setting_names():
        value = getattr(settings, name)
        if name not in _NEVER_WRITTEN and value != getattr(defaults, name):
            written[name] = clean(value)
    missing = [f"tools: {name}" for name in tools]
    if settings.hooks is not None:
        missing += [f"hooks: {name}" for name in settings.hooks.names()]
    if isinstance(store, DirectoryMediaStore):
        written["media_store"] = str(store.path)
    elif store is not None:
        missing.append("media_store")
    written["unserialisable"] = missing
    return written


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the recipe in a YAML file. Raises ``OSError``, or ``ValueError`` that names the file."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)} is not UTF-8 text") from error
    return read_text(text, source=os.fspath(path))


def read_text(yaml_text: str, *, source: str = "the configuration") -> dict[str, Any]:
    """Return the recipe in a YAML text. Raises ``ValueError`` for what is no recipe."""
    import yaml

    if not isinstance(yaml_text, str):
        raise TypeError(f"{source} is YAML text, not a {type(yaml_text).__name__}")
    try:
        data = yaml.safe_load(yaml_text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"{source} is not valid YAML: {error}") from error
    return checked(data, source=source)


def checked(data: Any, *, source: str = "the configuration") -> dict[str, Any]:
    """Return the recipe, its keys known. Raises ``ValueError`` that names the first unknown one."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{source} must be a mapping with a model, not a {type(data).__name__}")
    if not isinstance(data.get("model"), str):
        raise ValueError(f"{source} names no model")
    allowed = {*setting_names(), *_NOT_SETTINGS, *_IGNORED, "api_key"} - set(_NEVER_WRITTEN)
    for key in data:
        if key not in allowed:
            raise ValueError(f"{source} has the key {key!r}, which no agent takes")
    return dict(data)


def arguments(
    data: Mapping[str, Any],
    *,
    tools: Iterable[Any],
    hooks: Hooks | None,
    media_store: MediaStore | str | os.PathLike[str] | None,
) -> dict[str, Any]:
    """Return the constructor's arguments for a recipe and what was supplied beside it."""
    values = {key: value for key, value in data.items() if key not in _IGNORED}
    values["tools"] = tools
    values["hooks"] = hooks
    if media_store is not None:
        values["media_store"] = media_store
    if values.get("mcp_servers") is None:
        values.pop("mcp_servers", None)
    return values


def builder_keywords(constructor: Any) -> tuple[str, ...]:
    """Return the names of a constructor's keyword-only arguments."""
    parameters = inspect.signature(constructor).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY)
