"""JSON schemas for OpenAI's strict mode: closed where that changes nothing, left alone where it would (W-O24)."""

from __future__ import annotations

import enum
from typing import Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.agent.schema import find_problem
from doc_processing_toolkit.agent.tools import Tool
from doc_processing_toolkit.providers.openai.schema import answer_format, tool_parameters
from support.strict.responses.schema import strict_problem


class Colour(enum.Enum):
    RED = "red"


class Inner(pydantic.BaseModel):
    kind: Literal["inner"] = "inner"
    size: int = pydantic.Field(default=1, ge=0)


class Other(pydantic.BaseModel):
    kind: Literal["other"] = "other"
    next: Other | None = None


class Answer(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1, description="who")
    colour: Colour = Colour.RED
    either: Inner | Other = pydantic.Field(discriminator="kind")
    many: list[Inner] = []
    home: str = pydantic.Field(default="https://x.test", json_schema_extra={"format": "uri"})


def test_a_tool_whose_arguments_are_all_required_is_strict() -> None:
    def add(a: int, b: list[str], c: Colour) -> int:
        return a

    parameters, is_strict = tool_parameters(Tool.from_function(add).parameters)
    assert is_strict
    assert strict_problem(parameters) is None
    assert parameters["required"] == ["a", "b", "c"]


def test_a_tool_without_arguments_is_strict() -> None:
    assert tool_parameters({"type": "object", "properties": {}}) == (
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        True,
    )


def test_a_tool_with_optional_arguments_stays_as_it_is() -> None:
    def weather(city: str, unit: str = "C") -> str:
        return unit

    schema = Tool.from_function(weather).parameters
    assert tool_parameters(schema) == (schema, False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]},
        {
            "type": "object",
            "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}},
            "required": ["a"],
        },
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}, "required": ["a"]},
        {"type": "object", "properties": {}, "additionalProperties": True},
    ],
)
def test_what_strict_mode_cannot_say_of_a_tool_is_not_strict_and_untouched(schema: dict[str, Any]) -> None:
    assert tool_parameters(schema) == (schema, False)


def test_a_structured_answer_asks_for_every_field() -> None:
    form = answer_format(Answer.model_json_schema())
    assert form is not None
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "Answer", True)
    assert strict_problem(form["schema"]) is None
    assert form["schema"]["required"] == ["name", "colour", "either", "many", "home"]
    assert "default" not in str(form["schema"])
    assert "discriminator" not in str(form["schema"])


def test_a_schema_with_free_keys_is_asked_for_without_strictness() -> None:
    class Counts(pydantic.BaseModel):
        counts: dict[str, int]

    schema = Counts.model_json_schema()
    form = answer_format(schema)
    assert form is not None
    assert (form["strict"], form["schema"]) == (False, schema)


def test_a_recursive_model_has_an_object_at_its_root() -> None:
    form = answer_format(Other.model_json_schema())
    assert form is not None
    assert form["schema"]["type"] == "object"
    assert strict_problem(form["schema"]) is None


@pytest.mark.parametrize(
    "schema", [{"type": "array", "items": {"type": "string"}}, {"type": "string"}, {}, {"anyOf": []}]
)
def test_only_objects_are_a_format(schema: dict[str, Any]) -> None:
    assert answer_format(schema) is None


@pytest.mark.parametrize(
    ("title", "name"),
    [(None, "answer"), ("", "answer"), ("Größe (cm)", "Gr__e__cm_"), ("x" * 80, "x" * 64), (5, "answer")],
)
def test_the_name_is_one_that_openai_takes(title: Any, name: str) -> None:
    form = answer_format({"type": "object", "title": title})
    assert form is not None
    assert form["name"] == name


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": ["string", "null"]},
        {"enum": ["a", 1]},
        {"type": "string", "maxLength": 5},
        {},
        {"description": "anything"},
        {"type": "array", "items": {"type": "number"}},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda choices: {"anyOf": choices}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda choices: {"oneOf": choices}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda fields, required: {
                "type": "object",
                "properties": fields,
                "required": [name for name in fields if name in required],
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.sets(st.sampled_from("abc")),
        ),
    ),
    max_leaves=8,
)
OBJECTS = st.builds(
    lambda fields: {"type": "object", "properties": fields},
    st.dictionaries(st.sampled_from("xyz"), SCHEMAS, max_size=3),
)


@given(OBJECTS)
def test_what_is_called_strict_is_strict_and_the_schema_given_is_not_changed(schema: dict[str, Any]) -> None:
    before = repr(schema)
    parameters, is_strict = tool_parameters(schema)
    form = answer_format(schema)
    assert form is not None
    for made, strict in ((parameters, is_strict), (form["schema"], form["strict"])):
        assert not strict or strict_problem(made) is None
        assert strict or made == schema
    assert repr(schema) == before


@given(OBJECTS)
def test_the_strict_form_of_a_tool_takes_nothing_that_the_tool_does_not(schema: dict[str, Any]) -> None:
    parameters, is_strict = tool_parameters(schema)
    value = {"x": "a", "y": 1, "z": None}
    if is_strict and find_problem(value, parameters) is None:
        assert find_problem(value, schema) is None
