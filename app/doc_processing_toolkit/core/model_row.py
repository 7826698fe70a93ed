"""One model's facts: what it takes, how much fits, and how its wire differs from its dialect's plain form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

PLAIN_DOCUMENT = "Document “{name}”:\n\n{text}"
PLAIN_QUESTION = "{question}"
NO_EXTRA: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of the registry.

    ``id`` is what a user writes, ``model`` what the wire calls it. ``context_window`` is in tokens, ``None`` when
    nobody knows; ``max_output_tokens`` is what one answer may take unless the agent says otherwise, ``None`` leaves
    it to the server. ``input_types`` are ``"text"``, ``"image"``, ``"document"``, ``"audio"``, ``"video"``.
    ``trims_answers`` says that white space around an answer is an accident of the prompt's form.
    ``settings`` names the agent settings that the model takes; the others are left out with a warning.
    """

    id: str
    provider: str
    model: str
    dialect: str
    label: str
    input_types: tuple[str, ...] = ("text",)
    context_window: int | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    default_temperature: float | None = None
    document_template: str = PLAIN_DOCUMENT
    question_template: str = PLAIN_QUESTION
    produces_preserved_thinking_blocks: bool = False
    prices_known: bool = False
    is_free: bool = False
    settings: frozenset[str] = frozenset()
    sdk: str = ""
    key_variables: tuple[str, ...] = ()
    address_variable: str = ""
    joins_text_parts: bool = False
    trims_answers: bool = False
    wants_stream_options: bool = True
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NO_EXTRA, hash=False)
    weights: str = ""
    source: str = ""

    def takes_setting(self, name: str) -> bool:
        """Whether the model takes an agent setting (``"tools"``, ``"temperature"`` …)."""
        return name in self.settings

    def takes(self, kind: str) -> bool:
        """Whether the model takes parts of this kind (``"text"``, ``"image"`` …)."""
        return kind in self.input_types
