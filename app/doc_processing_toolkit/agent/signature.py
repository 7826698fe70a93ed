"""What a function tells of itself: the JSON schema of its arguments, and JSON values turned into what it expects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from doc_processing_toolkit.core.errors import ToolError

_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):[ \t]*\n(?P<body>(?:[ \t]+\S.*\n?|[ \t]*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^(?P<name>\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?(?P<name>\w+):[ \t]*(?P<text>.*(?:\n[ \t]+\S.*)*)\n?", re.MULTILINE)


class ArgumentError(ValueError):
    """Arguments that do not fit a function's annotations; the message says which and why."""


class Signature:
    """A function's arguments. Raises :class:`ToolError` for those that no model can fill or no schema describes."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        hints = _hints(function, name)
        parameters = _parameters(function, name)
        self.description, told = _documented(inspect.getdoc(function) or "")
        self._adapters = {each.name: _adapter(hints.get(each.name, Any), name, each.name) for each in parameters}
        self.schema = _schema(parameters, self._adapters, told, name)

    def converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return JSON values as what the annotations say (models, dataclasses, enums …); unknown names are kept.

        Raises :class:`ArgumentError`.
        """
        import pydantic

        made: dict[str, Any] = {}
        for name, value in arguments.items():
            adapter = self._adapters.get(name)
            try:
                made[name] = value if adapter is None else adapter.validate_python(value)
            except pydantic.ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                place = ".".join(str(step) for step in (name, *first["loc"]))
                raise ArgumentError(f"the argument {place} does not fit: {first['msg']}") from error
        return made


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    described: Any = function
    if inspect.isclass(function):
        described = function.__init__
    elif not inspect.isroutine(function):
        described = type(function).__call__
    try:
        return get_type_hints(described, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
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


def _adapter(annotation: Any, name: str, parameter: str) -> Any:
    # pydantic takes 100 ms to import and only function tools need it.
    import pydantic

    try:
        adapter: Any = pydantic.TypeAdapter(annotation)
        adapter.json_schema()
    except pydantic.errors.PydanticUserError as error:
        raise ToolError(f"argument {parameter!r} of tool {name!r} has no JSON schema: {annotation!r}") from error
    return adapter


def _schema(
    parameters: list[inspect.Parameter], adapters: Mapping[str, Any], told: Mapping[str, str], name: str
) -> dict[str, Any]:
    import pydantic

    # Generated together, so that types which several arguments share are defined once, at the root.
    inputs = [(key, "validation", adapter) for key, adapter in adapters.items()]
    found, shared = pydantic.TypeAdapter.json_schemas(inputs)  # type: ignore[arg-type]
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in parameters:
        schema = dict(found[parameter.name, "validation"])
        if parameter.name in told and "description" not in schema:
            schema["description"] = told[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, str | int | float | bool):
            schema["default"] = adapters[parameter.name].dump_python(parameter.default, mode="json", warnings=False)
        properties[parameter.name] = schema
    definitions = {"$defs": shared["$defs"]} if shared.get("$defs") else {}
    return {"type": "object", "properties": properties, "required": required, **definitions}


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring without what it says of single arguments, and that by name (Google and field lists)."""
    told = {match["name"]: " ".join(match["text"].split()) for match in _FIELD.finditer(text)}
    description = _FIELD.sub("", text)
    section = _SECTION.search(description)
    if section is not None:
        told.update(_entries(section["body"]))
        description = description[: section.start()] + description[section.end() :]
    return re.sub(r"\n{3,}", "\n\n", description).strip(), told


def _entries(body: str) -> dict[str, str]:
    lines = inspect.cleandoc(f"\n{body}").splitlines()
    told: dict[str, str] = {}
    name = ""
    for line in lines:
        entry = _ENTRY.match(line) if not line.startswith((" ", "\t")) else None
        if entry is not None:
            name = entry["name"].lstrip("*")
            told[name] = entry["text"].strip()
        elif name and line.strip():
            told[name] = f"{told[name]} {line.strip()}".strip()
    return told
