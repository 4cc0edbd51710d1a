"""What is read from files and written to them, and clear words where that is not possible."""

import json
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.testing import CliRunner

from quire.cli.main import app

HELLO = '[{"role": "user", "content": "hi"}]'
FIX = ["check", "-", "--provider", "openai", "--fix"]


def refused(arguments: list[str], given: str) -> str:
    run = CliRunner().invoke(app, arguments, input=given)
    assert run.exit_code == 2, run.output
    assert isinstance(run.exception, SystemExit)  # and nothing that would be a traceback
    return run.stderr


@pytest.mark.parametrize("command", [FIX, ["convert", "-", "--to", "anthropic"]])
def test_a_place_that_cannot_be_written_is_a_clear_error(command: list[str], tmp_path: Path) -> None:
    said = refused([*command, "-o", str(tmp_path / "none" / "x.json")], HELLO)
    assert "cannot be written: No such file" in said


@pytest.mark.parametrize("command", [FIX, ["convert", "-", "--to", "quire"], ["tokens", "-"]])
def test_what_is_nested_too_deeply_is_a_clear_error(command: list[str]) -> None:
    assert "nested too deeply" in refused(command, "[" * 100_000)


def test_lines_end_at_line_feeds_only() -> None:
    given = '{"role": "user", "content": "a\u2028b\u0085c"}\r\n{"role": "assistant", "content": "d"}\n'
    run = CliRunner().invoke(app, FIX, input=given)
    assert run.exit_code == 0, run.output
    lines = run.stdout.removesuffix("\n").split("\n")
    assert [json.loads(line)["content"] for line in lines] == ["a\u2028b\u0085c", "d"]


@pytest.mark.parametrize("half", ["\ud800", "\udfff"])
def test_half_a_pair_is_read_and_replaced(half: str) -> None:
    message = json.dumps({"role": "user", "content": f"a{half}b\U0001f600"})
    for given in (f"[{message}]", f"{message}\n{message}\n"):
        run = CliRunner().invoke(app, FIX, input=given)
        assert run.exit_code == 0, run.output
        first = json.loads(run.stdout)[0] if given[0] == "[" else json.loads(run.stdout.split("\n")[0])
        assert first["content"] == "a\ufffdb\U0001f600"


def test_half_a_pair_does_not_make_json_of_what_is_none() -> None:
    assert "not JSON" in refused(FIX, '[{"role": "user", "content": "\\ud800", "x": NaN}]')
    assert "not JSON" in refused(FIX, '[{"role": "user", "content": "\\ud800"')


@pytest.mark.parametrize(
    ("command", "given"),
    [
        (["tokens", "-"], "[]"),
        (FIX, '{"messages": []}'),
        (["convert", "-", "--to", "quire"], f"{HELLO}\n[]\n"),
    ],
)
def test_no_messages_at_all_is_an_error(command: list[str], given: str) -> None:
    said = refused(command, given)
    assert "no messages were found; is the format right?" in said
    assert ("line 2" in said) == ("\n" in given)


def test_a_wrong_format_is_an_error() -> None:
    assert refused(["convert", "-", "--from", "gemini", "--to", "openai"], HELLO)


MESSAGE = {"role": "user", "content": "hi"}
REQUEST = {"model": "gpt-5.6", "messages": [MESSAGE]}
ENVELOPES = {
    "body": {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": REQUEST},
    "params": {"custom_id": "r1", "params": REQUEST},
    "request": {"key": "r1", "request": {"contents": [{"parts": [{"text": "hi"}]}]}},
    "message": {"type": "user", "message": MESSAGE, "uuid": "a"},
    "payload": {"type": "response_item", "timestamp": "a", "payload": MESSAGE},
}


@pytest.mark.parametrize("command", [["check", "--provider", "openai"], FIX[:1] + FIX[2:], ["tokens"]])
@pytest.mark.parametrize("field", ENVELOPES)
def test_what_holds_a_history_and_is_none_is_said_once(
    command: list[str], field: str, tmp_path: Path
) -> None:
    one, other = json.dumps(ENVELOPES[field]), json.dumps({"type": "summary", "summary": "hi"})
    for number, lines in enumerate(([one], [one, one], [other, one])):
        file = tmp_path / f"{number}.jsonl"
        file.write_text("\n".join(lines))
        said = refused([*command, str(file)], "")
        assert f"that is under '{field}'" in said.replace("\n", " ")
    assert "it is not a message" in refused([*command, "-"], one)


def test_a_message_may_have_a_field_that_holds_another(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text("\n".join(json.dumps({**MESSAGE, "message": MESSAGE}) for _ in range(2)))
    run = CliRunner().invoke(app, ["check", str(file), "--provider", "openai"])
    assert "under" not in run.output
