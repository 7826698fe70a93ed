"""The registry: the rows of ``models.toml``, and rows made on the fly for ids that name their provider."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from doc_processing_toolkit.core.model_row import PLAIN_DOCUMENT, PLAIN_QUESTION, ModelRow

COMPATIBLE = "openai-compatible"
LOCAL = "local"
# What providers put behind a model's name for a version of it.
_DATE = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$")
_LISTS = ("input_types", "stop", "key_variables")


def rows() -> tuple[ModelRow, ...]:
    """Return every row of the registry, in the order of ``models.toml``."""
    return tuple(_table().values())


def find(model_id: str, base_url: str | None = None) -> ModelRow:
    """Return the row of a model id.

    An id that the registry lacks is understood as ``provider/id``: ``openai/<id>``, ``openai-compatible/<id>`` (its
    server is ``base_url``), ``local//path/file.gguf``; a known model may be named that way too. Raises ``ValueError``
    that names the close matches for any other.
    """
    if not isinstance(model_id, str):
        raise TypeError(f"a model is named by a string, not by a {type(model_id).__name__}")
    row = _table().get(model_id)
    if row is not None:
        return row
    provider, slash, name = model_id.partition("/")
    if slash and provider == LOCAL:
        if name.lower().endswith(".gguf"):
            return _weights_row(model_id, name)
    elif slash and name.strip() and provider in _document()["providers"]:
        return _named(provider, name, model_id)
    raise ValueError(_unknown(model_id, base_url))


def document_templates() -> tuple[tuple[str, str], ...]:
    """Return each distinct pair of document and question template that a row may have used."""
    pairs = [(row.document_template, row.question_template) for row in rows()]
    pairs.append((PLAIN_DOCUMENT, PLAIN_QUESTION))
    return tuple(dict.fromkeys(pairs))


@cache
def _document() -> Mapping[str, Any]:
    text = resources.files("doc_processing_toolkit.registry").joinpath("models.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def _table() -> Mapping[str, ModelRow]:
    made = (_made(**entry) for entry in _document()["models"])
    return MappingProxyType({row.id: row for row in made})


def _made(*, provider: str, **facts: Any) -> ModelRow:
    """Return a row: the provider's common facts, then its own."""
    values: dict[str, Any] = {**_document()["providers"][provider], **facts, "provider": provider}
    for name in _LISTS:
        if name in values:
            values[name] = tuple(values[name])
    values["settings"] = frozenset(values.get("settings", ()))
    if "extra_body" in values:
        values["extra_body"] = MappingProxyType(dict(values["extra_body"]))
    return ModelRow(**values)


def _named(provider: str, name: str, model_id: str) -> ModelRow:
    """Return the row of a model that is named with its provider: the registry's own, that of its kin, or a new one."""
    own = [row for row in rows() if row.provider == provider]
    if provider != COMPATIBLE:
        for row in own:
            if row.model == name:
                return row
        dated = _DATE.sub("", name)
        for row in own:
            if row.model == dated:
                return replace(row, id=model_id, model=name, label=name, source=f"like {row.id}")
    return _made(provider=provider, id=model_id, model=name, label=name, source="named by the user")


def _weights_row(model_id: str, path: str) -> ModelRow:
    return _made(
        provider=LOCAL,
        id=model_id,
        model="local",
        label=Path(path).stem,
        weights=path,
        context_window=16384,
        max_output_tokens=2048,
        source="a file of the user's",
    )


def _unknown(model_id: str, base_url: str | None) -> str:
    known = list(_table())
    close = difflib.get_close_matches(model_id, known, n=3, cutoff=0.4)
    hint = f"close matches: {', '.join(close)}" if close else f"known models: {', '.join(known)}"
    if base_url:
        hint += f"; for the server at base_url write '{COMPATIBLE}/{model_id.rpartition('/')[2]}'"
    return f"unknown model {model_id!r}; {hint}; other models are named 'provider/id', such as '{COMPATIBLE}/<id>'"
