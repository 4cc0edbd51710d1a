"""The schema of an answer: the wire enforces it, or the model is told of it in words."""

import asyncio
import json
from typing import Any

import pytest

from quire.errors import ModelFailed
from quire.items import Message
from quire.models import AnswerShape, Model, Scripted, shape_for
from quire.providers import fields_in
from quire.state import Scroll, Transcript
from tests.clients.scenes import Exchange, Scene, Stage, Step
from tests.clients.speaking import begun, error, fails, says, send, sends
from tests.models.answerers import NEEDS_SDK, answered, asked, both_ways, each_row, text_of

Json = dict[str, Any]

TOOL: Json = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
NOT_SENT = AnswerShape()
TOLD = "fits this schema"
NAMES = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3-pro",
}
each = pytest.mark.parametrize("wire", NAMES)


def an_object(**properties: Json) -> Json:
    fields: Json = {"type": "object", "properties": properties, "required": [*properties]}
    return {**fields, "additionalProperties": False}


PLAIN = an_object(title={"type": "string"})
OPEN = an_object(scores={"type": "object", "additionalProperties": {"type": "number"}})
RECURSIVE: Json = {
    **an_object(tree={"$ref": "#/$defs/tree"}),
    "$defs": {"tree": an_object(kids={"type": "array", "items": {"$ref": "#/$defs/tree"}})},
}


@each
@each_row("schema", OPEN, an_object(x={}))
def test_what_is_open_is_never_sent_closed(wire: str, schema: Json) -> None:
    shape = shape_for(wire, NAMES[wire], schema)
    assert not shape.is_enforced and not shape.is_strict
    assert shape.sent == (None if wire in ("anthropic", "gemini") else schema)


@each_row(
    "wire name schema tools takes shape",
    ("anthropic", "claude-sonnet-5", RECURSIVE, [], None, NOT_SENT),
    ("gemini", "gemini-3-pro", RECURSIVE, [], None, NOT_SENT),
    ("openai", "gpt-5.6", RECURSIVE, [], None, AnswerShape(RECURSIVE, True, True)),
    ("gemini", "gemini-2.5-pro", PLAIN, [], None, AnswerShape(PLAIN, True)),
    ("gemini", "gemini-2.5-pro", PLAIN, [TOOL], None, NOT_SENT),
    ("openai", "gpt-4o-2024-05-13", PLAIN, [], None, NOT_SENT),
    ("anthropic", "claude-3-5-sonnet-20241022", PLAIN, [], None, NOT_SENT),
    ("anthropic", "us.anthropic.claude-opus-4-7-v1:0", PLAIN, [], None, NOT_SENT),
    ("anthropic", "claude-opus-4-1", PLAIN, [], None, AnswerShape(PLAIN, True)),
    *((wire, "qwen3:30b", PLAIN, [TOOL], None, NOT_SENT) for wire in ("openai", "openai-responses")),
    ("openai", "qwen3:30b", PLAIN, [TOOL], True, AnswerShape(PLAIN, True, True)),
    ("openai", "gpt-5.6", PLAIN, [], False, NOT_SENT),
)
def test_what_models_are_sent(
    wire: str, name: str, schema: Json, tools: list[Json], takes: bool | None, shape: AnswerShape
) -> None:
    assert shape_for(wire, name, schema, tools, takes) == shape


def test_what_anthropic_is_sent() -> None:
    model = ("anthropic", "claude-sonnet-5")
    limited = an_object(town={"type": "string", "maxLength": 9}, minimum={"type": "integer", "minimum": 1})
    plain = an_object(town={"type": "string"}, minimum={"type": "integer"})
    assert shape_for(*model, limited) == AnswerShape(plain, is_enforced=False)
    unsaid = {name: value for name, value in PLAIN.items() if name != "additionalProperties"}
    assert shape_for(*model, unsaid) == AnswerShape(PLAIN, True)
    assert "additionalProperties" not in unsaid
    assert shape_for(*model, {**PLAIN, "additionalProperties": True}) == NOT_SENT
    many = an_object(**{f"f{index}": {"type": "string"} for index in range(25)})
    assert shape_for(*model, many).is_enforced
    assert shape_for(*model, {**many, "required": []}) == NOT_SENT


@each_row(
    "field sent is_enforced",
    ({"type": "string", "const": "a"}, {"type": "string", "enum": ["a"]}, True),
    *(
        (field, field, is_enforced)
        for field, is_enforced in (
            ({"type": "string", "format": "date", "title": "Day", "description": "A day."}, True),
            ({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}, True),
            ({"type": ["string", "null"]}, True),
            ({"enum": ["a", 2, 3.5]}, True),
            (an_object(const={"type": "string"}, discriminator={"type": "string"}), True),
            ({"type": "boolean", "const": True}, False),
            ({"type": "string", "pattern": "^a"}, False),
            ({"type": "array", "items": {"type": "string", "minLength": 2}}, False),
        )
    ),
)
def test_what_gemini_is_sent_and_enforces(field: Json, sent: Json, is_enforced: bool) -> None:
    shape = shape_for("gemini", "gemini-3-pro", an_object(x=field))
    assert shape == AnswerShape(an_object(x=sent), is_enforced)


@each
def test_what_is_not_enforced_is_told_after_all_else(wire: str) -> None:
    talk = [Message("user", "Score ana.")]
    for items in (talk, Transcript(talk).view, Scroll(after=tuple(talk))):
        model = Scripted(["{}", "{}", "{}"], wire=wire, name=NAMES[wire])
        for schema in (PLAIN, OPEN, OPEN):
            asyncio.run(model.ask(items, output=schema))
        plain, told, again = (json.dumps(request.payload) for request in model.requests)
        assert TOLD not in plain and told == again
        assert told.index(TOLD) > told.index("Score ana.") or wire in ("anthropic", "gemini")


PRICE = an_object(price={"type": "number"})
ANSWER = '{"price": 3.5}'
OBJECT = {"response_format": {"type": "json_object"}}


def service_at(scene: Scene, name: str = "qwen3:30b", **options: Any) -> Model:
    return Model(f"openai:{name}@{scene.base_url}/v1", **options)


def shapes_in(scene: Scene) -> list[str | None]:
    return [fields_in(sent.body.get("response_format")).get("type") for sent in scene.requests]


def refuses_a_schema(refusal: Step) -> Step:
    def step(exchange: Exchange) -> None:
        format: Json = exchange.body.get("response_format") or {}
        (refusal if format.get("type") == "json_schema" else says("openai", ANSWER))(exchange)

    return step


@NEEDS_SDK["openai"]
@both_ways
@each_row(
    "refusal",
    fails(400, error("openai", 400, "invalid_request_error", "This response_format type is unavailable now")),
    fails(422, {"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}]}),
    fails(400, {"error": "json mode cannot be combined with tool/function calling"}),
    fails(400, b"Structured outputs are not supported by this model"),
    sends({"error": {"message": "response_format is not supported", "code": 400}}),
)
async def test_who_refuses_a_schema_is_asked_once_more_without_it_and_never_with_it_again(
    server: Stage, how: str, refusal: Step
) -> None:
    scene = server.scene(refuses_a_schema(refusal))
    async with service_at(scene, retries=0) as model:
        for _ in range(2):
            assert text_of(await answered(model, how, output=PRICE)) == ANSWER
    assert shapes_in(scene) == ["json_schema", None, None]


@NEEDS_SDK["openai"]
@each_row(
    "name status words options sent",
    ("qwen3:30b", 400, "the key 'price' was asked for, and is not known", {}, "json_schema"),
    ("qwen3:30b", 403, "no response_format for this key", {}, "json_schema"),
    ("gpt-5.6", 400, "Invalid schema for response_format 'answer'", {}, "json_schema"),
    ("qwen3:30b", 400, "no response_format", {"answer_schema": True}, "json_schema"),
    ("qwen3:30b", 400, "no response_format", {"options": OBJECT}, "json_object"),
)
async def test_what_is_refused_otherwise_is_a_failure(
    server: Stage, name: str, status: int, words: str, options: Any, sent: str
) -> None:
    scene = server.scene(fails(status, error("openai", status, "invalid_request_error", words)))
    async with service_at(scene, name, **options) as model:
        with pytest.raises(ModelFailed):
            await answered(model, output=PRICE)
    assert shapes_in(scene) == [sent]


@NEEDS_SDK["openai"]
def test_a_refusal_after_the_first_piece_is_a_failure(server: Stage) -> None:
    refusal = {"error": {"message": "response_format is not supported", "code": 400}}
    scene = server.scene(lambda exchange: send("openai", exchange, [*begun("openai", ["Hello"]), refusal]))
    with pytest.raises(ModelFailed):
        asked(scene, "openai", "streamed", {"output": PRICE}, name="qwen3:30b")
    assert len(scene.requests) == 1, "nothing is told twice"
