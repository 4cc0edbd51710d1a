"""Kept programs: found again after a restart without a model, and written anew where something changed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, run as run_tool, tool
from quire.errors import InvalidValue, OutOfRange
from quire.models import Scripted
from quire.programs import Event, Found, KeptProgram, NotKept, ProgramFailed, ProgramFault, SetAside, Task
from quire.stores import MemoryStore
from tests.programs.coding import ADDING, assert_whole, coder_of, heard, run, said, solving

FOUR = {"result": "4"}


async def kept_in(folder: Path, *programs: str, task: Task | None = None, **options: Any) -> KeptProgram:
    return await coder_of(*programs, kept=folder, **options).keep(task or solving())


def test_a_kept_program_is_a_tool_that_records_nothing() -> None:
    async def work() -> None:
        coder = coder_of(ADDING)
        kept = await coder.keep(solving())
        assert kept.path is None and kept.program.calls == ("calculator",)
        assert await kept(problem="What is 2+2?") == FOUR
        assert said(coder.session) == [] and coder.session.transcripts == ("main", "attempt_a")
        assert (await coder.keep(solving())).program == kept.program

    run(work)


def test_run_records_input_calls_and_answer() -> None:
    async def work() -> None:
        coder = coder_of(ADDING)
        kept = await coder.keep(solving())
        other = Session.open("bo/two", store=MemoryStore())
        assert await kept.run(session=other, problem="What is 2+2?") == FOUR
        kinds = [kind for kind, _ in said(other)]
        assert kinds == ["user", "call", "result", "assistant"] and said(coder.session) == []
        assert await kept.run(problem="?") == FOUR and len(said(coder.session)) == 4
        assert await kept.within(other, "main~2").run(problem="?") == FOUR
        assert len(said(other, "main~2")) == len(said(other)) == 4
        assert_whole(other)

    run(work)


def test_a_run_that_fails_leaves_main_as_it_was() -> None:
    async def work() -> None:
        kept = await coder_of("output = {'result': str(1 // len(problem))}").keep(solving())
        session = Session.open("bo/two", store=MemoryStore())
        with pytest.raises(ProgramFault, match="ZeroDivisionError"):
            await kept.run(session=session, problem="")
        assert said(session) == [] and "ZeroDivisionError" in said(session, "attempt_a")[-1][1]

    run(work)


def test_it_survives_a_restart_and_no_model_is_asked(tmp_path: Path) -> None:
    async def work() -> None:
        written = await kept_in(tmp_path, ADDING)
        events: list[Event] = []
        found = await coder_of(kept=tmp_path).keep(solving(), tell=events.append)
        assert found.program == written.program and found.version == written.version
        assert found.price == written.price and events == [Found(written.path)]
        assert await found(problem="What is 2+2?") == FOUR

    run(work)


def test_it_is_not_used_after_a_signature_changed(tmp_path: Path) -> None:
    @tool
    async def calculator(a: int, b: int, carry: int = 0) -> int:
        """Calculate with two numbers."""
        return a + b + carry

    other = solving(tools=[calculator])

    async def work() -> None:
        before = await kept_in(tmp_path, ADDING)
        with pytest.raises(OutOfRange):  # the model is asked, and has nothing to say
            await kept_in(tmp_path, task=other)
        after = await kept_in(tmp_path, "output = {'result': str(await calculator(2, 2))}", task=other)
        assert after.version != before.version and len(list(tmp_path.iterdir())) == 2
        assert (await kept_in(tmp_path)).program == before.program

    run(work)


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "Solve it well."},
        {"input": {"problem": str, "hint": str}},
        {"output": dict[str, str]},
        {"models": [Scripted([], name="other")]},
        {"tools": []},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_all_that_matters_is_part_of_the_version(changed: dict[str, Any]) -> None:
    assert solving(**changed).version != solving().version == solving().version


def test_another_model_has_a_program_of_its_own(tmp_path: Path) -> None:
    async def work() -> None:
        first = await kept_in(tmp_path, ADDING)
        coder = coder_of(kept=tmp_path)
        coder.model = Scripted([f"```\n{ADDING}\n```"], name="other")
        second = await coder.keep(solving())
        assert first.version != second.version and first.path != second.path

    run(work)


def test_the_file_can_be_read_and_edited(tmp_path: Path) -> None:
    async def work() -> None:
        kept = await kept_in(tmp_path, ADDING)
        assert kept.path is not None
        text = kept.path.read_text()
        for part in ("# name: solve", "# description: Solve a problem.", "# model: scripted", ADDING):
            assert part in text
        compile(text, "kept.py", "exec", flags=0x2000)  # await stands at the top level
        kept.path.write_text(text.replace("a=2", "a=40"))
        edited = await kept_in(tmp_path)
        assert await edited(problem="?") == {"result": "42"}

    run(work)


def test_an_edit_that_does_not_pass_is_set_aside_and_not_lost(tmp_path: Path) -> None:
    async def work() -> None:
        kept = await kept_in(tmp_path, ADDING)
        assert kept.path is not None
        kept.path.write_text(kept.path.read_text() + "\nsubtract(1)\n")
        events: list[Event] = []
        again = await coder_of(ADDING, kept=tmp_path).keep(solving(), tell=events.append)
        assert heard(events)[0] == "SetAside" and again.path == kept.path
        assert "subtract(1)" in kept.path.with_suffix(".py.1").read_text()
        assert "subtract(1)" not in kept.path.read_text()

    run(work)


DAMAGES: dict[str, Callable[[str], bytes]] = {
    "no text": lambda _: b"\xff\xfe",
    "empty": lambda _: b"",
    "foreign": lambda _: b"import os\n",
    "another version": lambda text: text.replace("# version: ", "# version: 1").encode(),
    "no code": lambda text: text.partition("\n\n")[0].encode(),
    "no price": lambda text: text.replace(" USD", "x USD").encode(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_or_foreign_is_reported_and_written_anew(
    tmp_path: Path, damage: Callable[[str], bytes]
) -> None:
    async def work() -> None:
        kept = await kept_in(tmp_path, ADDING)
        assert kept.path is not None
        found = damage(kept.path.read_text())
        kept.path.write_bytes(found)
        events: list[Event] = []
        again = await coder_of(ADDING, kept=tmp_path).keep(solving(), tell=events.append)
        assert isinstance(events[0], SetAside) and events[0].path == kept.path
        assert kept.path.with_suffix(".py.1").read_bytes() == found
        assert await again(problem="?") == FOUR and (await kept_in(tmp_path)).program == kept.program

    run(work)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_who_may_read_it_is_what_the_umask_says(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        run(lambda: _kept_readable(tmp_path, 0o666 & ~mask))
    finally:
        os.umask(before)


async def _kept_readable(folder: Path, mode: int) -> None:
    kept = await kept_in(folder, ADDING)
    assert kept.path is not None and kept.path.stat().st_mode & 0o777 == mode
    assert list(folder.iterdir()) == [kept.path]


def test_a_file_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    async def work() -> None:
        path = await _unreadable(tmp_path)
        events: list[Event] = []
        again = await coder_of(ADDING, kept=tmp_path).keep(solving(), tell=events.append)
        assert isinstance(events[0], SetAside) and "cannot be read" in events[0].why
        assert again.path == path and path.with_suffix(".py.1").is_dir()

    run(work)


def test_one_that_cannot_be_set_aside_either_leaves_the_program_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, other: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    async def work() -> None:
        path = await _unreadable(tmp_path)
        monkeypatch.setattr(Path, "rename", refuse)
        coder, events = coder_of(ADDING, kept=tmp_path), list[Event]()
        again = await coder.keep(solving(), tell=events.append)
        assert isinstance(events[0], NotKept) and events[0].path == path
        assert again.path is None and await again(problem="?") == FOUR and path.is_dir()
        assert (await coder.keep(solving())).program == again.program

    run(work)


async def _unreadable(folder: Path) -> Path:
    """The place of a kept program, with what nobody can read there, whatever they may."""
    kept = await kept_in(folder, ADDING)
    assert kept.path is not None
    kept.path.unlink()
    kept.path.mkdir()
    return kept.path


def test_where_no_program_passes_nothing_is_kept(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFailed, match="attempt_a"):
            await kept_in(tmp_path / "programs", "output = anser", rounds=1)
        assert not (tmp_path / "programs").exists()

    run(work)


def test_an_agent_uses_it_as_any_tool() -> None:
    async def work() -> None:
        kept = await coder_of(ADDING).keep(solving())
        model = Scripted([ToolCall("call_1", "solve", '{"problem": "2+2"}'), "It is 4."])
        session = Session.open("bo/two", store=MemoryStore())
        await Agent(session, model=model, tools=[kept]).ask("What is 2+2?")
        assert said(session) == [
            ("user", "What is 2+2?"),
            ("call", 'solve {"problem": "2+2"}'),
            ("result", '{"result": "4"}'),
            ("assistant", "It is 4."),
        ]
        assert kept.definition["parameters"]["required"] == ["problem"]
        outcome = await run_tool(kept, '{"problm": "2+2"}')
        assert outcome.is_error and "problem" in str(outcome.content)
        with pytest.raises(InvalidValue, match="problem"):
            await kept(problm="2+2")

    run(work)


def test_another_program_calls_it_as_any_tool() -> None:
    async def work() -> None:
        kept = await coder_of(ADDING).keep(solving())
        coder = coder_of("r = await solve(problem='2+2')\noutput = 'It is ' + r['result']")
        task = Task("tell", input={"problem": str}, tools=[kept])
        assert (await coder.answer(task, problem="?")).value == "It is 4"

    run(work)
