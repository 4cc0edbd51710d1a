"""The command line, as a person meets it: `quire check`, `convert` and `tokens`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from tests.cli.conversing import run as quire

QUESTION = {"role": "user", "content": "How is the weather?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q":"x"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
GOOD = [QUESTION, CALLED, RESULT]
BAD = [QUESTION, RESULT]


def process(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from quire.cli.door import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def written(folder: Path, value: Any, name: str = "history.json") -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_a_good_history_has_no_fault(tmp_path: Path) -> None:
    run = process("check", written(tmp_path, GOOD), "--provider", "openai")
    assert (run.returncode, run.stdout, run.stderr) == (0, "no fault\n", "")


def test_a_bad_one_has_a_readable_list_and_exit_status_1(tmp_path: Path) -> None:
    run = process("check", written(tmp_path, {"messages": BAD}), "--provider", "openai")
    assert run.returncode == 1
    assert "messages[1]" in run.stdout and "orphan_result" in run.stdout
    assert run.stdout.endswith("1 fault\n")


def test_a_repaired_history_and_its_faults_are_apart(tmp_path: Path) -> None:
    asked = ("check", written(tmp_path, BAD), "--provider", "openai", "--fix", "--json")
    run = quire(*asked)
    (fault,) = json.loads(run.stderr[: run.stderr.rindex("]") + 1])
    repaired = tmp_path / "repaired.json"
    other = quire(*asked, "--output", str(repaired))
    assert json.loads(other.stdout) == [fault]
    assert json.loads(run.stdout) == json.loads(repaired.read_text())


def test_faults_as_json(tmp_path: Path) -> None:
    run = quire("check", written(tmp_path, BAD), "--provider", "openai", "--json")
    (fault,) = json.loads(run.stdout)
    assert fault["rule"] == "orphan_result"
    assert run.exit_code == 1


def test_lines_may_be_messages_of_one_history_or_a_history_each(tmp_path: Path) -> None:
    as_messages = written(tmp_path, "\n".join(map(json.dumps, GOOD)), "messages.jsonl")
    assert quire("check", as_messages, "--provider", "openai").stdout == "no fault\n"
    many = written(tmp_path, "\n".join(map(json.dumps, [GOOD, BAD, {"messages": BAD}])), "many.jsonl")
    run = quire("check", many, "--provider", "openai")
    assert "line 2" in run.stdout and "line 3" in run.stdout and "line 1" not in run.stdout
    assert run.stdout.endswith("2 faults in 3 histories\n")


def test_standard_input_and_a_repaired_history_on_standard_output() -> None:
    run = quire("check", "-", "--provider", "openai", "--fix", given=json.dumps([QUESTION, CALLED, QUESTION]))
    assert run.exit_code == 0
    repaired = json.loads(run.stdout)
    assert [message["role"] for message in repaired] == ["user", "assistant", "tool", "user"]
    assert "unanswered_call" in run.stderr and "result_added" in run.stderr
    again = quire("check", "-", "--provider", "openai", given=run.stdout)
    assert again.exit_code == 0


def test_a_repaired_payload_keeps_its_other_fields(tmp_path: Path) -> None:
    target = tmp_path / "fixed.json"
    payload = {"model": "gpt-4o", "temperature": 0.5, "messages": BAD}
    run = quire("check", written(tmp_path, payload), "--provider", "openai", "--fix", "--output", str(target))
    fixed = json.loads(target.read_text())
    assert (run.exit_code, fixed["temperature"], len(fixed["messages"])) == (0, 0.5, 1)


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic", "gemini"])
def test_there_and_back_again(wire: str, tmp_path: Path) -> None:
    there = tmp_path / "there.json"
    run = quire("convert", written(tmp_path, GOOD), "--from", "openai", "--to", wire, "-o", str(there))
    assert run.exit_code == 0, run.stderr
    assert quire("check", str(there), "--provider", wire).exit_code == 0
    back = quire("convert", str(there), "--to", "openai")  # the format is guessed
    assert json.loads(back.stdout)["messages"] == GOOD


def test_to_items_and_back(tmp_path: Path) -> None:
    items = quire("convert", written(tmp_path, GOOD), "--to", "quire")
    assert [item["kind"] for item in json.loads(items.stdout)] == ["message", "tool_call", "tool_result"]
    back = quire("convert", "-", "--from", "quire", "--to", "openai", given=items.stdout)
    assert json.loads(back.stdout)["messages"] == GOOD


def test_what_a_format_cannot_carry_is_said(tmp_path: Path) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    history = written(tmp_path, [{"role": "user", "content": [audio]}])
    run = quire("convert", history, "--from", "openai", "--to", "anthropic")
    assert run.exit_code == 0
    assert "media_as_text" in run.stderr


def test_tokens_by_kind_and_in_all(tmp_path: Path) -> None:
    history = written(tmp_path, GOOD)
    shown = quire("tokens", history, "--model", "gpt-4o")
    assert "user message" in shown.stdout and "tool result" in shown.stdout
    counted = json.loads(quire("tokens", history, "--model", "gpt-4o", "--json").stdout)
    assert counted["tokens"] == sum(tokens for _, tokens in counted["kinds"].values()) + 3
    assert counted["kinds"]["tool call"][0] == 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "nothing in it"),
        ("{", "not JSON"),
        ('{"role": "user"}\n{', "line 2"),
        ("5", "list of messages"),
        ('[]\n{"role": "user"}', "not both"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_history_is_a_clear_error(value: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(value.encode("utf-8", "surrogateescape"))
    run = quire("check", str(path), "--provider", "openai")
    assert run.exit_code == 2
    assert says in run.stderr and "Traceback" not in run.stderr


def test_a_missing_file_and_an_unknown_provider_are_clear_errors(tmp_path: Path) -> None:
    missing = quire("check", str(tmp_path / "none.json"), "--provider", "openai")
    assert (missing.exit_code, "cannot be read" in missing.stderr) == (2, True)
    unknown = quire("check", written(tmp_path, GOOD), "--provider", "claude")
    assert unknown.exit_code == 2
    assert "there are openai, openai-responses, anthropic, gemini" in unknown.stderr


def test_a_history_that_cannot_be_read_says_where(tmp_path: Path) -> None:
    run = quire(
        "convert", written(tmp_path, [{"role": "user", "content": 5}]), "--from", "openai", "--to", "gemini"
    )
    assert run.exit_code == 2
    assert "[0]" in run.stderr and "Traceback" not in run.stderr


def test_tokens_are_those_of_the_model_that_a_payload_names() -> None:
    payload = {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": "hello there " * 40}]}

    def told(*options: str) -> dict[str, Any]:
        run = quire("tokens", "-", "--json", *options, given=json.dumps(payload))
        assert run.exit_code == 0, run.stderr
        found: dict[str, Any] = json.loads(run.stdout)
        return found

    assert told()["model"] == "claude-opus-4-8"
    assert told()["tokens"] == told("--model", "claude-opus-4-8")["tokens"]
    assert told("--model", "gpt-5.6")["model"] == "gpt-5.6"
