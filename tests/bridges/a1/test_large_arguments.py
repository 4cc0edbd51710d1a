"""Tools of every kind are given more than any model writes, by programs and one by one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from quire import Session, tool as engine_tool
from quire.bridges.a1 import LLM, Agent, Runtime, Tool, tool
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.programs.values import as_text
from tests.bridges.a1.coded import run, writing
from tests.programs.coding import coder_of

SIZES = (10, 30_000)


class Page(BaseModel):
    """A page."""

    content: str


class Counted(BaseModel):
    """How long it is."""

    letters: int


@engine_tool
def plainly(content: str) -> int:
    """Count."""
    return len(content)


@engine_tool
async def waiting(content: str) -> int:
    """Count."""
    return len(content)


@engine_tool
async def yielding(content: str) -> AsyncIterator[str]:
    """Count."""
    yield str(len(content))


@tool(name="counting", description="Count")
async def counting(content: str) -> Counted:
    return Counted(letters=len(content))


async def of_schema(content: str) -> Counted:
    return Counted(letters=len(content))


async def compiled() -> Any:
    code = "output = {'letters': await plainly(content=content)}"
    agent = Agent(name="compiled", input_schema=Page, output_schema=Counted, tools=[plainly])
    return await writing(code).aot(agent, cache=False)


async def kept() -> Any:
    task = Task("kept", "Count.", input={"content": str}, output=int, tools=[plainly])
    return await coder_of("output = await plainly(content=content)").keep(task)


async def made(kind: str) -> Any:
    """A tool of a kind; each counts the letters of a text."""
    match kind:
        case "with a schema":
            return Tool(name="schema", description="Count", input_schema=Page, execute=of_schema)
        case "compiled":
            return await compiled()
        case "kept":
            return await kept()
        case "a model":
            return LLM(Scripted(lambda request: str(len(request.payload["messages"][-1]["content"]))))
        case _:
            return {"plain": plainly, "async": waiting, "generator": yielding, "bridged": counting}[kind]


KINDS = ("plain", "async", "generator", "bridged", "with a schema", "compiled", "kept", "a model")


def letters(found: Any) -> int:
    """What a tool counted, however it says so."""
    told = as_text(found)
    return int("".join(sign for sign in told if sign.isdigit()))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_gives_much_to_a_tool(kind: str, size: int) -> None:
    async def given() -> Any:
        tool = await made(kind)
        name = "llm_a" if kind == "a model" else tool.name
        code = f"found = await {name}('x' * size)\noutput = {{'said': str(found)}}"
        if kind in ("bridged", "compiled"):
            code = code.replace("str(found)", "str(found['letters'])")
        elif kind == "with a schema":
            code = f"found = await {name}(content='x' * size)\noutput = {{'said': str(found['letters'])}}"
        agent = Agent(name="outer", input_schema=Size, output_schema=Said, tools=[tool])
        return await writing(code).jit(agent, size=size)

    assert letters(run(given()).said) == size


class Size(BaseModel):
    """How much."""

    size: int


class Said(BaseModel):
    """What came of it."""

    said: str


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_gives_much_to_a_tool(kind: str, size: int) -> None:
    async def given() -> Any:
        return await Runtime().execute(await made(kind), content="x" * size)

    assert letters(run(given())) == size


@pytest.mark.parametrize("kind", (*KINDS[:3], "with a schema", "kept"))
def test_a_coder_gives_much_to_a_tool(kind: str) -> None:
    async def given() -> Any:
        tool = await made(kind)
        task = Task("outer", input={"size": int}, output=Any, tools=[tool])
        coder = Coder(session=Session.open("ana/outer", store="memory:"))
        return (await coder.run(task, f"await {tool.name}(content='x' * size)", size=30_000)).value

    assert letters(run(given())) == 30_000
