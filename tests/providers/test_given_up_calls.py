"""Words after a call that gave nothing stand after the result made up for it: what was sent stays."""

from typing import Any

import pytest

from quire.items import Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, Rendered
from quire.state import Transcript

LISTS = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
ASKED = Message("user", "go")
CALL = ToolCall("c1", "look", "{}")
LOST = Message("assistant", "It was lost.")


def sent(wire: str, *items: Item) -> tuple[list[Any], Rendered]:
    rendered = PROVIDERS[wire].render(items)
    assert PROVIDERS[wire].check(rendered.payload) == []
    return rendered.payload[LISTS[wire]], rendered


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_was_sent_is_the_beginning_of_what_is_sent_next(wire: str) -> None:
    transcript = Transcript([ASKED])
    before: list[Any] = []
    again: list[Item] = [Message("assistant", "I look again."), ToolCall("c2", "look", "{}")]
    for answer in ([CALL], again, [LOST, Message("user", "next")]):
        transcript.extend(answer)
        now = PROVIDERS[wire].render(transcript.view).payload[LISTS[wire]]
        assert now == sent(wire, *transcript.view)[0] and now[: len(before)] == before
        before = now


@pytest.mark.parametrize("wire", PROVIDERS)
def test_words_stand_after_the_result_that_was_made_up(wire: str) -> None:
    told, rendered = sent(wire, ASKED, CALL, LOST, Message("user", "next"))
    assert str(told).index("No result") < str(told).index("It was lost.") < str(told).index("next")
    assert "words_moved" not in {downgrade.change for downgrade in rendered.downgrades}


@pytest.mark.parametrize("wire", PROVIDERS)
def test_words_beside_a_call_that_has_a_result_are_of_its_answer(wire: str) -> None:
    result = ToolResult("c1", "look", "rain")
    for items in ((CALL, LOST, result), (CALL, LOST, Message("user", "so?"), result)):
        told = str(sent(wire, ASKED, *items)[0])
        assert told.index("It was lost.") < told.index("rain") and "No result" not in told


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_call_beside_one_with_a_result_keeps_the_words_where_they_were(wire: str) -> None:
    beside, result = ToolCall("c2", "look", "{}"), ToolResult("c2", "look", "rain")
    told = str(sent(wire, ASKED, CALL, beside, LOST, result)[0])
    assert told.index("It was lost.") < told.index("No result") < told.index("rain")


def test_words_that_were_made_after_the_same_as_the_call_are_of_its_answer() -> None:
    state = Opaque("gemini", "m", '{"signatures":["c2ln"]}', "p")
    called, said = ToolCall("c1", "look", "{}", state), Message("assistant", "I look.", state=state)
    told, _ = sent("gemini", ASKED, called, said)
    assert [len(content["parts"]) for content in told] == [1, 2, 1]
    between: list[Item] = [called, LOST, Reasoning("hm", state), ToolCall("c2", "look", "{}", state)]
    assert str(sent("gemini", ASKED, *between)[0]).count("'role': 'model'") == 1


def test_thoughts_after_such_words_are_of_the_turn_that_follows() -> None:
    thought = Reasoning("hm", Opaque("openai-responses", "m", "{}", "p"))
    told, _ = sent("openai-responses", ASKED, CALL, LOST, thought, ToolCall("c2", "look", "{}"))
    kinds = [item.get("type", item.get("role")) for item in told]
    assert kinds[1:4] == ["function_call", "function_call_output", "message"]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_long_row_of_such_calls_is_written(wire: str) -> None:
    items = [item for nth in range(2000) for item in (ToolCall(f"c{nth}", "look", "{}"), LOST)]
    told, _ = sent(wire, ASKED, *items)
    assert str(told).count("No result") == 2000
