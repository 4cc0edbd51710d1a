"""Tools that a whole request needs and a list has no place for are neither written to it nor said to be."""

import json
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.testing import CliRunner

from quire.cli.main import app

USED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
}
UNANSWERED: list[dict[str, Any]] = [{"role": "user", "content": "Look."}, USED]
WHOLE = {"model": "claude-opus-5", "max_tokens": 9, "messages": UNANSWERED}
FIX = ("check", "-", "--provider", "anthropic", "--fix")
FIT = ("fit", "-", "--from", "anthropic", "--budget", "9000")


def ran(payload: Any, *command: str) -> tuple[Any, str]:
    run = CliRunner().invoke(app, command, input=json.dumps(payload))
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout), run.stderr


@pytest.mark.parametrize("command", [FIX, FIT])
def test_a_list_is_given_none_and_nothing_is_said_of_them(command: tuple[str, ...]) -> None:
    repaired, said = ran(UNANSWERED, *command)
    assert isinstance(repaired, list)
    assert "result_added" in said and "tools_added" not in said


@pytest.mark.parametrize("command", [FIX, FIT])
def test_a_payload_is_given_them_and_that_is_said(command: tuple[str, ...]) -> None:
    repaired, said = ran(WHOLE, *command)
    assert [tool["name"] for tool in repaired["tools"]] == ["look"]
    assert "tools_added" in said
