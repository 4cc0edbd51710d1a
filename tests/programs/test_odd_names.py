"""Names that can be none in Python, or that it has for something else: a program can use each of them."""

import asyncio
from typing import Any

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Sandbox, Task
from quire.programs.checking import checked
from tests.programs.coding import coder_of, run


@tool(name="2fa_send")
async def send(text: str) -> int:
    """Send a code."""
    return len(text)


@tool(name="_lookup")
async def look(text: str) -> dict[str, int]:
    """Look it up."""
    return {"length": len(text)}


@pytest.mark.parametrize("name", ["_id", "2nd", "__x", "class", "odd key", "output"])
def test_an_input_of_any_name_is_a_variable(name: str) -> None:
    async def work() -> None:
        task = Task("echo", input={name: str}, tools=[send, look])
        (variable,) = task.variables({name: "x"})
        answer = await coder_of(f"output = {variable}", rounds=1).answer(task, {name: "said"})
        assert answer.value == "said" and f"\n{variable}: str" in task.stubs

    run(work)


@pytest.mark.parametrize("call", ["_2fa_send(input)", "(await _lookup(input))['length']"])
def test_a_tool_of_any_name_is_a_function(call: str) -> None:
    async def work() -> None:
        task = Task("count", output=int, tools=[send, look])
        code = f"output = {call if 'await' in call else f'await {call}'}"
        assert (await coder_of(code, rounds=1).answer(task, input="four")).value == 4

    run(work)


def test_beside_such_a_name_types_can_be_used_and_others_are_not_there() -> None:
    async def work() -> None:
        task = Task("list", input={"_rows": list[dict[str, int]]}, output=dict[str, int], tools=[look])
        code = "found: Output = {'n': len(_rows)}\noutput = found"
        assert (await coder_of(code, rounds=1).answer(task, _rows=[])).value == {"n": 0}

    run(work)


@pytest.mark.parametrize("given", [{"a": "b"}, ["a"], 3])
@pytest.mark.parametrize("name", ["map", "next", "filter", "list"])
def test_an_input_is_what_was_given_whatever_python_has_by_its_name(name: str, given: Any) -> None:
    ran = asyncio.run(Sandbox(workers=1).run(f"output = {name}", inputs={name: given}))
    assert ran.value == given


def test_a_tool_has_another_name_than_what_python_has() -> None:
    @tool(name="map")
    async def mapped(text: str) -> str:
        """Draw a map."""
        return f"map of {text}"

    async def work() -> None:
        code = "output = ', '.join(await asyncio.gather(*map(map_, ['a', 'b'])))"
        task = Task("draw", tools=[mapped])
        answer = await coder_of(f"import asyncio\n{code}", rounds=1).answer(task, input="")
        assert answer.value == "map of a, map of b"

    run(work)


@pytest.mark.parametrize(
    "name", ["_quire_begun_given", "_quire_own", "_quire_left", "_quire_answer", "_quire"]
)
@pytest.mark.parametrize(
    "binding",
    ["async def {}(*a): return 1", "{} = 5", "import json as {}", "def f({}): pass", "class {}: pass"],
)
def test_names_of_the_sandbox_are_for_no_program(name: str, binding: str) -> None:
    stubs = "from typing import Any\nasync def given(n: int) -> Any: ...\n"
    code = f"x = 1\n{binding.format(name)}\nawait given(1)"
    with pytest.raises(ProgramFault, match=f"`{name}` is a name of the sandbox's own") as refused:
        asyncio.run(checked(code, stubs, {"given"}, None, Sandbox(workers=1)))
    assert refused.value.kind == "names" and refused.value.line == 2
