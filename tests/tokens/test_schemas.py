"""Tool definitions: the published recipe of OpenAI, JSON for others, any shape a provider takes."""

from typing import Any

import pytest

from quire.errors import WrongType
from quire.items import Item, Message
from quire.tokens import Calibrated, Counter, Estimate, Exact, counter_for, schema_tokens

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
        "unit": {
            "type": "string",
            "description": "The unit of temperature to return",
            "enum": ["celsius", "fahrenheit"],
        },
    },
    "required": ["location"],
}
WEATHER: dict[str, Any] = {
    "name": "get_current_weather",
    "description": "Get the current weather in a given location",
    "parameters": PARAMETERS,
}
CONVERSATION = (
    Message(
        role="system",
        content="You are a helpful assistant that can answer to questions about the weather.",
    ),
    Message(role="user", content="What's the weather like in San Francisco?"),
)


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4o", 101), ("gpt-4", 105)])
def test_the_published_example_comes_out_as_published(model: str, tokens: int) -> None:
    counter = counter_for(model)
    items = counter.total(sum(map(counter.count, CONVERSATION)))
    assert items + schema_tokens([WEATHER], counter) == tokens


def test_every_shape_of_a_definition_counts_the_same() -> None:
    for counter in (Exact(), Estimate()):
        plain = schema_tokens([WEATHER], counter)
        assert schema_tokens([{"type": "function", "function": WEATHER}], counter) == plain
        other = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": PARAMETERS}
        assert schema_tokens([other], counter) == plain


def test_no_tools_cost_nothing_and_more_tools_cost_more() -> None:
    for model in ("gpt-5.6", "claude-opus-5", "gemini-3-pro", "unheard-of"):
        counter = counter_for(model)
        assert schema_tokens([], counter) == 0
        assert 0 < schema_tokens([WEATHER], counter) < schema_tokens([WEATHER, WEATHER], counter)


def test_nested_objects_lists_and_alternatives_are_counted() -> None:
    counter = Exact()
    inner = {"type": "object", "properties": {"street": {"type": "string", "description": "Where they live"}}}

    def cost(schema: dict[str, Any]) -> int:
        return schema_tokens([{"name": "f", "parameters": {"properties": {"x": schema}}}], counter)

    bare = cost({"type": "object"})
    assert cost(inner) > bare
    assert cost({"type": "array", "items": inner}) > bare
    assert cost({"type": ["object", "null"], "anyOf": [inner, {"type": "null"}]}) > cost(inner) - 3


def test_a_schema_that_holds_itself_is_cut_off() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["self"] = schema
    for counter in (Exact(), Estimate()):
        assert schema_tokens([{"name": "f", "parameters": schema}], counter) > 0


def test_a_definition_without_a_name_is_refused() -> None:
    with pytest.raises(WrongType, match="name"):
        schema_tokens([{"description": "what?"}], Exact())


def test_functions_in_one_entry_are_counted_one_by_one() -> None:
    functions: list[dict[str, Any]] = [{"name": "a", "parameters": {}}, {"name": "b"}]
    for counter in (Exact(), Estimate(), ByTheWord()):
        apart = schema_tokens([*functions, {"google_search": {}}], counter)
        assert schema_tokens([{"function_declarations": functions, "google_search": {}}], counter) == apart
        assert schema_tokens([{"functionDeclarations": functions}], counter) < apart or apart == 0


def test_functions_in_one_entry_are_a_list() -> None:
    with pytest.raises(WrongType, match="list of definitions"):
        schema_tokens([{"function_declarations": "a"}], Exact())


class ByTheWord:
    """Somebody else's counter: it knows nothing of tools."""

    key = "words"

    def count(self, item: Item) -> int:
        return len(item.text.split()) if isinstance(item, Message) else 0

    def total(self, counted: int) -> int:
        return counted


def test_a_counter_that_knows_no_tools_counts_their_json() -> None:
    counter: Counter = ByTheWord()
    assert schema_tokens([WEATHER], counter) > 10
    assert schema_tokens([WEATHER], Calibrated(counter)) == schema_tokens([WEATHER], counter)
