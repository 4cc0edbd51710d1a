"""What is refused before a program runs, with its kind and line, and what is not.

The corpora `right` and `wrong` of the goldens are the main net; the rows here show each rule once.
"""

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
    """An order."""

    id: str
    total: float
    note: str | None


class Line(TypedDict):
    """A line of a bill."""

    sku: str
    cents: int


@tool
async def orders(status: str = "open") -> list[Order]:
    """List orders."""
    return []


@tool
async def put(line: Line, place: Literal["top", "end"] = "end") -> bool:
    """Put a line on the bill."""
    return True


def checked(code: str, output: Any = Any, **inputs: Any) -> None:
    """Check a program for a task with two tools."""
    task = Task("t", input=inputs or {"name": str}, output=output, tools=[orders, put])
    RUNNER.run(check(code, task))


def fault(code: str, output: Any = Any, **inputs: Any) -> ProgramFault:
    with pytest.raises(ProgramFault) as raised:
        checked(code, output, **inputs)
    return raised.value


REFUSED = {
    "syntax": ("1\nx = (", "syntax", 2, "never closed"),
    "nested too deep": ("x = 1" + " + 1" * 900, "syntax", None, "nested deeper"),
    "too many nodes": ("[" + "1," * 24_000 + "]", "syntax", None, "too long"),
    "a statement that the sandbox lacks": ("x = 1\ndel x\n2", "missing", 2, "'del' statement"),
    "no answer": ("x = 1", "answer", None, "has no answer"),
    "an unknown name": ("1\nnone_such", "names", 2, "there are orders, put, name"),
    "a misspelt tool": ("await ordres()", "names", 1, "did you mean `orders`?"),
    "a builtin that the sandbox lacks": ("open('a')", "missing", 1, "only a part of Python"),
    "a module that the sandbox lacks": ("import numpy\n1", "missing", 1, "numpy"),
    "a tool that is defined anew": ("async def put(line): return 1\n1", "names", 1, "exists already"),
    "a name of the sandbox": ("_quire_left = {}\n1", "names", 1, "name of the sandbox"),
    "eval": ("eval('1')", "names", 1, "`eval` is not for programs"),
    "a type as a value": ("Output()", "names", 1, "for annotations alone"),
    "a call that is dropped": ("orders()\n1", "types", 1, "not awaited"),
    "a call that is read": ("orders()[0]\n1", "types", 1, "not awaited"),
    "a call of its own": ("async def f(): return 1\nf() + 1", "types", 2, "`f` is not awaited"),
    "gather": ("import asyncio\nasyncio.gather(orders())\n1", "types", 2, "not awaited"),
    "too few arguments": ("await put()", "types", 1, "line"),
    "an unknown argument": ("await orders(state='open')", "types", 1, "state"),
    "an argument of another type": ("await orders(5)", "types", 1, "Expected `str`"),
    "an unknown key": ("(await orders())[0]['titel']", "types", 1, "titel"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_fault_has_a_kind_a_line_and_words(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    found = fault(code)
    assert (found.kind, found.line) == (kind, line)
    assert words in str(found)


ACCEPTED = {
    "a field that may be None": "sum(o['total'] for o in await orders() if o['note'].strip())",
    "keys that it adds": "rows = await orders()\nfor o in rows: o['share'] = 1\n[o['share'] for o in rows]",
    "a text for one of several": "for place in ['top']: await put({'sku': 'a', 'cents': 1}, place)\n1",
    "calls that are stored": "import asyncio\nc = [orders()]\nc.append(orders())\nawait asyncio.gather(*c)",
    "an input that is rebound": "name = name.strip()\nname",
    "imports of the future": "from __future__ import annotations\n1",
    "types of the stubs": "rows: list[OrdersResultItem] = await orders()\nx: Any = rows\nx",
    "builtins that the checker lacks": "[*map(str, filter(None, [1]))], hasattr(1, 'real')",
    "the next of an iterator": "next((o for o in await orders()), None)",
    "an answer that begins empty": "output = []\nfor o in await orders(): output.append(o['id'])",
}


@pytest.mark.parametrize("code", ACCEPTED.values(), ids=ACCEPTED)
def test_nothing_is_wrong_with(code: str) -> None:
    checked(code, Any if "output" not in code else list[str])


def test_what_a_program_receives_has_keys_and_no_types() -> None:
    checked("output = name", int)
    checked("output = [o['total'] for o in await orders()]", list[str])


def test_all_that_is_wrong_is_told_up_to_a_few() -> None:
    several = fault("a1\nawait orders(5)\n1")
    assert several.kind == "names" and "line 2" in str(several)
    assert str(fault("\n".join(f"a{n}" for n in range(20)))).endswith("and more")
