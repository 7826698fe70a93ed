"""Tools: functions that the model may call, with the JSON schema of their arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

from doc_processing_toolkit.core.errors import ToolError
from doc_processing_toolkit.providers.base import ToolSpec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


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
        self.name = name
        self.description = description
        self.parameters = {"type": "object", "properties": {}, **parameters}
        self.function = function
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool:
        """Return a tool whose schema comes from the function's annotations, its description from the docstring."""
        name = getattr(function, "__name__", "")
        properties: dict[str, Any] = {}
        required: list[str] = []
        hints = _hints(function, name)
        for parameter in _parameters(function, name):
            schema = _schema_of(hints.get(parameter.name, Any), name, parameter.name)
            if parameter.default is inspect.Parameter.empty:
                required.append(parameter.name)
            properties[parameter.name] = schema
        schema = {"type": "object", "properties": properties, "required": required}
        return cls(name, inspect.getdoc(function) or name, schema, function)

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


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolError(f"the annotations of tool {name!r} cannot be read: {error}") from error


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ToolError(f"the signature of tool {name!r} cannot be read: {error}") from error
    for parameter in parameters:
        if parameter.kind not in _KINDS:
            raise ToolError(f"tool {name!r} takes {parameter}, which no model can fill; name every argument")
    return parameters


def _schema_of(annotation: Any, name: str, parameter: str) -> dict[str, Any]:
    if annotation is Any:
        return {}
    # pydantic takes 100 ms to import and only function tools need it.
    import pydantic

    try:
        schema: dict[str, Any] = pydantic.TypeAdapter(annotation).json_schema()
    except pydantic.errors.PydanticUserError as error:
        raise ToolError(f"argument {parameter!r} of tool {name!r} has no JSON schema: {annotation!r}") from error
    return schema
