"""The shape of an answer for Gemini: held to what its wire lists of JSON Schema, told of the rest."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from quire.agent.answer_types import answer_type
from quire.models import Model
from quire.models.answer_shapes import AnswerShape, shape_for
from quire.models.model import shape_of
from quire.providers import subschemas

Json = dict[str, Any]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Pet(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Tag(BaseModel):
    code: Annotated[str, Field(pattern="^[A-Z]", min_length=2)]


def of_gemini(field: Json) -> AnswerShape:
    schema = {"type": "object", "properties": {"x": field}, "required": ["x"], "additionalProperties": False}
    return shape_for("gemini", "gemini-3-pro", schema)


def field_of(shape: AnswerShape) -> Json:
    assert shape.sent is not None
    return dict(shape.sent["properties"]["x"])


def of_type(kind: type) -> AnswerShape:
    schema = answer_type(kind)
    assert schema is not None and schema.schema is not None
    return shape_of(Model("google:gemini-3-pro"), schema.schema)


def test_a_union_that_is_told_apart_by_a_word_is_held_by_what_the_wire_lists() -> None:
    shape = of_type(Pet)
    assert shape.is_held and shape.sent is not None
    found = [inner for _, inner in subschemas(shape.sent)]
    assert not any({"const", "discriminator"} & inner.keys() for inner in found)
    assert [inner["enum"] for inner in found if "enum" in inner] == [["cat"], ["dog"]]
    assert "#/$defs" not in json.dumps(shape.sent)


def test_what_the_wire_does_not_list_is_told() -> None:
    shape = of_type(Tag)
    assert shape.sent is not None and not shape.is_held


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ({"type": "string", "const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": 3}, {"enum": [3]}),
        ({"type": "null", "const": None}, {"type": "null"}),
        ({"const": None}, {"type": "null"}),
    ],
)
def test_one_value_is_a_list_of_one(field: Json, sent: Json) -> None:
    shape = of_gemini(field)
    assert shape.is_held
    assert field_of(shape) == sent


@pytest.mark.parametrize(
    "field",
    [
        {"type": "boolean", "const": True},
        {"enum": ["a", None]},
        {"enum": [True, False]},
        {"type": "string", "pattern": "^a"},
        {"type": "string", "maxLength": 3},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "number", "multipleOf": 5},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "array", "items": {"type": "string", "minLength": 2}},
        {"type": "string", "not": {"enum": ["a"]}},
    ],
)
def test_limits_that_the_wire_does_not_keep_are_told(field: Json) -> None:
    shape = of_gemini(field)
    assert shape.sent is not None and not shape.is_held


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "date", "title": "Day", "description": "A day."},
        {"type": "string", "default": "a", "examples": ["b"], "deprecated": True},
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}, "minItems": 1},
        {"type": ["string", "null"]},
        {"enum": ["a", 2, 3.5]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ],
)
def test_what_the_wire_lists_and_what_limits_nothing_is_held(field: Json) -> None:
    shape = of_gemini(field)
    assert shape.is_held and field_of(shape) == field


def test_properties_may_have_the_names_of_keywords() -> None:
    named: Json = {
        "type": "object",
        "properties": {"const": {"type": "string"}, "discriminator": {"type": "string"}},
        "required": ["const", "discriminator"],
        "additionalProperties": False,
    }
    assert of_gemini(named).is_held and field_of(of_gemini(named)) == named
