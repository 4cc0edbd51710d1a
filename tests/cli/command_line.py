"""The command line as a function, conversations in files and in stores, and a chat without a terminal."""

import io
import json
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.testing import CliRunner, Result

from quire import Budget, Template
from quire.agent import Tool
from quire.cli.chat import converse
from quire.cli.main import app
from quire.items import Item, Message, Note, Span, Summary
from quire.models import Scripted
from quire.sections import History
from quire.session import Session
from quire.stores import Store

PATIENCE = 120
ENDINGS = ("db", "jsonl")
KEY = bytes(range(32))
NASTY = "How did Q3 go? \x1b[31m\x9b2J\u202e[bold]:smile:"
UNSAFE = ("\x1b", "\x9b", "\u202e")
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}},
}
ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-5.6",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Quite well."}}
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32},
}


def run(*arguments: str, given: Any = None) -> Result:
    """Run a command with standard input."""
    text = given if isinstance(given, str) or given is None else json.dumps(given)
    return CliRunner().invoke(app, [*arguments], input=text)


def ran(*arguments: str, given: Any = None) -> Result:
    done = run(*arguments, given=given)
    assert done.exit_code == 0, done.output
    return done


def ran_json(*arguments: str, given: Any = None) -> Any:
    return json.loads(ran(*arguments, "--json", given=given).stdout)


def refused(status: int, *arguments: str, given: Any = None) -> str:
    """The error of a command that fails with a status, and prints no traceback."""
    done = run(*arguments, given=given)
    assert done.exit_code == status, done.output
    assert isinstance(done.exception, SystemExit) and done.stdout == ""
    return done.stderr


def started(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """The command line as a process that hears interrupts."""
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-u", "-c", heard + "from quire.cli import main; main()", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})


@contextmanager
def killed_at_last(process: "subprocess.Popen[str]") -> "Generator[subprocess.Popen[str]]":
    """Kill a process in the end, or when it is waited for in vain."""
    ending = threading.Timer(PATIENCE, process.kill)
    ending.start()
    try:
        yield process
    finally:
        ending.cancel()
        process.kill()
        process.communicate()


def written(path: Path, value: Any) -> str:
    """A file with a text, or with JSON."""
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def lines(values: Sequence[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def conversation(turns: int = 20) -> list[dict[str, Any]]:
    """Instructions, and turns of a question, a call, its long result and an answer."""
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


def seeded(path: Path, address: str = "ana/q3", key: bytes | None = None) -> str:
    """A store with two questions, an answer, a request, a note and a summary; its path."""
    with Store.open(path, key=key) as store:
        session = Session.open(address, store=store)
        session.append(Message("system", "Be brief."))
        asked = session.user(NASTY)
        template = Template(History(), budget=Budget(window=8_000), model="gpt-5.6")
        context = session.build(template)
        context.render("openai")
        context.sent()
        session.record(ANSWER)
        session.pool.keep(Note({"margin": 4}, key="report", description="the figures"))
        session.user("And Q4?")
        session.append(Summary("They spoke of Q3.", (Span(asked.id, asked.id),)))
    return str(path)


def view_of(path: str | Path, address: str = "ana/q3", key: bytes | None = None) -> list[Any]:
    with Store.open(path, key=key) as store:
        return list(Session.open(address, store=store).view())


def nothing_installed(name: str) -> None:
    """Looks for a package and finds none."""


class Talked(NamedTuple):
    """What a chat printed, its model, and whether something failed."""

    out: str
    err: str
    model: Scripted
    has_failed: bool


class Chatting:
    """A store, and a chat in it whose lines come from a pipe and whose model is scripted."""

    address = "ana/chat"

    def __init__(self, path: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self._patch, self._capsys = path, patch, capsys

    def talk(self, *typed: str, replies: Any = (), tools: Sequence[Tool] = ()) -> Talked:
        """Type some lines, then end the input."""
        self._patch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        model = Scripted(replies)
        with Store.open(self.path) as store:
            failed = converse(store, self.address, model, "Be brief.", list(tools))
        shown = self._capsys.readouterr()
        return Talked(shown.out, shown.err, model, failed)

    def items(self, address: str | None = None) -> list[Item]:
        return view_of(self.path, address or self.address)
