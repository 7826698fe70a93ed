"""Structured answers: every schema goes out closed, what cannot be closed is refused by name (A10, X-A4)."""

from __future__ import annotations

import asyncio
import enum
from typing import Any, Literal

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import Agent
from doc_processing_toolkit.providers.anthropic.schema import OpenSchemaError, closed_schema
from doc_processing_toolkit.providers.base import RequestFailedError
from support.adapter_calls import ask_once, call_of
from support.strict import answer, checked_server
from support.strict.anthropic.parameters import open_object

MODEL = "claude-haiku-4-5"


class Colour(enum.Enum):
    red = "red"
    blue = "blue"


class Part(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=2, description="what it is called")
    size: float | None = None


class Thing(pydantic.BaseModel):
    """A thing."""

    parts: list[Part] = pydantic.Field(min_length=1, max_length=5)
    colour: Colour
    kind: Literal["a", "b"] | int
    pair: tuple[int, str] | None = None


def test_a_pydantic_model_is_asked_for_and_comes_back_as_its_instance() -> None:
    said = '{"parts": [{"name": "leg", "size": 1.5}], "colour": "red", "kind": "a"}'
    with checked_server() as server:
        server.script(answer(said))
        outcome = ask_once(call_of(MODEL, "go", schema=Thing.model_json_schema()), server.url("anthropic"))
    form = server.requests[0]["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["required"] == ["parts", "colour", "kind"]
    assert outcome.text == said
    assert Thing.model_validate_json(outcome.text).colour is Colour.red


def test_a_structured_run_of_an_agent_gives_the_instance() -> None:
    with checked_server() as server:
        server.script(answer('{"name": "leg"}'))
        agent = Agent(MODEL, api_key="k", base_url=server.url("anthropic"))
        assert asyncio.run(agent.run("go", output_schema=Part)).output == Part(name="leg")


def test_effort_and_schema_go_out_side_by_side() -> None:
    with checked_server() as server:
        server.script(answer("{}"))
        schema = {"type": "object", "properties": {}}
        call = call_of("claude-opus-4-5", "go", schema=schema, settings={"effort": "high"})
        ask_once(call, server.url("anthropic"))
    assert server.requests[0]["output_config"].keys() == {"effort", "format"}


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        ),
        (
            {"properties": {"a": {"type": "integer", "minimum": 1, "default": 3}}},
            {
                "type": "object",
                "properties": {"a": {"type": "integer", "description": '{"minimum": 1}'}},
                "additionalProperties": False,
            },
        ),
        (
            {"type": ["string", "null"], "maxLength": 3, "title": "A"},
            {"title": "A", "anyOf": [{"type": "string", "description": '{"maxLength": 3}'}, {"type": "null"}]},
        ),
        (
            {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "colour"}]},
            {
                "anyOf": [
                    {"type": "string", "format": "date"},
                    {"type": "string", "description": '{"format": "colour"}'},
                ]
            },
        ),
        ({"allOf": [{"$ref": "#/$defs/A"}], "description": "b"}, {"$ref": "#/$defs/A"}),
        ({"enum": ["a", 1, None]}, {"enum": ["a", 1, None]}),
        ({"const": "a", "type": "string"}, {"const": "a"}),
        (
            {"type": "array", "items": {"type": "object", "properties": {}}, "minItems": 1, "maxItems": 2},
            {
                "type": "array",
                "items": {"type": "object", "properties": {}, "additionalProperties": False},
                "minItems": 1,
                "description": '{"maxItems": 2}',
            },
        ),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/A"}}}}},
            {
                "$defs": {
                    "A": {
                        "type": "object",
                        "properties": {"b": {"$ref": "#/$defs/A"}},
                        "additionalProperties": False,
                    }
                },
                "$ref": "#/$defs/A",
            },
        ),
    ],
)
def test_a_schema_is_closed_and_keeps_what_the_server_knows(schema: dict[str, Any], closed: dict[str, Any]) -> None:
    assert closed_schema(schema) == closed


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "object"}, "the answer is an object with free keys"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "the answer is an object with free keys"),
        ({"properties": {"a": {"type": "object", "patternProperties": {"x": {}}}}}, "the answer.a is an object"),
        ({"type": "array", "items": {"type": "object", "additionalProperties": {}}}, r"the answer\[\] is an object"),
        ({"properties": {"a": {}}}, "the answer.a may be anything"),
        ({"properties": {"a": True}}, "the answer.a may be anything"),
        ({"type": "money"}, "the answer may be anything"),
        ({"$defs": {"A": {"type": "object"}}, "$ref": "#/$defs/A"}, r"the answer \(A\) is an object"),
    ],
)
def test_what_cannot_be_closed_is_refused_by_place(schema: dict[str, Any], place: str) -> None:
    with pytest.raises(OpenSchemaError, match=place):
        closed_schema(schema)


def test_a_schema_that_cannot_be_closed_is_an_error_before_anything_is_sent() -> None:
    error = ask_once(call_of(MODEL, "go", schema={"type": "object"}), "http://127.0.0.1:9").error
    assert isinstance(error, RequestFailedError)
    assert (error.code, error.is_retryable) == ("output_schema", False)
    assert "Claude Haiku 4.5 cannot answer in this form" in str(error)


leaves = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "minimum": 3}, {"enum": ["a"]}, {"type": "boolean"}, {"type": "null"}]
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.builds(lambda item: {"type": "array", "items": item}, inner)
        | st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(
            lambda properties, is_open: {"type": "object", "properties": properties, "additionalProperties": is_open},
            st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3),
            st.booleans(),
        )
    ),
    max_leaves=10,
)


@settings(deadline=None, max_examples=60)
@given(schemas)
def test_whatever_is_closed_is_closed_all_through_and_closing_again_changes_nothing(schema: dict[str, Any]) -> None:
    closed = closed_schema(schema)
    assert not open_object(closed)
    assert closed_schema(closed) == closed
