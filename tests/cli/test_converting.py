"""`quire convert` says what it does not write, and keeps to lines where it was given lines."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.testing import CliRunner

from quire.cli.formats import forbids_calls, tools_of
from quire.cli.main import app
from quire.providers import check

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
WHOLE: dict[str, Any] = {
    "model": "gpt-5.6",
    "temperature": 0.2,
    "top_p": None,
    "tool_choice": "auto",
    "messages": [USER],
    "tools": [TOOL],
}


def converted(given: str, *options: str) -> tuple[str, str]:
    run = CliRunner().invoke(app, ["convert", "-", *options], input=given)
    assert run.exit_code == 0, run.output
    return run.stdout, run.stderr


def test_settings_that_are_not_written_are_said() -> None:
    written, said = converted(json.dumps(WHOLE), "--to", "anthropic")
    assert set(json.loads(written)) == {"messages", "tools"}
    assert "not written: model, temperature, tool_choice\n" in said


def test_those_in_a_config_are_said_with_their_place() -> None:
    config: dict[str, Any] = {
        "system_instruction": "S",
        "temperature": 0,
        "seed": 1,
        "tools": [{"googleSearch": {}}],
    }
    payload: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "config": config}
    _, said = converted(json.dumps(payload), "--to", "openai")
    assert "not written: config.temperature, config.seed\n" in said


def test_items_alone_have_no_tools() -> None:
    written, said = converted(json.dumps(WHOLE), "--to", "quire")
    assert [item["kind"] for item in json.loads(written)] == ["message"]
    assert "not written: model, temperature, tool_choice, tools\n" in said


@pytest.mark.parametrize("payload", [[USER], {"messages": [USER]}, {"messages": [USER], "seed": None}])
def test_where_all_is_written_nothing_is_said(payload: Any) -> None:
    assert converted(json.dumps(payload), "--to", "gemini")[1] == ""


def test_of_histories_on_lines_each_is_said() -> None:
    lines = "\n".join(map(json.dumps, [{"messages": [USER]}, WHOLE]))
    written, said = converted(lines, "--to", "anthropic")
    assert len(written.splitlines()) == 2
    assert said.startswith("line 2: not written: model")


@pytest.mark.parametrize("to", ["anthropic", "openai-responses"])
def test_messages_on_lines_become_a_payload_on_a_line(to: str) -> None:
    written, _ = converted("\n".join(map(json.dumps, [USER, USER])), "--to", to)
    (line,) = written.splitlines()
    assert isinstance(json.loads(line), dict)


def test_messages_on_lines_become_items_on_lines() -> None:
    written, _ = converted("\n".join(map(json.dumps, [USER, USER])), "--to", "quire")
    assert [json.loads(line)["kind"] for line in written.splitlines()] == ["message", "message"]
    again, _ = converted(written, "--to", "openai")
    assert json.loads(again)["messages"] == [USER, USER]


@pytest.mark.parametrize("value", [WHOLE, [USER], USER])
def test_a_file_of_lines_may_have_a_single_one(tmp_path: Path, value: Any) -> None:
    source, target = tmp_path / "one.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps(value) + "\n")
    run = CliRunner().invoke(app, ["convert", str(source), "--to", "anthropic", "-o", str(target)])
    assert run.exit_code == 0
    (line,) = target.read_text().splitlines()
    assert len(json.loads(line)["messages"]) == 1


def test_json_under_the_name_of_lines_stays_json(tmp_path: Path) -> None:
    source = tmp_path / "one.jsonl"
    source.write_text(json.dumps(WHOLE, indent=2))
    run = CliRunner().invoke(app, ["convert", str(source), "--to", "anthropic"])
    assert run.exit_code == 0 and len(run.stdout.splitlines()) > 1


FORBIDDEN: dict[str, dict[str, Any]] = {
    "openai": {**WHOLE, "tool_choice": "none"},
    "anthropic": {
        "messages": [USER],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "none"},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
    },
}


@pytest.mark.parametrize("source", FORBIDDEN)
@pytest.mark.parametrize("to", ["openai", "openai-responses", "anthropic", "gemini"])
def test_tools_that_must_not_be_called_must_not_be_called_elsewhere(source: str, to: str) -> None:
    written, said = converted(json.dumps(FORBIDDEN[source]), "--from", source, "--to", to)
    payload = json.loads(written)
    assert tools_of(payload) and forbids_calls(payload)
    assert check(payload, to) == []
    assert "tool_choice" not in said and "oolConfig" not in said


def test_tools_that_may_be_called_may_be_called_elsewhere() -> None:
    written, _ = converted(json.dumps({**WHOLE, "tool_choice": "auto"}), "--to", "gemini")
    assert not forbids_calls(json.loads(written))


def test_stand_ins_stay_stand_ins() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
    there, _ = converted(json.dumps(history), "--to", "anthropic")
    back = json.loads(converted(there, "--from", "anthropic", "--to", "openai")[0])
    assert back["tool_choice"] == "none" and len(back["tools"]) == 1
