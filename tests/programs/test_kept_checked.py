"""Kept programs under other checks, and for who runs them: one that is found is checked by those in force."""

from pathlib import Path

import pytest

from quire.programs import Event, Found, KeptProgram, Program, ProgramFailed, ProgramFault, SetAside, Task
from quire.programs.check import check
from quire.programs.sandbox import Sandbox, shared_sandbox
from tests.programs.coding import ADDING, coder_of, heard, run, solving

LOOPING = "t = 0\nfor n in range(5):\n    t = n\noutput = {'result': str(t)}"
PLAIN = "output = {'result': '4'}"


async def without_loops(code: str, task: Task) -> Program:
    if "for " in code:
        raise ProgramFault("answer", "no loops, please")
    return await check(code, task, shared_sandbox())


async def never(code: str, task: Task) -> Program:
    raise ProgramFault("answer", "the policy says no")


class Another(Sandbox):
    """Who else runs programs; what these take, others may not."""


def test_one_that_the_checks_in_force_refuse_is_set_aside_and_another_written(tmp_path: Path) -> None:
    async def work() -> None:
        before = await coder_of(LOOPING, kept=tmp_path).keep(solving())
        events: list[Event] = []
        coder = coder_of(PLAIN, kept=tmp_path, check=without_loops)
        after = await coder.keep(solving(), tell=events.append)
        assert heard(events)[:2] == ["SetAside", "Written"] and after.program.code == PLAIN
        assert isinstance(events[0], SetAside) and "no loops, please" in events[0].why
        assert "edited" not in events[0].why
        assert before.path is not None and before.path.with_suffix(".py.1").exists()
        again = await coder_of(kept=tmp_path, check=without_loops).keep(solving(), tell=events.append)
        assert again.program == after.program and events[-1] == Found(after.path)

    run(work)


def test_where_all_are_refused_none_is_used(tmp_path: Path) -> None:
    async def work() -> None:
        await coder_of(ADDING, kept=tmp_path).keep(solving())
        with pytest.raises(ProgramFailed, match="the policy says no"):
            await coder_of(ADDING, kept=tmp_path, check=never, rounds=1).keep(solving())

    run(work)


def test_where_there_is_no_room_for_the_checks_nothing_is_set_aside(tmp_path: Path) -> None:
    async def crowded(code: str, task: Task) -> Program:
        raise ProgramFault("limit", "it waited for a place, and none was free")

    async def work() -> None:
        before = await coder_of(ADDING, kept=tmp_path).keep(solving())
        with pytest.raises(ProgramFault, match="none was free"):
            await coder_of(PLAIN, kept=tmp_path, check=crowded).keep(solving())
        assert (await coder_of(kept=tmp_path).keep(solving())).program == before.program

    run(work)


def test_one_that_is_kept_in_memory_is_checked_too() -> None:
    refused: list[str] = []

    async def check(code: str, task: Task) -> Program:
        if code in refused:
            raise ProgramFault("answer", "not any more")
        return await without_loops(code, task)

    async def work() -> None:
        coder = coder_of(ADDING, PLAIN, check=check)
        assert (await coder.keep(solving())).program.code == ADDING
        refused.append(ADDING)
        assert (await coder.keep(solving())).program.code == PLAIN
        assert (await coder.keep(solving())).program.code == PLAIN

    run(work)


def test_who_runs_a_program_is_part_of_what_it_is_kept_by(tmp_path: Path) -> None:
    async def kept(*programs: str, sandbox: Sandbox | None = None) -> KeptProgram:
        return await coder_of(*programs, kept=tmp_path, sandbox=sandbox).keep(solving())

    async def work() -> None:
        theirs = await kept(LOOPING, sandbox=Another())
        ours = await kept(PLAIN)
        assert theirs.version != ours.version and ours.program.code == PLAIN
        assert (await kept(sandbox=Another())).program == theirs.program
        assert (await kept(sandbox=Sandbox(workers=1))).program == ours.program, "it is the same sandbox"

    run(work)
