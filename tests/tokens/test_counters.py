"""Counters: what counts of an item, exact vocabularies, keys, tool definitions, and counters of your own."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import items as q
from quire.errors import InvalidValue, WrongType
from quire.providers import read_tools
from quire.state import Transcript
from quire.tokens import Calibrated, Counter, Measured, Tally, counter_for, schema_tokens

COUNTER = Measured(framing="openai", media="gpt-4o")
HELLO = 2  # tokens of `hello world`
SUMMARY, NOTE, NOTHING, FAILED = 7, 7, 3, 3  # of the tags, of the text for an empty output, and of `Error: `

ITEMS: list[tuple[q.Item, int]] = [
    (q.Message("user", "hello world"), 4 + HELLO),
    (q.Message("user", ""), 4),
    (q.Message("user", ("hello world", q.Image(url="x", width=100, height=100))), 4 + HELLO + 255),
    (q.Message("user", (q.Audio(url="x", seconds=3, transcript="hello world"),)), 4 + 30),
    (q.Message("user", (q.File(data=b"hello world", media_type="text/plain"),)), 4 + HELLO),
    (q.Message("user", (q.File(data=b"world", name="hello.txt"),)), 4 + COUNTER.text("[hello.txt]\nworld")),
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
    (q.Note(None, description="hello world"), 4 + NOTE + HELLO),
    (q.Note({"a": [1]}), COUNTER.count(q.Note('{"a":[1]}'))),
    *((edit, 0) for edit in (q.Mask("x", "gone"), q.Hide((q.Span("a", "b"),)), q.Pin("x"), q.Undo("x"))),
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


def test_threads_count_alike() -> None:
    texts = [f"line {number}: {'word ' * (number % 7)}{number**9}" for number in range(300)]
    alone = [COUNTER.text(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(COUNTER.text, texts)) == alone


def test_the_tokenizer_and_the_table_are_loaded_when_first_used() -> None:
    code = (
        "import sys, quire.tokens as t; from quire.items import Message; loaded = sys.modules;"
        "assert 'tomllib' not in loaded and 'splintr' not in loaded;"
        "c = t.counter_for('gpt-5'); assert 'tomllib' in loaded and 'splintr' not in loaded;"
        "c.count(Message('user', 'hi')); assert 'splintr' in loaded"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_key_names_all_that_counts() -> None:
    rows: list[dict[str, Any]] = [{}, {"framing": "google"}, {"media": "gpt-5"}]
    rows += [{"scale": 2.0}, {"scale": 2.0000001}, {"vocabulary": "cl100k_base"}]
    keys = {Measured(**row).key for row in rows}
    assert len(keys) == 6 and "o200k_base/1.0/plain/claude" in keys
    wrong: list[dict[str, Any]] = [{"framing": "none"}, {"media": "none"}]
    for names in wrong:
        with pytest.raises(InvalidValue, match="none"):
            Measured(**names)


def test_only_a_counter_counts() -> None:
    for wrong in (Measured, 5, None, len, object()):
        with pytest.raises(WrongType, match="counter"):
            Transcript([q.Message("user", "x")]).view.tokens(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(WrongType, match="counter"):
            Calibrated(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


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


def test_wrong_definitions_are_refused() -> None:
    several: list[Any] = [WEATHER, "text", 5, ["text"], [{"description": "no name"}]]
    for tools in several:
        with pytest.raises(WrongType):
            schema_tokens(tools, COUNTER)
