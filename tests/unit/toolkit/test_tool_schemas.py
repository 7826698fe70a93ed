"""Tools from functions: schemas from annotations and docstrings, values as the annotations say, values back (A04)."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import functools
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest

from doc_processing_toolkit import Agent, Tool, ToolError
from doc_processing_toolkit.testing import PIXEL, ToolUse, scripted_agent


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Person(pydantic.BaseModel):
    name: str
    at: Point | None = None


Old = Optional[int]  # noqa: UP045 - the older spelling must work as well


def everything(
    name: str,
    colour: Colour,
    points: list[Point],
    person: Person,
    day: datetime.date,
    kind: Literal["a", "b"] = "a",
    size: int | float | None = None,
    old: Old = None,
    tags: dict[str, list[str]] | None = None,
    note: Annotated[str, pydantic.Field(description="What else", max_length=5)] = "",
) -> str:
    """Take everything.

    It goes on here.

    Args:
        name: Whose it is,
            on two lines.
        colour (Colour): The colour: red or blue.
        kind: One of two.

    Returns:
        What it got.
    """
    return repr((name, colour, points, person, day, kind, size, old, tags, note))


def given(tool: Any, arguments: dict[str, Any], **settings: Any) -> str:
    """Return what the model gets when it calls the tool with these arguments."""
    name = tool.name if isinstance(tool, Tool) else tool.__name__
    agent = scripted_agent([[ToolUse(name, arguments)], "done"], tools=[tool], **settings)
    asyncio.run(agent.run("q"))
    content: str = agent.requests[1].messages[2]["content"]
    return content


def test_the_schema_of_every_kind_of_annotation_stands_on_its_own() -> None:
    schema = Tool.from_function(everything).parameters
    properties = schema["properties"]
    assert schema["required"] == ["name", "colour", "points", "person", "day"]
    assert schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert properties["points"]["items"] == {"$ref": "#/$defs/Point"}
    assert {each["type"] for each in properties["size"]["anyOf"]} == {"integer", "number", "null"}
    assert {each["type"] for each in properties["old"]["anyOf"]} == {"integer", "null"}
    assert properties["tags"]["anyOf"][0]["additionalProperties"]["items"] == {"type": "string"}
    assert (properties["kind"]["enum"], properties["kind"]["default"]) == (["a", "b"], "a")
    assert properties["note"]["description"] == "What else"
    assert "$defs" not in str(properties).replace("#/$defs/", "")


def test_the_docstring_tells_of_the_tool_and_of_its_arguments() -> None:
    tool = Tool.from_function(everything)
    assert tool.description == "Take everything.\n\nIt goes on here.\n\nReturns:\n    What it got."
    properties = tool.parameters["properties"]
    assert properties["name"]["description"] == "Whose it is, on two lines."
    assert properties["kind"]["description"] == "One of two."


def test_field_lists_in_docstrings_are_read_too() -> None:
    def look(name: str) -> str:
        """Look it up.

        :param name: Whose it is.
        :returns: What it is.
        """
        return name

    tool = Tool.from_function(look)
    assert tool.parameters["properties"]["name"]["description"] == "Whose it is."
    assert tool.description.startswith("Look it up.")


def test_arguments_arrive_as_the_annotations_say() -> None:
    arguments = {
        "name": "n",
        "colour": "blue",
        "points": [{"x": 1}],
        "person": {"name": "A", "at": {"x": 2, "y": 3}},
        "day": "2026-11-29",
        "tags": {"t": ["u"]},
    }
    expected = everything(
        "n", Colour.BLUE, [Point(1)], Person(name="A", at=Point(2, 3)), datetime.date(2026, 11, 29), tags={"t": ["u"]}
    )
    assert given(everything, arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"n": "three"}, "argument n does not fit"),
        ({"n": 1, "p": {"y": 2}}, "argument p.x does not fit"),
        ({}, "TypeError"),
        ({"n": 1, "other": 2}, "other"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(arguments: dict[str, Any], told: str) -> None:
    def take(n: int, p: Point | None = None) -> str:
        raise AssertionError("not called")

    content = given(take, arguments)
    assert content.startswith("Error: ")
    assert told in content


class Called:
    """Call it."""

    def __call__(self, n: int) -> int:
        return n


def star(*values: int) -> None: ...
def double_star(**values: int) -> None: ...
def positional(value: int, /) -> None: ...
def unknown(value: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037
def shapeless(value: object.__class__) -> None: ...  # type: ignore[valid-type]


class Odd:
    """No schema describes it."""


def odd(value: Odd) -> None: ...


@pytest.mark.parametrize(
    "bad",
    [
        star,
        double_star,
        positional,
        unknown,
        odd,
        lambda n: n,
        functools.partial(star),
        Called(),
        3,
        "name",
        None,
        dict,
    ],
)
def test_a_tool_that_cannot_be_used_is_refused_when_the_agent_is_made(bad: Any) -> None:
    with pytest.raises(ToolError):
        Agent("claude-haiku-4-5", tools=[bad])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tool("has space", "d", {}, star),
        lambda: Tool("t", "d", {"type": "array"}, star),
        lambda: Tool("t", "d", {"properties": {"a": object()}}, star),
        lambda: Tool("t", "d", {"properties": {"a": {"maximum": float("nan")}}}, star),
        lambda: Tool("t", "d", [], star),  # type: ignore[arg-type]
        lambda: Tool("t", "d", {}, None),  # type: ignore[arg-type]
        lambda: Tool("t", "d", {}, star, timeout=0),
        lambda: Tool("t", "d", {}, star, timeout="soon"),  # type: ignore[arg-type]
    ],
)
def test_a_tool_object_that_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(ToolError):
        make()


def test_an_object_that_can_be_called_is_a_tool_under_a_name() -> None:
    tool = Tool("called", "Call it", {"properties": {"n": {"type": "integer"}}}, Called())
    assert given(tool, {"n": 3}) == "3"


class Picture:
    def _repr_png_(self) -> bytes:
        return PIXEL


@pytest.mark.parametrize("value", [PIXEL, Picture(), ["see", PIXEL], (bytearray(PIXEL),)])
def test_pictures_go_to_a_model_that_sees_and_are_named_to_one_that_does_not(value: Any) -> None:
    def draw() -> Any:
        return value

    agent = scripted_agent([[ToolUse("draw")], "done"], tools=[draw])
    asyncio.run(agent.run("q"))
    assert agent.requests[1].messages[-1]["content"][-1]["type"] == "image_url"
    assert "image/png" in given(draw, {}, row={"input_types": ("text",)})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        (object, "<class 'object'>"),
        (ValueError("no"), "Error: ValueError: no"),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        (Person(name="A"), '{"name": "A"}'),
        (Colour.RED, '"red"'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        ({3, 1}, "[1, 3]"),
        (b"\x00\xff", '"AP8="'),
        ("", ""),
    ],
)
def test_a_value_of_any_kind_reaches_the_model(value: Any, text: str) -> None:
    def give() -> Any:
        return value

    assert given(give, {}) == text
