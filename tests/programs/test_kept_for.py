"""What kept programs are kept for: the order of what tools take too, and as long as they work themselves."""

from pathlib import Path
from typing import Any

import pytest

from quire.agent import tool
from quire.models import Scripted
from quire.programs import Bounds, Coder, Event, KeptProgram, Program, ProgramFault, SetAside, Task
from tests.programs.coding import coder_of, fenced, heard, run

WHOLE = "output = 'done'"
OWN_FAULTS = {
    "a name that is not there": "await note(text)\nif len(text) > 99:\n    said = 'long'\noutput = said",
    "what the sandbox lacks": "await note(text)\noutput = bytes([65]).decode()",
    "a module that lacks it": "await note(text)\nimport asyncio\noutput = str(getattr(asyncio, 'wait'))",
}
OTHER_FAULTS = {
    "an error of its own": "output = str(1 // len(text))",
    "a tool that lacks a module": "await broken(text)\noutput = ''",
    "a tool's error that is told again": "try:\n    output = await newer(text)\n"
    "except Exception as wrong:\n    raise NotImplementedError(f'newer: {wrong}')",
    "an answer of another kind": "import json\noutput = json.loads('5')",
    "a limit": "while True:\n    pass\noutput = ''",
}


def moving(function: Any) -> Task:
    return Task("move", "Move money.", input={"text": str}, tools=[tool(function, name="transfer")])


def by_source(source: str = "main", target: str = "savings") -> str:
    """Transfer."""
    return f"from {source} to {target}"


def by_target(target: str = "savings", source: str = "main") -> str:
    """Transfer."""
    return f"from {source} to {target}"


def test_a_tool_whose_parameters_stand_in_another_order_is_another(tmp_path: Path) -> None:
    async def work() -> None:
        by_place = "output = await transfer('A', 'B')"
        by_name = "output = await transfer(source='A', target='B')"
        first = await coder_of(by_place, kept=tmp_path).keep(moving(by_source))
        assert await first(text="") == "from A to B"
        after = await coder_of(by_name, kept=tmp_path).keep(moving(by_target))
        assert after.program.code == by_name and await after(text="") == "from A to B"
        again = await coder_of(kept=tmp_path).keep(moving(by_source))
        assert again.program == first.program

    run(work)


def test_a_task_whose_input_stands_in_another_order_is_another() -> None:
    def version(*names: str) -> str:
        return Task("add", input=dict.fromkeys(names, str)).version

    assert version("a", "b") == version("a", "b") != version("b", "a")


@tool(idempotent=True)
async def note(text: str) -> str:
    """Note a text."""
    return text


@tool
async def broken(text: str) -> str:
    """Look something up."""
    raise ImportError("No module named 'oracle'")


@tool
async def newer(text: str) -> str:
    """Look something up elsewhere."""
    raise RuntimeError("the service does not yet support texts")


def noting() -> Task:
    return Task("note", input={"text": str}, output=str, tools=[note, broken, newer])


async def failing(coder: Coder, events: list[Event]) -> KeptProgram:
    kept = await coder.keep(noting())
    with pytest.raises(ProgramFault):
        await kept.run(text="", tell=events.append)
    return kept


async def unchecked(code: str, task: Task) -> Program:
    return Program(code, ())


@pytest.mark.parametrize("code", OWN_FAULTS.values(), ids=OWN_FAULTS)
def test_one_that_fails_by_a_fault_of_its_own_is_set_aside(code: str, tmp_path: Path) -> None:
    async def work() -> None:
        events: list[Event] = []
        kept = await failing(coder_of(code, kept=tmp_path, check=unchecked), events)
        assert isinstance(events[-1], SetAside) and "does not work" in events[-1].why
        assert kept.path is not None and kept.path.with_suffix(".py.1").exists() and not kept.path.exists()
        after = await coder_of(WHOLE, kept=tmp_path).keep(noting())
        assert await after(text="") == "done"
        with pytest.raises(ProgramFault):
            await kept(text="")
        assert (await coder_of(kept=tmp_path).keep(noting())).program == after.program, "it is another's file"

    run(work)


def test_one_that_is_kept_in_memory_is_forgotten() -> None:
    async def work() -> None:
        events: list[Event] = []
        model = Scripted([fenced(OWN_FAULTS["what the sandbox lacks"]), fenced(WHOLE)])
        coder = Coder(model, candidates=1)
        await failing(coder, events)
        assert (await coder.keep(noting())).program.code == WHOLE
        assert "SetAside" not in heard(events)

    run(work)


@pytest.mark.parametrize("code", OTHER_FAULTS.values(), ids=OTHER_FAULTS)
def test_one_that_fails_by_what_it_was_given_stays(code: str, tmp_path: Path) -> None:
    async def work() -> None:
        events: list[Event] = []
        kept = await failing(coder_of(code, kept=tmp_path, bounds=Bounds(seconds=0.2)), events)
        assert kept.path is not None and kept.path.exists() and "SetAside" not in heard(events)

    run(work)
