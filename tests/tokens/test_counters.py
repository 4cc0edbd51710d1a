"""Counters: what counts of an item, exact vocabularies, keys, tool definitions, and counters of your own."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire.errors import InvalidLimit, InvalidValue, QuireError, WrongType
from quire.items import (
    KINDS,
    Audio,
    ConfigChange,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
)
from quire.state import Transcript
from quire.tokens import (
    FRAMINGS,
    MEDIA,
    Calibrated,
    Counter,
    Estimate,
    Exact,
    Measured,
    counter_for,
    estimate,
    schema_tokens,
)

COUNTER = Exact()
HELLO = 2  # tokens of `hello world`
SUMMARY, NOTE, NOTHING, FAILED = 7, 7, 3, 3  # of the tags, of the text for an empty output, and of `Error: `

ITEMS: list[tuple[Item, int]] = [
    (Message("user", "hello world"), 4 + HELLO),
    (Message("user", ""), 4),
    (Message("user", ("hello world", Image(url="x", width=100, height=100))), 4 + HELLO + 255),
    (Message("user", (Audio(url="x", seconds=3, transcript="hello world"),)), 4 + 30),
    (Message("user", (File(data=b"hello world", media_type="text/plain"),)), 4 + HELLO),
    (Message("user", (File(data=b"world", name="hello.txt"),)), 4 + COUNTER.text("[hello.txt]\nworld")),
    (ToolCall("c", "hello", " world"), 8 + HELLO),
    (ToolResult("c", "any", "hello world"), 4 + HELLO),
    (ToolResult("c", "any", ""), 4 + NOTHING),
    (ToolResult("c", "any", "hello world", is_error=True), 4 + FAILED + HELLO),
    (Reasoning("hello world"), HELLO),
    (Reasoning(state=Opaque("openai", "o3", "x" * 1000)), 0),
    (Summary("hello world"), 4 + SUMMARY + HELLO),
    (Handoff(" world", "hello"), 4 + HELLO),
    (ConfigChange(instructions="hello world"), 4 + HELLO),
    (ConfigChange(tools=("hello", " world")), 4 + HELLO),
    (Note("hello world"), 4 + NOTE + HELLO),
    (Note(None, description="hello world"), 4 + NOTE + HELLO),
    (Note({"a": [1]}), COUNTER.count(Note('{"a":[1]}'))),
    *((edit, 0) for edit in (Mask("x", "gone"), Hide((Span("a", "b"),)), Pin("x"), Undo("x"))),
    (Unknown(name="hologram", fields={"a": 1}), 0),
]


def test_each_kind_counts_what_a_model_reads() -> None:
    assert {type(item) for item, _ in ITEMS} == KINDS
    assert [COUNTER.count(item) for item, _ in ITEMS] == [tokens for _, tokens in ITEMS]
    assert COUNTER.total(6) == 9


@pytest.mark.parametrize(
    ("encoding", "text", "tokens"),
    [
        *(("o200k_base", "hello world", 2), ("o200k_base", "", 0), ("o200k_base", "1234567", 3)),
        *(("o200k_base", "<|endoftext|>", 7), ("cl100k_base", "<|endoftext|>", 7)),
        *(("cl100k_base", "tiktoken is great!", 6), ("cl100k_base", "antidisestablishmentarianism", 6)),
    ],
)
def test_known_counts(encoding: str, text: str, tokens: int) -> None:
    assert Exact(encoding).text(text) == tokens


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_count_and_an_estimate_follows_its_scale(text: str) -> None:
    tokens = COUNTER.text(text)
    assert 0 <= tokens <= 4 * len(text)
    assert estimate(text) == Estimate().text(text) == tokens
    assert Estimate(1.45).text(text) == (max(1, round(1.45 * tokens)) if text else 0)


def test_long_runs_of_one_character_are_counted() -> None:
    for unit in ("a", " ", "\n", "é", "中", "😀", "\ud800"):
        assert 0 < COUNTER.text(unit * 100_000) <= 300_000


def test_threads_and_pickled_counters_count_alike() -> None:
    texts = [f"line {number}: {'word ' * (number % 7)}{number**9}" for number in range(300)]
    alone = [COUNTER.text(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(COUNTER.text, texts)) == alone
    for counter in (COUNTER, Estimate(1.2), counter_for("gemini-3-pro")):
        other = pickle.loads(pickle.dumps(counter))
        assert other.key == counter.key and other.count(ITEMS[0][0]) == counter.count(ITEMS[0][0])


def test_the_tokenizer_and_the_table_are_loaded_when_first_used() -> None:
    code = (
        "import sys, quire.tokens as t; from quire.items import Message; loaded = sys.modules;"
        "assert 'tomllib' not in loaded and 'splintr' not in loaded;"
        "c = t.counter_for('gpt-5'); assert 'tomllib' in loaded and 'splintr' not in loaded;"
        "c.count(Message('user', 'hi')); assert 'splintr' in loaded"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_key_names_all_that_counts() -> None:
    openai, gpt_4o = FRAMINGS["openai"], MEDIA["gpt-4o"]
    assert Exact().key == "o200k_base/openai/gpt-4o" == Exact(framing=openai, media=gpt_4o).key
    assert Estimate(2).key == Estimate(2.0).key != Estimate(2.0000001).key != Exact().key
    framings = [
        replace(openai, message=5),
        replace(openai, typed=False),
        replace(FRAMINGS["plain"], name="openai"),
    ]
    media = [replace(gpt_4o, second=11.0), replace(gpt_4o, image=MEDIA["claude"].image)]
    keys = [*(Exact(framing=one).key for one in framings), *(Exact(media=one).key for one in media)]
    assert len({*keys, Exact().key}) == 6


REFUSED: list[tuple[Callable[[], object], type[QuireError]]] = [
    (lambda: Exact("p50k"), InvalidValue),
    (lambda: Exact(framing="none"), InvalidValue),
    (lambda: Exact(media="none"), InvalidValue),
    (lambda: Estimate(0), InvalidLimit),
    (lambda: Estimate(100), InvalidLimit),
    (lambda: Estimate(float("nan")), InvalidLimit),
    (lambda: Measured("", len, "plain", "claude"), InvalidValue),
    (lambda: Measured("k", 5, "plain", "claude"), WrongType),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (lambda: COUNTER.count("text"), WrongType),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (lambda: COUNTER.text(5), WrongType),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (lambda: COUNTER.total(-1), InvalidLimit),
    (lambda: Measured("k", lambda text: -1, "plain", "claude").text("x"), InvalidLimit),
]


@pytest.mark.parametrize(("make", "error"), REFUSED)
def test_wrong_arguments_are_refused(make: Callable[[], object], error: type[QuireError]) -> None:
    with pytest.raises(error):
        make()


class Own:
    """A counter that is given its results."""

    key = "own"

    def __init__(self, count: Any = 1, total: Any = 1) -> None:
        self._count, self._total = count, total

    def count(self, item: Item) -> Any:
        return self._count

    def total(self, counted: int) -> Any:
        return self._total


@pytest.mark.parametrize("wrong", [-1, 1.5, None, True, 2**60, "5"], ids=repr)
def test_a_counter_that_gives_no_count_is_named(wrong: Any) -> None:
    view = Transcript([Message("user", "x")]).view
    with pytest.raises(QuireError, match="'own'"):
        view.tokens(Own(count=wrong))
    with pytest.raises(QuireError, match="'own'"):
        view.tokens(Own(total=wrong))


def test_only_a_counter_counts() -> None:
    for wrong in (Own, 5, None, len, object()):
        with pytest.raises(WrongType, match="counter"):
            Transcript([Message("user", "x")]).view.tokens(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
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
    Message("system", "You are a helpful assistant that can answer to questions about the weather."),
    Message("user", "What's the weather like in San Francisco?"),
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


def test_nested_schemas_count_and_endless_ones_are_cut_off() -> None:
    def tool(inner: Any) -> dict[str, Any]:
        return {"name": "f", "parameters": {"properties": {"a": inner}}}

    deep = {"properties": {"b": {"type": "string", "description": "what it is"}}}
    plain = schema_tokens([tool({})], COUNTER)
    for inner in (deep, {"items": deep}, {"anyOf": [{}, deep]}, {"enum": ["a", "b"]}):
        assert schema_tokens([tool(inner)], COUNTER) > plain
    endless: dict[str, Any] = {"properties": {}}
    endless["properties"]["self"] = endless
    assert schema_tokens([tool(endless)], COUNTER) > plain


def test_a_counter_without_tools_counts_their_json() -> None:
    own: Counter = Own(count=7)
    assert schema_tokens([WEATHER, WEATHER], own) == 14


@pytest.mark.parametrize("tools", [WEATHER, "text", 5, ["text"], [{"description": "no name"}]], ids=repr)
def test_wrong_definitions_are_refused(tools: Any) -> None:
    with pytest.raises(WrongType):
        schema_tokens(tools, COUNTER)
