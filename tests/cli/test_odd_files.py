"""Whatever JSON is in a file: an exit status and a sentence, never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import HISTORY, PROVIDERS
from tests.cli.odd_values import HISTORIES, changed, deep

testing: Any = pytest.importorskip("typer.testing", reason="the command line needs the extra quire[cli]")
TOOLS: list[Any] = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]


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


def test_words_that_no_wire_has_there_are_not_lost_in_silence(tmp_path: Path) -> None:
    from quire.cli.main import app

    file, parts = tmp_path / "history.json", [{"type": "text", "text": "hello"}]
    file.write_text(json.dumps([{"role": role, "id": "1", "parts": parts} for role in ("user", "assistant")]))
    fix, convert = ("check", "--fix", "--provider"), ("convert", "--to", "anthropic", "--from")
    for command in ((*fix, "openai", str(file)), (*convert, "openai", str(file))):
        result = testing.CliRunner().invoke(app, list(command))
        assert result.exit_code == 2
        assert "it has no content; its words may be under 'parts' (at messages[0].content)" in result.output
    assert ran(*convert[:3], str(file)) == 2
