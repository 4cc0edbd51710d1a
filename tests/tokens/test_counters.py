"""Counters: what counts of an item, exact vocabularies, keys, tool definitions, and counters of your own."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import items as q
from quire.providers import read_tools
from quire.tokens import Counter, Measured, Tally, counter_for, schema_tokens

COUNTER = Measured(framing="openai", media="gpt-4o")
HELLO = 2  # tokens of `hello world`
SUMMARY, NOTE, NOTHING, FAILED = 7, 7, 3, 3  # of the tags, of the text for an empty output, and of `Error: `

ITEMS: list[tuple[q.Item, int]] = [
    (q.Message("user", "hello world"), 4 + HELLO),
    (q.Message("user", ""), 4),
    (q.Message("user", ("hello world", q.Image(url="x", width=100, height=100))), 4 + HELLO + 255),
    (q.Message("user", (q.Audio(url="x", seconds=3, transcript="hello world"),)), 4 + 30),
    (
        q.Message("user", (q.File(data=b"hello world", media_type="text/plain"),)),
        4 + COUNTER.text("<file>\nhello world\n</file>"),
    ),
    (
        q.Message("user", (q.File(data=b"world", name="hello.txt"),)),
        4 + COUNTER.text('<file name="hello.txt">\nworld\n</file>'),
    ),
    (q.ToolCall("c", "hello", " world"), 8 + HELLO),
    (q.ToolResult("c", "any", "hello world"), 4 + HELLO),
    (q.ToolResult("c", "any", ""), 4 + NOTHING),
    (q.ToolResult("c", "any", "hello world", is_error=True), 4 + FAILED + HELLO),
    (q.Reasoning("hello world"), HELLO),
    (q.Reasoning(state=q.Opaque("openai", "o3", "x" * 1000)), 0),
    (q.Summary("hello world"), 4 + SUMMARY + HELLO),
    (q.Handoff(" world", "hello"), 0),  # no wire has it
    (q.ConfigChange(instructions="hello world"), 4 + HELLO),
    (q.ConfigChange(tools=("hello", " world")), 0),
    (q.ConfigChange("hello world", ("hello", " world")), 4 + HELLO),
    (q.Note("hello world"), 4 + NOTE + HELLO),
    (
        q.Note(None, description="hello world"),
        4 + COUNTER.text('<note about="hello world">\n\n</note>'),
    ),
    (q.Note({"a": [1]}), COUNTER.count(q.Note('{"a":[1]}'))),
    *(
        (edit, 0)
        for edit in (
            q.Mask("x", "gone"),
            q.Hide((q.Span("a", "b"),)),
            q.Pin("x"),
            q.Undo("x"),
            q.Distrust("x"),
        )
    ),
    (q.Unknown(name="hologram", fields={"a": 1}), 0),
]


def test_each_kind_counts_what_a_model_reads() -> None:
    assert {type(item) for item, _ in ITEMS} == q.KINDS
    assert [COUNTER.count(item) for item, _ in ITEMS] == [tokens for _, tokens in ITEMS]
    assert COUNTER.total(6) == 9


KNOWN = [
    *(("o200k_base", "hello world", 2), ("o200k_base", "", 0), ("o200k_base", "1234567", 3)),
    *(("o200k_base", "<|endoftext|>", 7), ("cl100k_base", "<|endoftext|>", 7)),
    *(("cl100k_base", "tiktoken is great!", 6), ("cl100k_base", "antidisestablishmentarianism", 6)),
]


def test_known_counts() -> None:
    assert [(encoding, text, Measured(encoding).text(text)) for encoding, text, _ in KNOWN] == KNOWN


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_count_and_an_estimate_follows_its_scale(text: str) -> None:
    tokens = COUNTER.text(text)
    assert 0 <= tokens <= 4 * len(text)
    assert Measured(scale=1.45).text(text) == (max(1, round(1.45 * tokens)) if text else 0)


def test_long_runs_of_one_character_are_counted() -> None:
    for unit in ("a", " ", "\n", "é", "中", "😀", "\ud800"):
        assert 0 < COUNTER.text(unit * 100_000) <= 300_000


# Tools

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
NAME, DESCRIPTION = "get_current_weather", "Get the current weather in a given location"
WEATHER: dict[str, Any] = {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS}
CONVERSATION = (
    q.Message("system", "You are a helpful assistant that can answer to questions about the weather."),
    q.Message("user", "What's the weather like in San Francisco?"),
)


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4o", 101), ("gpt-4", 105)])
def test_the_published_example_counts_as_published(model: str, tokens: int) -> None:
    counter = counter_for(model)
    items = counter.total(sum(map(counter.count, CONVERSATION)))
    assert items + schema_tokens([WEATHER], counter) == tokens


@pytest.mark.parametrize("model", ["gpt-5.6", "claude-opus-5", "gemini-3-pro", "unheard-of"])
def test_every_shape_of_a_definition_counts_alike(model: str) -> None:
    counter = counter_for(model)
    one, two = schema_tokens([WEATHER], counter), schema_tokens([WEATHER, WEATHER], counter)
    assert schema_tokens([], counter) == 0 < one < two
    for shape in (
        {"type": "function", "function": WEATHER},
        {"name": NAME, "description": DESCRIPTION, "input_schema": PARAMETERS},
        {"function_declarations": [WEATHER]},
    ):
        assert schema_tokens([shape], counter) == one
    assert schema_tokens([{"functionDeclarations": [WEATHER, WEATHER]}], counter) == two
    assert schema_tokens([{"google_search": {}, "functionDeclarations": [WEATHER]}], counter) > one
    search = {"type": "tool_search", "execution": "client", "description": "x", "parameters": PARAMETERS}
    assert read_tools([search]) and schema_tokens([search], counter) > schema_tokens([{"type": "x"}], counter)


def test_a_counter_without_tools_counts_their_json() -> None:
    own: Counter = Tally("own", lambda _: 7)
    assert schema_tokens([WEATHER, WEATHER], own) == 14
