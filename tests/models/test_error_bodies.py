"""What services say in errors, whatever the shape of the body: it is told, cut short, and acted upon."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from quire import Agent
from quire.errors import ModelFailed, WindowExceeded
from quire.models import Model
from quire.models.clients import bodies
from quire.models.clients.bodies import without_keys, words_in
from quire.models.clients.client import object_in
from tests.clients.asking import asked, both_ways, each_wire
from tests.clients.scenes import Exchange, Stage, stage
from tests.clients.speaking import fails, says
from tests.models.answerers import NEEDS_SDK

WORDS = "This model's maximum prompt length is 131072 but the request contains 143343 tokens."
BODIES: dict[str, Any] = {
    "an error in words": {"code": "invalid-argument", "error": WORDS},
    "an error of a type": {"error": WORDS, "error_type": "validation"},
    "a message": {"object": "error", "message": WORDS, "code": "3230"},
    "a message beside no error": {"error": None, "message": WORDS},
    "a detail": {"detail": WORDS},
    "details": {"detail": [{"loc": ["body", "messages"], "msg": WORDS, "input": "my secret"}]},
    "details in a message": {"message": {"detail": [{"msg": WORDS}]}},
    "several": {"errors": [{"message": WORDS}]},
    "a text": WORDS.encode(),
    "a page": f"<!doctype html><html><head><title>{WORDS}</title></head></html>".encode(),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


def noted(fault: ModelFailed) -> str:
    (note,) = fault.__notes__
    return str(note)


@each_wire
@both_ways
@pytest.mark.parametrize("shape", BODIES)
def test_the_words_are_found(server: Stage, wire: str, how: str, shape: str) -> None:
    with pytest.raises(WindowExceeded) as caught:
        asked(server.scene(fails(400, BODIES[shape])), wire, how)
    assert caught.value.over == 143_343 - 131_072
    assert WORDS in noted(caught.value) and "my secret" not in noted(caught.value)


@NEEDS_SDK["openai"]
@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_so_they_are_within_a_stream(server: Stage, wire: str) -> None:
    def step(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk('data: {"error": "maximum prompt length is 9"}\n\n')
        exchange.end()

    with pytest.raises(WindowExceeded) as caught:
        asked(server.scene(step), wire, "streamed")
    assert "maximum prompt length is 9" in noted(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "Input is too long for requested model.",
    ],
)
@NEEDS_SDK["openai"]
def test_windows_by_the_words_of_other_services(server: Stage, words: str) -> None:
    with pytest.raises(WindowExceeded):
        asked(server.scene(fails(400, {"error": {"message": words}})), "openai", "whole")


@dataclass
class Order:
    article: str


@NEEDS_SDK["openai"]
@pytest.mark.parametrize(
    "body",
    [
        {"error": "response_format is not supported"},
        {"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}]},
        b"json_schema is not supported here",
    ],
)
def test_a_schema_that_is_turned_down_in_any_shape_is_left_out(server: Stage, body: Any) -> None:
    scene = server.scene(fails(400, body), says("openai", '{"article": "pen"}'))

    async def order() -> object:
        async with Model("openai:grok-4", base_url=f"{scene.base_url}/v1", api_key="k") as model:
            return (await Agent("Sell.", model=model).ask("A pen.", output=Order)).output

    assert asyncio.run(order()) == Order("pen")
    assert len(scene.requests) == 2


KEY = "sk-the-key-of-somebody-0123456789"


@each_wire
@both_ways
def test_a_key_that_a_body_quotes_is_not_told(server: Stage, wire: str, how: str) -> None:
    body = f"refused: authorization: Bearer {KEY}, x-api-key: {KEY}, x-goog-api-key: {KEY}".encode()
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(fails(400, body)), wire, how, api_key=KEY)
    assert "refused: authorization: Bearer …" in noted(caught.value)
    assert KEY not in noted(caught.value) and KEY not in str(caught.value)


@each_wire
@both_ways
def test_a_long_page_is_cut_short(server: Stage, wire: str, how: str) -> None:
    page = f"<html><style>p {{}}</style><p>Bad&nbsp;gateway</p>{'<p>more</p>' * 9000}</html>"
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(fails(502, page.encode())), wire, how, retries=0)
    assert "says: Bad gateway more" in noted(caught.value) and len(noted(caught.value)) < 600


SILENT: list[Any] = [None, {}, [], 5, True, {"error": {}}, {"error": 5}, [[[]]], {"detail": [1]}]


@pytest.mark.parametrize("body", SILENT)
def test_where_nothing_is_said_there_are_no_words(body: Any) -> None:
    assert words_in(body) == ""


def test_words_that_are_deep_or_many_are_left() -> None:
    deep: Any = "words"
    for _ in range(5000):
        deep = {"error": deep}
    assert words_in(deep) == ""
    assert words_in([{"msg": "no"}] * 1000) == "; ".join(["no"] * 10)


def test_what_is_too_short_for_a_key_is_no_key() -> None:
    assert without_keys("ask again, none", ("k", "none", None, lambda: "key")) == "ask again, none"


def test_what_is_not_there_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []

    def looked(value: Any) -> Any:
        looks.append(value)
        return object_in(value)

    monkeypatch.setattr(bodies, "object_in", looked)
    assert words_in({"error": {"code": 5, "message": {}}, "id": "x"}) == ""
    assert len(looks) == 3
