"""Items and parts are fields of pydantic models and bodies of FastAPI routes; pydantic stays optional."""

import subprocess
import sys
from typing import Annotated, Any

import pytest
from fastapi import Body, FastAPI
from hypothesis import given
from pydantic import BaseModel, TypeAdapter, ValidationError

from quire.items import Address, Hide, Image, Item, Message, Note, Opaque, Span, ToolCall, Unknown
from quire.testing.items import items


class Turn(BaseModel):
    """A model with items and parts in every place."""

    message: Message
    calls: list[ToolCall] = []
    anything: list[Item] = []
    picture: Image | None = None
    address: Address | None = None


ANY_ITEM: TypeAdapter[Item] = TypeAdapter(Item)
MESSAGE = Message("user", ("look", Image(data=b"hi")), state=Opaque("p", "m", "d"), extras={"a": b"\0"})


@given(item=items())
def test_an_item_goes_through_pydantic_and_back(item: Item) -> None:
    assert ANY_ITEM.validate_python(item) is item
    assert ANY_ITEM.validate_python(ANY_ITEM.dump_python(item)) == item
    assert ANY_ITEM.validate_json(ANY_ITEM.dump_json(item)) == item


def test_a_model_with_items_dumps_and_loads() -> None:
    turn = Turn(
        message=MESSAGE,
        calls=[ToolCall("c", "f")],
        anything=[Note({"x": [1]}), Hide((Span("a", "b"),)), Unknown(name="future", fields={"x": 1})],
        picture=Image(url="u", width=3),
        address=Address("b", 0.5),
    )
    assert Turn.model_validate(turn.model_dump()) == turn == Turn.model_validate_json(turn.model_dump_json())
    assert turn.model_dump()["message"]["content"] == ["look", {"part": "image", "data": "aGk="}]


@pytest.mark.parametrize(
    "value",
    [5, "text", None, {}, {"kind": "message"}, {"kind": 5}, {1: 2}, {"kind": "note", "content": 1}]
    + [
        {"kind": "message", "role": role, "content": content}
        for role, content in (("critic", "x"), ("user", 5))
    ],
    ids=str,
)
def test_wrong_input_is_a_validation_error(value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Turn.model_validate({"message": value})
    assert caught.value.errors()[0]["loc"] == ("message",)


def test_a_route_takes_an_item() -> None:
    app = FastAPI()

    @app.post("/")
    def route(message: Annotated[Message, Body()]) -> Message:  # pyright: ignore[reportUnusedFunction]
        return message

    body = app.openapi()["paths"]["/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["type"] == "object"


def test_pydantic_stays_optional() -> None:
    code = "import sys, quire.items; print('pydantic' in sys.modules or 'pydantic_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"
