"""`quire program`: a task from a file, done by a program that a scripted model writes, shown as it goes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer import Exit

from quire import Message
from quire.cli.terminal import Terminal
from quire.programs import Event, Printed
from tests.cli.keeping import conversation_in

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

agent = Agent("Say it louder.", model=Scripted(["```python\\noutput = input.upper()\\n```"]), name="louder")
"""
A1_AGENT = """
from pydantic import BaseModel
from quire.bridges.a1 import Agent
from quire.models import Scripted

class Order(BaseModel):
    lamps: int

class Bill(BaseModel):
    total: int

agent = Agent(name="seller", input_schema=Order, output_schema=Bill)
model = Scripted(["```python\\noutput = {'total': lamps * 5}\\n```"])
"""
GIVEN = ("--input", "number=21", "--input", "why=007", "--candidates", "1")


def quire(*arguments: str, cwd: Path, given: str | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from quire.cli.door import main; main()", "program", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, cwd=cwd)


def written(folder: Path, text: str = TASK) -> str:
    path = folder / "twice.py"
    path.write_text(text)
    return str(path)


def test_attempts_checks_prices_calls_and_prints_are_shown_and_the_answer_is_json(tmp_path: Path) -> None:
    run = quire(written(tmp_path), *GIVEN, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "42\n")
    shown = run.stderr.splitlines()
    assert shown[0] == "attempt_a: round 1, 3 lines written"
    assert shown[1].startswith("attempt_a: names:") and "nmber" in shown[1]
    assert shown[3].startswith("attempt_a: passed the checks, about ") and shown[3].endswith(" 1 call")
    assert shown[4:] == [
        "attempt_a: runs",
        "  | so far",
        '· double {"number": 21}',
        "· double: 42",
        shown[-1],
    ]
    assert shown[-1] == "attempt_a: answered"


def test_a_folder_that_is_none_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "programs").write_text("no folder")
    run = quire(written(tmp_path), "--keep", "--candidates", "1", cwd=tmp_path)
    assert run.returncode == 2 and "cannot be kept" in run.stderr and "round 1" not in run.stderr


def test_a_program_that_there_is_no_place_for_is_used_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from quire.cli.program import program

    def refuse(path: Path, other: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    task, folder = written(tmp_path), str(tmp_path / "programs")
    program(task, keep=True, candidates=1, folder=folder)
    path = Path(json.loads(capsys.readouterr().out))
    path.unlink()
    path.mkdir()
    monkeypatch.setattr(Path, "rename", refuse)
    program(task, ["number=21", "why=so"], keep=True, candidates=1, folder=folder)
    said = capsys.readouterr()
    assert said.out == "42\n" and "in memory alone" in said.err
    with pytest.raises(Exit):
        program(task, keep=True, candidates=1, folder=folder)
    assert "could not be kept" in capsys.readouterr().err


def test_with_json_nothing_else_is_printed(tmp_path: Path) -> None:
    run = quire(written(tmp_path), *GIVEN, "--json", cwd=tmp_path)
    said = json.loads(run.stdout)
    assert run.stderr == "" and said["value"] == 42 and said["printed"] == "so far\n"
    assert [len(tried["faults"]) for tried in said["attempts"]] == [1]
    assert "await double(number)" in said["program"]


def test_what_is_given_may_be_a_file(tmp_path: Path) -> None:
    run = quire(
        *(written(tmp_path), "--input-json", "-", "--input", "number=4", "--candidates", "1"),
        cwd=tmp_path,
        given='{"number": 3, "why": "so"}',
    )
    assert (run.returncode, run.stdout) == (0, "8\n")


def test_where_no_program_answers_the_exit_status_is_1(tmp_path: Path) -> None:
    run = quire(written(tmp_path), *GIVEN, "--rounds", "1", cwd=tmp_path)
    assert run.returncode == 1 and run.stdout == ""
    assert "no program did 'twice'" in run.stderr and "\\n" not in run.stderr
    assert run.stderr.splitlines()[-1].startswith("  attempt_a: names")


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (TASK, ("--input", "nmber=1"), "nmber"),
        (TASK, ("--input", "number"), "name=value"),
        (TASK, ("--input-json", "missing.json"), "missing.json"),
        ("x = 1", (), "defines no `task`"),
        ("1 / 0", (), "ZeroDivisionError"),
        ("def", (), "SyntaxError"),
    ],
)
def test_mistakes_are_told_in_words(
    text: str, arguments: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    run = quire(written(tmp_path, text), *arguments, cwd=tmp_path)
    assert run.returncode == 2 and expected in run.stderr and "Traceback" not in run.stderr


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    run = quire("nowhere.py", cwd=tmp_path)
    assert run.returncode == 2 and "nowhere.py" in run.stderr and "Traceback" not in run.stderr


def test_a_kept_program_is_written_and_found_again(tmp_path: Path) -> None:
    first = quire(written(tmp_path), "--keep", "--candidates", "1", cwd=tmp_path)
    assert first.returncode == 0 and "quire program" in Path(tmp_path / json.loads(first.stdout)).read_text()
    again = quire(written(tmp_path), "--keep", *GIVEN, cwd=tmp_path)
    assert again.stdout == "42\n" and "no model is asked" in again.stderr.splitlines()[0]
    assert "round 1" not in again.stderr


def test_a_conversation_keeps_what_succeeded(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    run = quire(written(tmp_path), *GIVEN, "--store", store, "--conversation", "ana/sums", cwd=tmp_path)
    assert run.returncode == 0
    kept = conversation_in(store, "ana/sums")
    assert [item.text for item in kept if isinstance(item, Message)] == ['{"number": 21, "why": "007"}', "42"]
    assert len(kept) == 4


def test_an_agent_is_a_task_of_its_instructions(tmp_path: Path) -> None:
    run = quire(written(tmp_path, AGENT), "--input", "input=hello", "--candidates", "1", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, '"HELLO"\n')


def test_an_agent_of_a_bridge_is_its_task(tmp_path: Path) -> None:
    run = quire(written(tmp_path, A1_AGENT), "--input", "lamps=3", "--candidates", "1", cwd=tmp_path)
    assert (run.returncode, json.loads(run.stdout)) == (0, {"total": 15}), run.stderr


def test_what_is_printed_is_shown_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    from quire.cli.program_telling import Telling

    telling = Telling(Terminal())
    events: list[Event] = [Printed("attempt_a", text) for text in ("a", "b\nc", "d\n", "\x1b[2Je")]
    for event in events:
        telling(event)
    assert capsys.readouterr().err == "  | ab\n  | cd\n"
    telling.end_line()
    assert capsys.readouterr().err == "  | \\x1b[2Je\n"
