"""Marks of a cache taken off again: what is left is what was there without them."""

import pytest

from quire.items import Image, Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, CachePlan, without_breakpoints
from tests.providers.conversations import PNG

PLAN = CachePlan(static=1)
HISTORIES: list[list[Item]] = [
    [Message("system", "Be brief."), Message("user", "Hi.")],
    [Message("user", ("Look:", Image(data=PNG)))],
    [Message("user", "Go."), ToolCall("c", "f", "{}"), ToolResult("c", "f", ("see", Image(data=PNG)))],
    [Message("user", "Go."), ToolCall("c", "f", "{}"), ToolResult("c", "f", "fine")],
]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
@pytest.mark.parametrize("items", HISTORIES)
def test_without_marks_a_payload_is_as_if_it_never_had_any(wire: str, items: list[Item]) -> None:
    marked = PROVIDERS[wire].render(items, model="gpt-5.6", plan=PLAN).payload
    assert "prompt_cache_breakpoint" in str(marked)
    assert without_breakpoints(marked) == PROVIDERS[wire].render(items, model="gpt-5.6").payload
    assert "prompt_cache_breakpoint" in str(marked)  # what was rendered is left as it is


def test_what_has_no_history_is_left_as_it_is() -> None:
    assert without_breakpoints({"input": "Hi."}) == {"input": "Hi."}
    assert without_breakpoints({"messages": [None, {"content": []}]}) == {"messages": [None, {"content": []}]}
