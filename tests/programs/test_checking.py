"""Checking: a program is found in an answer, and what is wrong with it is said before it is run."""

import asyncio
from typing import Any

import pytest

from quire.programs.checking import Program, checked, code_in
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox
from quire.programs.stubs import Declared, stubs_of

NUMBER = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
FUNCTIONS = [
    Declared(
        "add",
        "Adds.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
        NUMBER,
    )
]
INPUTS = {"type": "object", "properties": {"problem": {"type": "string"}}}
STUBS = stubs_of(FUNCTIONS, INPUTS, NUMBER)


def check(code: str, stubs: str = STUBS, output: Any = NUMBER) -> Program:
    return asyncio.run(checked(code, stubs, {"add"}, output, Sandbox(workers=1)))


@pytest.mark.parametrize(
    "code",
    [
        "output = await add(1)",
        "await add(a=1, b=2)",
        "output = {'sum': len(problem)}",
        "output = {}\noutput['sum'] = 3",
        "import asyncio\nall = await asyncio.gather(*[add(n) for n in (1, 2)])\n{'sum': all[0]['sum']}",
        "call = add(1)\nawait call",
        "async def main():\n    return {'sum': 1}\noutput = await main()",
        "output: dict = {'sum': 1}",
        "try:\n    output = await add(1)\nexcept ValueError as error:\n    output = {'sum': 0}",
    ],
)
def test_nothing_is_wrong_with(code: str) -> None:
    assert check(code).code == code


WRONG = {
    "syntax": ("x = (", "syntax", 1, "never closed"),
    "a name": ("1\nad(1)\noutput = {'sum': 1}", "names", 2, "did you mean `add`?"),
    "names that exist": ("output = {'sum': zzz}", "names", 1, "there are add, problem"),
    "a builtin of elsewhere": ("x = bytearray(3)\nawait add(1)", "names", 1, "bytearray"),
    "a module of elsewhere": ("import numpy\nawait add(1)", "missing", 1, "numpy"),
    "a feature": ("x = 1\ndel x\nawait add(1)", "missing", 2, "'del'"),
    "an argument": ("await add('1')", "types", 1, "Expected `int`"),
    "an argument too many": ("await add(1, c=2)", "types", 1, "`c`"),
    "a key": ("found = await add(1)\nfound['total']\nfound", "types", 2, "total"),
    "no await": ("add(1)\noutput = {'sum': 1}", "types", 1, "await add"),
    "no await in a text": ("output = {'sum': len(f'{add(1)}')}", "types", 1, "await add"),
    "no await in print": ("print(add(1))\nawait add(1)", "types", 1, "await add"),
    "no await in the answer": ("output = add(1)", "types", 1, "Output"),
    "an answer": ("output = {'sum': 'three'}", "types", 1, "sum"),
    "an answer of another kind": ("[1]", "types", 1, "Output"),
    "no answer": ("x = 1", "answer", None, "has no answer"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_it_is_said_what_is_wrong(case: tuple[str, str, int | None, str]) -> None:
    code, kind, line, words = case
    with pytest.raises(ProgramFault) as raised:
        check(code)
    assert (raised.value.kind, raised.value.line) == (kind, line)
    assert words in str(raised.value)
    if line is not None:
        assert f"line {line}, `{code.splitlines()[line - 1].strip()}`" in str(raised.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ProgramFault) as raised:
        check("await add('1')\nproblem + 1\noutput = 3")
    assert [line.partition(",")[0] for line in str(raised.value).splitlines()] == [
        "line 1",
        "line 2",
        "line 3",
    ]


def test_the_schema_of_the_answer_is_used_where_stubs_have_none() -> None:
    with pytest.raises(ProgramFault):
        check("[1]", "async def add(a: int) -> int: ...\n")
    assert check("[1]", "async def add(a: int) -> int: ...\n", None).calls == ()


def test_nothing_is_run_and_calls_are_named() -> None:
    assert check("raise ValueError\noutput = await add((await add(1))['sum'])").calls == ("add",)


ANSWERS = {
    "one block": ("Here:\n```python\nx = 1\nx\n```\nThat is it.", "x = 1\nx"),
    "several blocks": ("```python\nx = 1\n```\nand\n```py\nx\n```", "x = 1\n\nx"),
    "blocks of other languages": ("```json\n{}\n```\n```python\n1\n```", "1"),
    "a block of no language": ("```\n1\n```", "1"),
    "a block that was cut off": ("```python\nx = 1\nx", "x = 1\nx"),
    "an indented block": ("- so:\n  ```python\n  if 1:\n      x = 2\n  ```", "if 1:\n    x = 2"),
    "bare text": ("x = 1\nx\n", "x = 1\nx"),
    "waves": ("~~~python\n1\n~~~", "1"),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_program_is_found_in(case: tuple[str, str]) -> None:
    answer, code = case
    assert [line for line in code_in(answer).split("\n") if line] == [
        line for line in code.split("\n") if line
    ]


@pytest.mark.parametrize("answer", ["", "  \n", "```python\n```", "I cannot do that, sorry."])
def test_an_answer_without_a_program_is_a_fault(answer: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        code_in(answer)
    assert raised.value.kind == "syntax"
