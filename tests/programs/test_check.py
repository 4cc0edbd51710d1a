"""What is refused before a program runs: the words for the model, which the corpus does not hold."""

import asyncio
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task, check

RUNNER = asyncio.Runner()
"""One loop for all: each loop starts processes of its own."""


@pytest.fixture(scope="module", autouse=True)
def runner() -> Iterator[None]:
    with RUNNER:
        yield


class Order(TypedDict):
    id: str
    total: float
    note: str | None


class Line(TypedDict):
    sku: str
    cents: int


@tool
async def orders(status: str = "open") -> list[Order]:
    return []


@tool
async def put(line: Line, place: Literal["top", "end"] = "end") -> bool:
    return True


TASK = Task("t", input={"name": str}, output=Any, tools=[orders, put])


def fault(code: str) -> ProgramFault:
    with pytest.raises(ProgramFault) as raised:
        RUNNER.run(check(code, TASK))
    return raised.value


REFUSED = {
    "syntax": ("1\nx = (", "syntax", 2, "never closed"),
    "too many nodes": ("[" + "1," * 24_000 + "]", "syntax", None, "too long"),
    "an unknown name": ("1\nnone_such", "names", 2, "there are orders, put, name"),
    "a misspelt tool": ("await ordres()", "names", 1, "did you mean `orders`?"),
    "a name of the sandbox": ("_quire_left = {}\n1", "names", 1, "name of the sandbox"),
    "a call that is dropped": ("orders()\n1", "types", 1, "not awaited"),
    "an unknown argument": ("await orders(state='open')", "types", 1, "state"),
    "an unknown key": ("(await orders())[0]['titel']", "types", 1, "titel"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_fault_has_a_kind_a_line_and_words(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    found = fault(code)
    assert (found.kind, found.line) == (kind, line)
    assert words in str(found)


def test_all_that_is_wrong_is_told_up_to_a_few() -> None:
    several = fault("a1\nawait orders(5)\n1")
    assert several.kind == "names" and "line 2" in str(several)
    assert str(fault("\n".join(f"a{n}" for n in range(20)))).endswith("and more")
