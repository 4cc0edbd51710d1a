"""`quire program`: a task from a file, done by a program that a scripted model writes, shown as it goes."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire import Message, ToolCall
from quire.cli.program import Watching
from quire.programs import Event, Printed
from tests.cli.command_line import ran, refused, run, view_of, written

TASK = '''
from quire import tool
from quire.models import Scripted
from quire.programs import Task

@tool
async def double(number: int) -> int:
    """Double a number."""
    return 2 * number

task = Task("twice", "Double it.", input={"number": int, "why": str}, output=int, tools=[double])
model = Scripted([
    "```python\\noutput = nmber\\n```",
    "```python\\nprint('so far')\\noutput = await double(number)\\n```",
])
'''
AGENT = """
from quire import Agent
from quire.models import Scripted

model = Scripted(["```python\\noutput = input.upper()\\n```"])
agent = Agent(instructions="Say it louder.", model=model, name="louder")
"""
GIVEN = ("--input", "number=21", "--input", "why=12", "--candidates", "1")


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("QUIRE_STORE", "QUIRE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def task(tmp_path: Path) -> str:
    return written(tmp_path / "twice.py", TASK)


def test_attempts_checks_prices_calls_and_prints_are_shown_and_the_answer_is_json(task: str) -> None:
    done = ran("program", task, *GIVEN)
    assert done.stdout == "42\n"
    shown = done.stderr.splitlines()
    assert shown[0] == "attempt_a: round 1, 3 lines written"
    assert shown[1].startswith("attempt_a: names:") and "nmber" in shown[1]
    assert shown[3].startswith("attempt_a: passed the checks, about ") and shown[3].endswith(" 1 call")
    calls = ['· double {"number": 21}', "· double: 42"]
    assert shown[4:] == ["attempt_a: runs", "  | so far", *calls, "attempt_a: answered"]


def test_with_json_nothing_else_is_printed(task: str) -> None:
    done = ran("program", task, *GIVEN, "--json")
    answer = json.loads(done.stdout)
    assert done.stderr == "" and answer["value"] == 42 and answer["printed"] == "so far\n"
    assert [len(tried["faults"]) for tried in answer["attempts"]] == [1]
    assert "await double(number)" in answer["program"]


def test_the_input_may_be_a_file(task: str) -> None:
    asked = ("--input-json", "-", "--input", "number=4", "--candidates", "1")
    assert ran("program", task, *asked, given={"number": 3, "why": "so"}).stdout == "8\n"


def test_where_no_program_answers_the_exit_status_is_1(task: str) -> None:
    done = run("program", task, *GIVEN, "--rounds", "1")
    assert done.exit_code == 1 and done.stdout == ""
    assert "no program did 'twice'" in done.stderr and "\\n" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("  attempt_a: names")


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (TASK, ("--input", "nmber=1"), "nmber"),
        (TASK, ("--input", "number"), "name=value"),
        (TASK, ("--input-json", "missing.json"), "missing.json"),
        ("x = 1", (), "defines no `task`"),
        ("1 / 0", (), "ZeroDivisionError"),
        ("def", (), "SyntaxError"),
    ],
)
def test_mistakes_are_errors(text: str, arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    assert says in refused(2, "program", written(tmp_path / "t.py", text), *arguments)
    assert "nowhere.py" in refused(2, "program", "nowhere.py")


def test_a_program_is_kept_and_found_again(task: str, tmp_path: Path) -> None:
    first = ran("program", task, "--keep", "--candidates", "1")
    assert "quire program" in (tmp_path / json.loads(first.stdout)).read_text()
    again = ran("program", task, "--keep", *GIVEN)
    assert again.stdout == "42\n" and "no model is asked" in again.stderr.splitlines()[0]
    written(tmp_path / "none", "no folder")
    reported = refused(2, "program", task, "--keep", "--folder", "none")
    assert "cannot be kept" in reported and "round 1" not in reported


def test_a_conversation_keeps_what_succeeded(task: str, tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    ran("program", task, *GIVEN, "--store", store, "--conversation", "ana/sums")
    kept = view_of(store, "ana/sums")
    said = [item.text for item in kept if isinstance(item, Message)]
    assert said == ['{"number": 21, "why": "12"}', "42"] and len(kept) == 4


def test_an_agent_is_a_task_too(tmp_path: Path) -> None:
    louder = written(tmp_path / "louder.py", AGENT)
    assert ran("program", louder, "--input", "input=hello", "--candidates", "1").stdout == '"HELLO"\n'


def test_printed_text_is_shown_line_by_line_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watching(is_silent=False)
    events: list[Event] = [Printed("attempt_a", text) for text in ("a", "b\nc", "d\n", "\x1b[2Je")]
    for event in events:
        watching(event)
    assert capsys.readouterr().err == "  | ab\n  | cd\n"
    watching.end_line()
    assert capsys.readouterr().err == "  | \\x1b[2Je\n"


class Person(io.StringIO):
    """Standard input at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "verdict"), [("yes", True), (" No ", False), ("it is mine", "it is mine")])
def test_a_person_approves_calls_and_without_one_none_is_approved(
    typed: str, verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting = ToolCall("call_1", "delete", '{"path": "a"}')
    assert isinstance(asyncio.run(Watching(is_silent=False).approve(deleting)), str)
    monkeypatch.setattr("sys.stdin", Person())

    def type_line(_prompt: str) -> str:
        return typed

    monkeypatch.setattr("builtins.input", type_line)
    assert asyncio.run(Watching(is_silent=False).approve(deleting)) == verdict
