"""Whatever JSON is in a file: an exit status and a sentence, never a traceback."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Image, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import HISTORY, PROVIDERS

testing: Any = pytest.importorskip("typer.testing", reason="the command line needs the extra quire[cli]")
TOOLS: list[Any] = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]

ITEMS: list[Item] = [
    Message("system", "s"),
    Message("user", ("q", Image(data=b"\x89PNG\r\n\x1a\n", media_type="image/png"))),
    Reasoning("t"),
    ToolCall("f", '{"a": "x"}', "c1"),
    ToolCall("f", "{}", "c2"),
    ToolResult("c1", "f", "r"),
    ToolResult("c2", "f", "no", is_error=True),
    Message("assistant", "a"),
    Message("user", "and?"),
]
HISTORIES: dict[str, list[Any]] = {
    name: wire.render(ITEMS).payload[HISTORY[name]] for name, wire in PROVIDERS.items()
}


def deep(levels: int) -> Any:
    """An object in an object, and so on."""
    value: Any = {"type": "text"}
    for _ in range(levels):
        value = {"a": value}
    return value


ODD_VALUES: tuple[Any, ...] = (
    *(None, 5, -1, 1.5, True, "", "x", " ", [], {}, [None], [{}], 2**70, float("nan")),
    *("half \ud800", {"\udc00": "\ud800"}, deep(150), deep(3_000), "data:image/png;base64,", "c1"),
    *({"type": "text"}, {"a": {"b": [1]}}, {"type": "text", "text": ""}, {"text": ""}, "tool_use"),
    *("functionCall", "user", "assistant", "model", "tool", "system", "reasoning", "web_search_call"),
)


def places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Each object or array within a value, with each of its keys or indexes."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = list(value.items())  # pyright: ignore
    elif isinstance(value, list):
        inner = list(enumerate(value))  # pyright: ignore
    for key, held in inner:
        yield value, key
        if depth < 12:
            yield from places(held, depth + 1)


def changed(value: Any, seed: int) -> Any:
    """A copy in which up to three values are replaced, removed or repeated."""
    draw, value = Random(seed), deepcopy(value)
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        found = list(places(value))
        if not found:
            break
        holder, key = draw.choice(found)
        how = draw.random()
        if how < 0.6:
            holder[key] = draw.choice(ODD_VALUES)
        elif how < 0.8 or not isinstance(holder, list):
            del holder[key]
        else:
            holder.insert(draw.randrange(len(holder) + 1), holder[key])  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return value


def ran(*arguments: str) -> int:
    """The exit status of a command, which ends as commands do."""
    from quire.cli.main import app

    result = testing.CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return int(result.exit_code)


def all_commands(file: Path, wire: str, guessed: bool) -> set[int]:
    source = [] if guessed else ["--from", wire]
    return {
        ran("check", str(file), "--provider", wire),
        ran("check", str(file), "--provider", wire, "--fix"),
        ran("tokens", str(file), *source),
        *(ran("convert", str(file), *source, "--to", to) for to in (*PROVIDERS, "quire")),
    }


@pytest.mark.laws
@given(st.sampled_from(list(PROVIDERS)), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_no_file_is_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, wire: str, seed: int, whole: bool, guessed: bool
) -> None:
    payload: Any = HISTORIES[wire]
    if whole:
        payload = {HISTORY[wire]: payload, "model": "m", "tools": TOOLS}
    file = tmp_path_factory.mktemp("odd") / "history.json"
    try:
        file.write_text(json.dumps(changed(payload, seed)))
    except RecursionError:
        file.write_text("[" * 3_000 + "]" * 3_000)
    assert all_commands(file, wire, guessed) <= {0, 1, 2}


ODD: list[Any] = [
    [{"role": "user", "content": [{"type": [], "text": "q"}]}],
    [{"role": {}, "parts": [{"text": "q"}]}],
    [{"role": [], "content": "q"}],
    [{"type": {}, "role": "user", "content": "q"}],
    {"messages": [{"role": "user", "content": "q"}], "tools": [5]},
    {"messages": [{"role": "user", "content": "q"}], "tools": [{"name": ""}], "model": {}},
    {"messages": [{"role": "user", "content": "q \ud800"}]},
    [{"role": "assistant", "content": [{"type": "server_tool_use", "id": ["s"], "input": {}}]}],
]


@pytest.mark.parametrize("payload", ODD)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_odd_histories_are_refused_in_a_sentence(tmp_path: Path, payload: Any, wire: str) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(payload))
    assert all_commands(file, wire, guessed=True) <= {0, 1, 2}


def test_what_nests_too_deeply_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps([{"role": "user", "content": [{"type": "new", "x": deep(400)}]}]))
    assert ran("convert", str(file), "--from", "anthropic", "--to", "openai") == 2


def test_messages_of_a_user_interface_are_refused_with_the_way_to_convert_them(tmp_path: Path) -> None:
    from quire.cli.main import app

    file, parts = tmp_path / "history.json", [{"type": "text", "text": "hello"}]
    file.write_text(json.dumps([{"role": role, "id": "1", "parts": parts} for role in ("user", "assistant")]))
    fix, convert = ("check", "--fix", "--provider"), ("convert", "--to", "anthropic", "--from")
    for command in ((*fix, "openai", str(file)), (*convert, "openai", str(file))):
        result = testing.CliRunner().invoke(app, list(command))
        assert result.exit_code == 2
        assert "convert it with convertToModelMessages first (at $.messages[0].parts)" in result.output
    assert ran(*convert[:3], str(file)) == 2
