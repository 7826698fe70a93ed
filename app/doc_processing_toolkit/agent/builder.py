"""The builder: an agent put together step by step, one method per keyword of the constructor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doc_processing_toolkit.agent.agent import Agent
from doc_processing_toolkit.agent.config import builder_keywords


class AgentBuilder:
    """``AgentBuilder("local/gemma-3-270m").instructions("…").temperature(0).build()``.

    Every keyword of :class:`Agent` is a method that takes its value and returns the builder; errors come from
    :meth:`build`, as they come from the constructor.
    """

    KEYWORDS = builder_keywords(Agent.__init__)

    def __init__(self, model: str) -> None:
        self._model = model
        self._values: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Callable[[Any], AgentBuilder]:
        if name.startswith("_") or name not in type(self).KEYWORDS:
            raise AttributeError(f"AgentBuilder has no method {name!r}")

        def set_value(value: Any) -> AgentBuilder:
            self._values[name] = value
            return self

        return set_value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.KEYWORDS]

    def build(self) -> Agent:
        """Return the agent. Raises what :class:`Agent` raises."""
        return Agent(self._model, **self._values)
