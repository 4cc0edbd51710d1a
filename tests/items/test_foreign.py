"""Items and parts as fields of pydantic models and bodies of FastAPI routes; pydantic stays optional."""

import asyncio
import json
import subprocess
import sys
from typing import Annotated, Any

import pytest
from fastapi import Body, FastAPI
from hypothesis import given
from pydantic import BaseModel, TypeAdapter, ValidationError

from quire.items import (
    KINDS,
    Address,
    Audio,
    Hide,
    Image,
    Item,
    Message,
    Note,
    Opaque,
    Part,
    Span,
    ToolCall,
    Unknown,
)
from tests.items.strategies import FEW, batches, items, parts

MESSAGE = Message("user", ("look", Image(data=b"hi")), state=Opaque("p", "m", "d"), extras={"a": b"\0"})


class Turn(BaseModel):
    """A model with items and parts in every place."""

    message: Message
    calls: list[ToolCall] = []
    anything: list[Item] = []
    picture: Image | None = None
    span: Span | None = None
    address: Address | None = None


ANY_ITEM: TypeAdapter[Item] = TypeAdapter(Item)
ITEMS: TypeAdapter[list[Item]] = TypeAdapter(list[Item])
PART: TypeAdapter[Part] = TypeAdapter(Part)


@given(item=items())
def test_any_item_goes_through_pydantic_and_back(item: Item) -> None:
    assert ANY_ITEM.validate_python(item) is item
    assert ANY_ITEM.validate_python(ANY_ITEM.dump_python(item)) == item
    assert ANY_ITEM.validate_json(ANY_ITEM.dump_json(item)) == item
    assert json.loads(ANY_ITEM.dump_json(item)) == ANY_ITEM.dump_python(item)


@FEW
@given(batch=batches())
def test_lists_of_items_go_through_pydantic_and_back(batch: list[Item]) -> None:
    assert ITEMS.validate_json(ITEMS.dump_json(batch)) == batch
    assert ITEMS.validate_python(ITEMS.dump_python(batch)) == batch


@FEW
@given(part=parts())
def test_parts_go_through_pydantic_and_back(part: Part) -> None:
    assert PART.validate_json(PART.dump_json(part)) == part
    assert PART.validate_python(PART.dump_python(part)) == part


def test_a_model_with_items_dumps_and_loads() -> None:
    turn = Turn(
        message=MESSAGE,
        calls=[ToolCall("c", "f")],
        anything=[Note({"x": [1]}), Hide((Span("a", "b"),)), MESSAGE],
        picture=Image(url="u", width=3),
        span=Span("a", "b"),
        address=Address("b", 0.5),
    )
    assert Turn.model_validate(turn.model_dump()) == turn
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    assert turn.model_dump()["message"]["content"] == ["look", {"part": "image", "data": "aGk="}]
    assert turn.model_dump()["picture"] == {"part": "image", "url": "u", "width": 3}


def test_what_a_newer_version_wrote_survives_a_model() -> None:
    raws = [
        {"kind": "future", "id": "u", "x": 1},
        {"kind": "pin", "id": "p", "created_at": 1.0, "target": "t", "new": 1},
    ]
    read = ITEMS.validate_python(raws)
    assert isinstance(read[0], Unknown)
    assert ITEMS.dump_python(read) == raws


def test_values_of_a_dictionary_are_taken_as_they_are() -> None:
    marker = object()
    note = TypeAdapter(Note).validate_python({"kind": "note", "content": [b"\0", marker, (1,), float("inf")]})
    assert note.content == [b"\0", marker, (1,), float("inf")]


WRONG: list[Any] = [
    *(5, "text", None, [], {}, {"kind": "message"}, {"kind": 5}, {1: 2}, {"kind": "note", "content": 1}),
    {"kind": "message", "role": "critic", "content": "x"},
    {"kind": "message", "role": "user", "content": 1j},
    {"kind": "message", "role": "user", "content": "x", "id": ""},
    {"kind": "message", "role": "user", "content": "x", "extras": {"$bytes": "!"}},
    {"kind": "message", "role": "user", "content": "x", "extras": 5, "new": 1},
]


@pytest.mark.parametrize("value", WRONG)
def test_wrong_input_is_a_validation_error(value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Turn.model_validate({"message": value})
    assert caught.value.errors()[0]["loc"] == ("message",)
    if value != {"kind": "note", "content": 1}:
        with pytest.raises(ValidationError):
            ANY_ITEM.validate_python(value)


def test_the_faults_of_a_union_are_named_by_kind() -> None:
    with pytest.raises(ValidationError) as caught:
        ITEMS.validate_python([{"kind": "message", "role": "critic", "content": "x"}])
    places = [str(fault["loc"][1]) for fault in caught.value.errors()]
    assert len(places) == len(KINDS)
    assert all(any(kind.__name__ in place for place in places) for kind in KINDS)
    told = {str(fault["loc"][1]): fault["msg"] for fault in caught.value.errors()}
    assert "$.role" in told["function-plain[Message()]"]
    assert "expected ToolCall, got Message" in told["function-plain[ToolCall()]"]


@pytest.mark.parametrize(
    "value",
    [5, {}, {"url": 5}, {"part": "audio", "url": "u"}, {"url": "u", "width": 0}, {"url": "u", "new": 1}],
)
def test_wrong_parts_are_validation_errors(value: Any) -> None:
    with pytest.raises(ValidationError):
        Turn.model_validate({"message": MESSAGE, "picture": value})


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_the_schema_of_a_model_names_the_fields_of_items(mode: Any) -> None:
    schema = Turn.model_json_schema(mode=mode)
    message = schema["properties"]["message"]
    assert {"role", "content", "id", "created_at", "extras", "kind"} <= set(message["properties"])
    assert "#/" not in json.dumps(message)
    assert set(schema["properties"]["calls"]["items"]["properties"]) >= {"call_id", "name", "arguments"}
    union = schema["properties"]["anything"]["items"]["anyOf"]
    assert {"tool_call", "note", "hide"} <= {kind["properties"]["kind"]["enum"][0] for kind in union}
    assert "width" in json.dumps(schema["properties"]["picture"])
    assert set(TypeAdapter(Audio).json_schema()["properties"]) >= {"seconds", "transcript"}


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/echo")
    def echo(message: Annotated[Message, Body()]) -> Message:  # pyright: ignore[reportUnusedFunction]
        return message

    @app.post("/items")
    def count(batch: Annotated[list[Item], Body()]) -> list[Item]:  # pyright: ignore[reportUnusedFunction]
        return batch[::-1]

    return app


def post(app: FastAPI, path: str, body: bytes) -> tuple[int, Any]:
    """One request, spoken to the application without a server."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
    }
    scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http"}
    scope |= {
        "headers": [(b"content-type", b"application/json")],
        "server": ("test", 80),
        "client": ("test", 1),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    asyncio.run(app(scope, receive, send))
    answer = b"".join(event.get("body", b"") for event in sent)
    return sent[0]["status"], json.loads(answer)


def test_an_item_is_the_body_and_the_answer_of_a_route() -> None:
    app = application()
    written = ANY_ITEM.dump_json(MESSAGE)
    assert post(app, "/echo", written) == (200, json.loads(written))
    batch = ITEMS.dump_json([MESSAGE, ToolCall("c", "f", id="t", created_at=1.0)])
    assert post(app, "/items", batch) == (200, json.loads(batch)[::-1])


def test_a_wrong_body_is_refused_by_the_route() -> None:
    status, answer = post(application(), "/echo", b'{"kind":"message","role":"critic","content":"x"}')
    assert status == 422
    assert answer["detail"][0]["loc"] == ["body"]


def test_the_document_of_an_application_describes_items() -> None:
    document = application().openapi()
    operation = document["paths"]["/echo"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    for schema in (body, answer):
        assert {"role", "content", "id"} <= set(schema["properties"])


def test_pydantic_stays_optional() -> None:
    code = "import sys, quire.items; assert not {'pydantic', 'pydantic_core'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
