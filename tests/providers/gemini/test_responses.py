"""What calls gave: an object goes back as an object, a text as a text."""

from typing import Any

import pytest

from quire.items import JSON, Mask, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript
from tests.providers.gemini.wire import GEMINI, NEW, Json, answer, call, contents, model, user


def history(response: Any) -> list[Json]:
    step = model(call("c1", "look", thoughtSignature="c2lnbg=="))
    return [user("Go"), step, user(answer("c1", "look", response)), model("So."), user("Thanks")]


RESPONSES: list[Json] = [
    {"output": "21"},
    {"output": '{"temp":21}'},
    {"error": "no"},
    {"result": {"temp": 21}},
    {"output": {"temp": [21, 1.5, None]}},
    {"error": {"code": 4}},
    {"output": "x", "more": True},
    {"output": None},
    {},
]


@pytest.mark.parametrize("response", RESPONSES)
def test_it_goes_back_in_the_form_it_came_in(response: Json) -> None:
    items = GEMINI.read_history(history(response), model=NEW)
    for read in (items, JSON.decode(JSON.encode(items)), Transcript(items).view):
        assert contents(read, NEW) == history(response)


def test_what_was_masked_or_is_no_json_any_more_is_a_text() -> None:
    transcript = Transcript(GEMINI.read_history(history({"result": 1}), model=NEW))
    (result,) = [item for item in transcript.view if isinstance(item, ToolResult)]
    transcript.append(Mask(result.id, "[cleared]"))
    assert contents(transcript.view, NEW)[2] == user(answer("c1", "look", {"output": "[cleared]"}))


def test_other_wires_get_its_json_and_lose_nothing() -> None:
    items = GEMINI.read_history(history({"result": 1}))
    payload = PROVIDERS["openai"].render(items, strict=True).payload
    assert payload["messages"][2]["content"] == '{"result":1}'
