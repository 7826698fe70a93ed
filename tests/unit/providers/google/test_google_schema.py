"""Schemas for Gemini say the same in fewer words; arguments that come in pieces are put together where they belong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

import pydantic
import pytest

from doc_processing_toolkit.providers.google.partial_args import LONGEST_LIST, MisplacedPieceError, put_piece
from doc_processing_toolkit.providers.google.schema import known_schema

KNOWN = {
    *("$defs", "$ref", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems"),
    *("maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(pydantic.BaseModel):
    kind: Literal["point"] = "point"
    x: float = pydantic.Field(gt=0, le=10, description="To the right.")
    colour: Colour = Colour.RED


class Line(pydantic.BaseModel):
    kind: Literal["line"] = "line"
    points: list[Point] = pydantic.Field(min_length=2)
    next: Line | None = None


class Drawing(pydantic.BaseModel):
    """Some shapes."""

    shapes: list[Point | Line] = pydantic.Field(discriminator=None)
    tagged: dict[str, int]
    name: str = pydantic.Field(pattern="^[a-z]+$", max_length=5)
    site: pydantic.AnyUrl | None = None
    pair: tuple[int, str]
    first: Point = pydantic.Field(description="The first one.")


def keywords(schema: Any) -> Iterator[str]:
    """Yield every keyword of a schema, names of properties and definitions left out."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            if key in ("properties", "$defs"):
                for inner in value.values():
                    yield from keywords(inner)
            elif key not in ("enum", "required"):
                yield from keywords(value)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keywords(inner)


def test_a_model_becomes_a_schema_of_known_keywords_and_loses_nothing_that_the_model_should_know() -> None:
    schema = known_schema(Drawing.model_json_schema())
    assert set(keywords(schema)) <= KNOWN
    assert schema["$defs"]["Point"]["properties"]["kind"] == {"enum": ["point"], "type": "string", "title": "Kind"} | {
        "description": '{"default": "point"}'
    }
    across = schema["$defs"]["Point"]["properties"]["x"]
    assert across["maximum"] == 10
    assert across["description"] == 'To the right.\n\n{"exclusiveMinimum": 0}'
    assert '"pattern": "^[a-z]+$"' in schema["properties"]["name"]["description"]
    assert schema["properties"]["first"] == {"anyOf": [{"$ref": "#/$defs/Point"}], "description": "The first one."}
    assert schema["properties"]["shapes"]["items"]["anyOf"] == [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Line"}]
    assert schema["properties"]["tagged"]["additionalProperties"] == {"type": "integer"}
    assert schema["description"] == "Some shapes."
    assert json.loads(json.dumps(schema)) == schema


def test_a_model_that_refers_to_itself_begins_with_its_own_definition() -> None:
    schema = known_schema(Line.model_json_schema())
    assert schema["type"] == "object"
    assert schema["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Line"}
    endless = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/B"}}}
    assert known_schema(endless)["$defs"].keys() == {"A", "B"}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
         {"$defs": {"A": {"type": "string"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}),
        ({"properties": {"a": {"$ref": "#/definitions/A", "$defs": {"A": {"const": 1}}}}},
         {"$defs": {"A": {"enum": [1], "type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/A"}}}),
        ({"oneOf": [{"type": "string", "format": "uri"}, {"const": True}]},
         {"anyOf": [{"type": "string", "description": '{"format": "uri"}'}, {"enum": [True], "type": "boolean"}]}),
        ({"type": "string", "format": "date-time", "$schema": "x"}, {"type": "string", "format": "date-time"}),
        ({"allOf": [{"type": "string"}], "description": "d"}, {"type": "string", "description": "d"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"items": True, "type": "array"}, {"items": True, "type": "array"}),
        ({"properties": {"anything": True}}, {"properties": {"anything": {}}}),
        ({}, {}),
    ],
)  # fmt: skip
def test_a_schema_is_written_in_the_words_that_gemini_knows(schema: Any, made: Any) -> None:
    before = json.dumps(schema)
    assert known_schema(schema) == made
    assert json.dumps(schema) == before


def test_pieces_go_where_their_path_says() -> None:
    arguments: dict[str, Any] = {}
    for path, value in (
        ("$.text", {"stringValue": "Bos"}),
        ("$.text", {"stringValue": "ton"}),
        ("$.list[1].deep['a.b']", {"numberValue": 1.5}),
        ('$.list[0]["c\\"d"]', {"boolValue": False}),
        ("$.nothing", {"nullValue": "NULL_VALUE"}),
        ("$.text", {"stringValue": ""}),
    ):
        put_piece(arguments, {"jsonPath": path, **value})
    assert arguments == {"text": "Boston", "list": [{'c"d': False}, {"deep": {"a.b": 1.5}}], "nothing": None}


@pytest.mark.parametrize(
    "piece",
    [
        {},
        {"jsonPath": "$"},
        {"jsonPath": "$.a..b"},
        {"jsonPath": "$.text.inner"},
        {"jsonPath": "$.text[0]"},
        {"jsonPath": "$[0]"},
        {"jsonPath": f"$.list[{LONGEST_LIST}]"},
        {"jsonPath": 5},
    ],
)
def test_a_piece_without_a_place_is_refused(piece: dict[str, Any]) -> None:
    with pytest.raises(MisplacedPieceError):
        put_piece({"text": "x"}, {"stringValue": "y", **piece})
