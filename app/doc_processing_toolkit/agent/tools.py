"""Tools: functions that the model may call, with the JSON schema of their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doc_processing_toolkit.agent.signature import Signature
from doc_processing_toolkit.core.errors import ToolError
from doc_processing_toolkit.providers.base import ToolSpec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Tool:
    """A function with a name, a description and a JSON schema; ``timeout`` is in seconds.

    Raises :class:`ToolError` for a name that providers refuse or a schema that is not an object's.
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        function: Callable[..., Any],
        *,
        timeout: float | None = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolError(f"tool name {name!r} must be letters, digits, '_' or '-', at most 64, no digit first")
        if not callable(function):
            raise ToolError(f"tool {name!r} needs a function to call, not a {type(function).__name__}")
        if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
            raise ToolError(f"tool {name!r} needs a JSON schema of type 'object' for its parameters")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
            raise ToolError(f"tool {name!r}: timeout is {timeout!r}; it must be a number of seconds above 0")
        try:
            json.dumps(parameters, allow_nan=False, default=dict)
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolError(f"the parameters of tool {name!r} are no JSON: {error}") from error
        self.name = name
        self.description = description
        self.parameters = {"type": "object", "properties": {}, **parameters}
        self.function = function
        self.timeout = timeout
        self._signature: Signature | None = None

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool:
        """Return a tool whose schema comes from the function's annotations, its description from the docstring.

        The arguments reach the function as its annotations say: models, dataclasses, enums, sets, dates.
        """
        name = getattr(function, "__name__", "")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ToolError(f"{function!r} has no name that a tool can have; wrap it: Tool(name, ..., function)")
        signature = Signature(function, name)
        tool = cls(name, signature.description or name, signature.schema, function)
        tool._signature = signature
        return tool

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function takes them. Raises :class:`ArgumentError` for what does not fit."""
        return given if self._signature is None else self._signature.converted(given)

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of the tool."""
        return ToolSpec(self.name, self.description, self.parameters)


def toolset(tools: Iterable[Any]) -> dict[str, Tool]:
    """Return the tools by name. Raises :class:`ToolError` for one that cannot be used, or a name given twice."""
    if isinstance(tools, Tool) or callable(tools):
        raise ToolError("tools takes a list of tools, not a single one; write tools=[...]")
    made: dict[str, Tool] = {}
    for entry in tools:
        tool = entry if isinstance(entry, Tool) else _from_callable(entry)
        if tool.name in made:
            raise ToolError(f"two tools are called {tool.name!r}; give one another name")
        made[tool.name] = tool
    return made


def _from_callable(entry: Any) -> Tool:
    if not callable(entry):
        raise ToolError(f"a tool is a function or a Tool, not a {type(entry).__name__}")
    return Tool.from_function(entry)
