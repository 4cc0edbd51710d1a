"""A conversation to fit and to replay, and the command line as a function."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from quire.cli.main import app

TOOL = {
    "type": "function",
    "function": {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}},
}


def conversation(turns: int = 20) -> list[dict[str, Any]]:
    """Instructions, and turns of a question, a call, its bulky result and an answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief and exact."}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": f"Question {turn}: what is it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"secret-{turn} " + "many words " * 40},
            {"role": "assistant", "content": f"Answer {turn}: it is so."},
        ]
    return [*messages, {"role": "user", "content": "And the last question?"}]


def run(*arguments: str, given: Any = None) -> Result:
    """The command line on standard input."""
    text = given if isinstance(given, str) or given is None else json.dumps(given)
    return CliRunner().invoke(app, [*arguments], input=text)


def ran(*arguments: str, given: Any = None) -> Result:
    """The same, where nothing goes wrong."""
    done = run(*arguments, given=given)
    assert done.exit_code == 0, done.output
    return done


def refused(status: int, *arguments: str, given: Any = None) -> str:
    """What is said on standard error where it does."""
    done = run(*arguments, given=given)
    assert done.exit_code == status, done.output
    assert isinstance(done.exception, SystemExit)  # and nothing that would be a traceback
    assert done.stdout == ""
    return done.stderr


def lines(histories: list[Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(history) + "\n" for history in histories)


def read(path: Path) -> Any:
    """JSON from a file."""
    return json.loads(path.read_text())
