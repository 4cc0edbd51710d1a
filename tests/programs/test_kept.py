"""Kept programs: found again without a model, written again if something changed, set aside if they fail."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import ToolCall
from quire.agent import Agent, run as run_tool, tool
from quire.errors import InvalidValue, OutOfRange
from quire.models import Scripted
from quire.programs import Bounds, KeptProgram, ProgramFault, Task
from tests.programs.coding import ADDING, assert_whole, coder_of, opened, said, solving

FOUR = {"result": "4"}


async def kept_in(
    folder: Path | None, *programs: str, task: Task | None = None, **options: Any
) -> KeptProgram:
    return await coder_of(*programs, kept=folder, **options).keep(task or solving())


async def test_each_run_has_an_attempt_and_run_records_in_main() -> None:
    coder, other = coder_of(ADDING), opened()
    kept = await coder.keep(solving())
    assert kept.path is None and kept.code == ADDING and kept.price.calls == 1
    assert await kept(problem="What is 2+2?") == FOUR
    assert said(coder.session) == [] and coder.session.transcripts == ("main", "attempt_a", "attempt_b")
    kinds = [kind for kind, _ in said(coder.session, "attempt_b")]
    assert kinds == ["user", "assistant", "user", "call", "result"]
    assert await kept.within(other).run({"problem": "What is 2+2?"}) == FOUR
    assert [kind for kind, _ in said(other)] == ["user", "call", "result", "assistant"]
    assert await kept.within(other, "main~2").run({"problem": "?"}) == FOUR
    assert len(said(other, "main~2")) == len(said(other)) == 4 and said(coder.session) == []
    assert_whole(other)


async def test_an_agent_uses_a_kept_program_as_any_tool() -> None:
    kept, session = await kept_in(None, ADDING), opened()
    model = Scripted([ToolCall("call_1", "solve", '{"problem": "2+2"}'), "It is 4."])
    await Agent(session, model=model, tools=[kept]).ask("What is 2+2?")
    assert said(session)[1:3] == [("call", 'solve {"problem": "2+2"}'), ("result", '{"result": "4"}')]
    outcome = await run_tool(kept, '{"problm": "2+2"}')
    assert outcome.is_error and "problem" in str(outcome.content)
    with pytest.raises(InvalidValue, match="problem"):
        await kept(problm="2+2")


async def test_calls_of_a_kept_program_are_recorded_by_the_program_that_calls_it() -> None:
    kept = await kept_in(None, ADDING)
    coder = coder_of("r = await solve(problem='2+2')\noutput = 'It is ' + r['result']")
    answer = await coder.answer(Task("tell", input={"problem": str}, tools=[kept]), {"problem": "?"})
    assert answer.value == "It is 4"
    kinds = [text.split()[0] for kind, text in said(coder.session) if kind == "call"]
    assert kinds == ["solve", "calculator"]
    assert_whole(coder.session)
    assert_whole(coder.session, "attempt_a")


async def test_a_kept_program_survives_a_restart_and_no_model_is_asked(tmp_path: Path) -> None:
    written = await kept_in(tmp_path, ADDING)
    found = await coder_of(kept=tmp_path).keep(solving())
    assert (found.code, found.version, found.price) == (written.code, written.version, written.price)
    assert found.path == written.path and await found(problem="What is 2+2?") == FOUR


@tool
async def calculator(a: int, b: int, carry: int = 0) -> int:
    return a + b + carry


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "Solve it well."},
        {"input": {"problem": str, "hint": str}},
        {"output": dict[str, str]},
        {"models": [Scripted([], name="other")]},
        {"tools": [calculator]},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_a_program_is_not_used_after_its_task_changed(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert solving(**changed).version != solving().version == solving().version
    before = await kept_in(tmp_path, ADDING)
    with pytest.raises(OutOfRange):  # the model is asked, and has no reply
        await kept_in(tmp_path, task=solving(**changed))
    assert (await kept_in(tmp_path)).code == before.code


async def test_the_file_can_be_read_and_edited(tmp_path: Path) -> None:
    kept = await kept_in(tmp_path, ADDING)
    assert kept.path is not None and kept.path.name.startswith("solve-")
    text = kept.path.read_text()
    assert "Solve a problem." in text and ADDING in text
    compile(text, "kept.py", "exec", flags=0x2000)  # await at the top level
    kept.path.write_text(text.replace("a=2", "a=40"))
    assert await (await kept_in(tmp_path))(problem="?") == {"result": "42"}


DAMAGES: dict[str, Callable[[str], bytes]] = {
    "not text": lambda _: b"\xff\xfe",
    "foreign": lambda _: b"import os\n",
    "does not pass": lambda text: f"{text}\nsubtract(1)\n".encode(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_file_that_cannot_be_used_is_renamed_and_written_again(
    tmp_path: Path, damage: Callable[[str], bytes]
) -> None:
    kept = await kept_in(tmp_path, ADDING)
    assert kept.path is not None
    damaged = damage(kept.path.read_text())
    kept.path.write_bytes(damaged)
    again = await coder_of(ADDING, kept=tmp_path).keep(solving())
    assert kept.path == again.path
    assert kept.path.with_suffix(".py.1").read_bytes() == damaged
    assert await again(problem="?") == FOUR and (await kept_in(tmp_path)).code == kept.code


@tool
async def pay(invoice: str) -> dict[str, str]:
    if invoice == "nobody's":
        raise ValueError("nobody is owed that")
    if invoice == "slow":
        await asyncio.sleep(60)
    return {"receipt": f"r-{invoice}"}


PAYING = "r = await pay(invoice=invoice)\noutput = r['receipt_id']"
SEVERAL = """
import asyncio
try:
    await pay(invoice="nobody's")
except ValueError:
    pass
async def fail():
    await pay(invoice=invoice)
    raise KeyError(invoice)
await asyncio.gather(pay(invoice='slow'), fail())
output = ''
"""


async def settling(program: str = PAYING) -> KeptProgram:
    task = Task("settle", "Settle an invoice.", input={"invoice": str}, output=str, tools=[pay])
    return await coder_of(program).keep(task)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (PAYING, r"KeyError(.|\n)*pay \(1 done\)"),
        (SEVERAL, r"pay \(1 failed, 1 uncertain, 1 done\)"),
        ("output = ''\nawait pay(invoice=invoice)\nraise ValueError('x' * 5000)", r"pay \(1 done\)"),
    ],
)
@pytest.mark.parametrize("way", ["call", "run"])
async def test_a_fault_names_the_calls_that_were_made(code: str, told: str, way: str) -> None:
    session = opened()
    kept = (await settling(code)).within(session)
    with pytest.raises(ProgramFault, match=told) as failed:
        await (kept(invoice="17") if way == "call" else kept.run({"invoice": "17"}))
    assert failed.value.has_acted and len(str(failed.value)) < 2_100
    assert said(session) == [] and "call" in [kind for kind, _ in said(session, "attempt_a")]
    assert_whole(session, "attempt_a")


@tool(idempotent=True)
async def note(text: str) -> str:
    return text


@tool
async def broken(text: str) -> str:
    raise ImportError("No module named 'oracle'")


def noting() -> Task:
    return Task("note", input={"text": str}, output=str, tools=[note, broken])


OWN_FAULTS = {
    "a name that is not there": "await note(text)\nif len(text) > 99:\n    said = 'long'\noutput = said",
    "a feature that the sandbox lacks": "await note(text)\noutput = bytes([65]).decode()",
}
OTHER_FAULTS = {
    "an error of its own": "output = str(1 // len(text))",
    "a tool that lacks a module": "await broken(text)\noutput = ''",
    "an answer of another type": "import json\noutput = json.loads('5')",
    "a limit": "while True:\n    pass\noutput = ''",
}


@pytest.mark.parametrize("code", OWN_FAULTS.values(), ids=OWN_FAULTS)
async def test_a_program_with_a_fault_of_its_own_is_set_aside(code: str, tmp_path: Path) -> None:
    coder = coder_of(code, "output = 'done'", kept=tmp_path)
    kept = await coder.keep(noting())
    with pytest.raises(ProgramFault):
        await kept.run({"text": ""})
    assert kept.path is not None and kept.path.with_suffix(".py.1").exists() and not kept.path.exists()
    after = await coder.keep(noting())
    assert await after(text="") == "done"
    with pytest.raises(ProgramFault):  # the old one leaves the file of the new one
        await kept(text="")
    assert (await coder.keep(noting())).code == after.code


@pytest.mark.parametrize("code", OTHER_FAULTS.values(), ids=OTHER_FAULTS)
async def test_a_program_that_fails_by_its_input_or_a_tool_stays(code: str, tmp_path: Path) -> None:
    kept = await kept_in(tmp_path, code, task=noting(), bounds=Bounds(seconds=0.2))
    with pytest.raises(ProgramFault):
        await kept.run({"text": ""})
    assert kept.path is not None and kept.path.exists()
