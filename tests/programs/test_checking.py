"""Checking: a program is found in an answer, and what is wrong with it is said before it is run."""

import asyncio
from typing import Any

import pytest

from quire.programs.checking import Program, checked, code_in
from quire.programs.faults import ProgramFault
from quire.programs.pricing import price_of
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.source import tree_of
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
        "base = {'sum': 1}\noutput = {**base}",
        "output = None\nasync def main():\n    global output\n    output = {'sum': 1}\nawait main()",
        "output = []  # for now\nif problem: output = {'sum': 1}",
        "found: dict = await add(1)\noutput = found",
        "async def both() -> list[dict]:\n    return [await add(1)]\noutput = (await both())[0]",
        "def sum_of(found: dict) -> int:\n    return found['sum']\noutput = {'sum': sum_of(await add(1))}",
        "async def one() -> Output:\n    base = {}\n    return {**base, 'sum': 1}\noutput = await one()",
        "problem = problem.strip()\noutput: Output = {'sum': len(problem)}",
        "seen: list[Output] = []\nseen.append(await add(1))\noutput = seen[0]",
        "output = {}\nfor name in ['sum']:\n    output[name] = 3",
        "found = await add(1)\nname = 'sum'.lower()\noutput = {'sum': found[name]}",
        "async def one(function: callable):\n    return await function(1)\noutput = await one(add)",
        "def AddResult(sum): return {'sum': sum}\noutput = AddResult(1)",
    ],
)
def test_nothing_is_wrong_with(code: str) -> None:
    assert check(code).code == code


WRONG = {
    "syntax": ("x = (", "syntax", 1, "never closed"),
    "a name": ("1\nad(1)\noutput = {'sum': 1}", "names", 2, "did you mean `add`?"),
    "names that exist": ("output = {'sum': zzz}", "names", 1, "there are add, problem"),
    "a builtin of elsewhere": ("x = bytearray(3)\nawait add(1)", "missing", 1, "bytearray"),
    "a module of elsewhere": ("import numpy\nawait add(1)", "missing", 1, "numpy"),
    "a feature": ("x = 1\ndel x\nawait add(1)", "missing", 2, "'del'"),
    "an argument": ("await add('1')", "types", 1, "Expected `int`"),
    "an argument too many": ("await add(1, c=2)", "types", 1, "`c`"),
    "a key that is a number": ("found = await add(1)\nfound[1]\nfound", "types", 2, "string literal"),
    "a key": ("found = await add(1)\nfound['total']\nfound", "types", 2, "total"),
    "no await": ("add(1)\noutput = {'sum': 1}", "types", 1, "await add"),
    "no await in a text": ("output = {'sum': len(f'{add(1)}')}", "types", 1, "await add"),
    "no await in print": ("print(add(1))\nawait add(1)", "types", 1, "await add"),
    "no await in the answer": ("output = add(1)", "types", 1, "await add"),
    "no await in an argument": ("await add(1, b={'a': add(2)})", "types", 1, "await add"),
    "an answer": ("output = {'sum': 'three'}", "types", 1, "sum"),
    "an answer of another kind": ("[1]", "types", 1, "Output"),
    "no answer": ("x = 1", "answer", None, "has no answer"),
    "a dict for a number": ("await add({'a': 1})", "types", 1, "Expected `int`"),
    "a record for a list": ("all: list[dict] = await add(1)\nall[0]", "types", 1, "list[dict"),
    "a key beside others": ("output = {'total': 1}", "types", 1, "total"),
    "a record within another": ("x = {'b': {**{}}}; output = {'total': 1}", "types", 1, "total"),
    "an answer that stays empty": ("output = None", "types", 1, "None"),
    "a type that is called": ("await add(1)\noutput = Output(sum=1)", "names", 2, "`Output` is a type"),
    "a type that is handed on": ("from typing import cast\ncast(Output, {})", "names", 2, "`Output` is a"),
    "a type that is renamed": ("Row = list[Output]\nawait add(1)", "names", 1, "`Output` is a type"),
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


BINDINGS = [
    "async def add(a): return {'sum': 7}",
    "def add(a): return {'sum': 7}",
    "class add: pass",
    "add = lambda a: 7",
    "add: int = 3",
    "add += 1",
    "x, (y, *add) = 1, (2, 3)",
    "print(add := 3)",
    "[add for add in [1]]",
    "def f(add): return add",
    "def f(x, /, *add, **y): return add",
    "f = lambda *, add: add",
    "for add in [1]: pass",
    "import math as add",
    "from math import sqrt as add",
    "import add.inner",
    "with open('x') as add: pass",
    "try: pass\nexcept ValueError as add: pass",
    "match 1:\n    case add: pass",
    "match [1]:\n    case [*add]: pass",
    "match {}:\n    case {**add}: pass",
    "def f():\n    global add",
    "def f():\n    def g():\n        nonlocal add",
    "del add",
    "def f():\n    if problem:\n        def add(a): return 7",
    "ａdd = 3",  # noqa: RUF001  # Python reads it as `add`
]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_function_that_exists_cannot_be_bound_again(binding: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        check(f"{binding}\noutput = {{'sum': 1}}")
    assert raised.value.kind == "names"
    assert "`add` exists already; do not define it" in str(raised.value)


def test_what_only_looks_like_a_binding_is_none() -> None:
    assert check("x = dict(add=1)\noutput = {'sum': x['add']}").calls == ()


def test_only_functions_are_calls() -> None:
    code = "found = await add(len(problem))\noutput = found"
    found = asyncio.run(checked(code, STUBS, {"add", "problem"}, NUMBER, Sandbox(workers=1)))
    assert found.calls == ("add",)


LISTED = stubs_of(FUNCTIONS, INPUTS, {"type": "array", "items": NUMBER})


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\noutput = await asyncio.gather(add(1), add(2))",
        "import asyncio\nawait asyncio.gather(add(1), add(2))",
        "from typing import Any, Dict, List\nall: List[Dict[str, Any]] = [await add(1)]\noutput = all",
        "output = ({'sum': 1}, await add(1))",
    ],
)
def test_rows_are_taken_for_a_list(code: str) -> None:
    assert check(code, LISTED).code == code


@pytest.mark.parametrize("code", ["output = (1, 'a')", "output = ({'sum': 1}, 2)", "output = 'abc'"])
def test_rows_of_other_things_are_not(code: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        check(code, LISTED)
    assert raised.value.kind == "types"


def test_some_of_many_faults_are_told() -> None:
    with pytest.raises(ProgramFault) as raised:
        check("".join(f"unknown_{n}\n" for n in range(500)) + "output = {'sum': 1}")
    assert str(raised.value).endswith("and more")
    assert len(str(raised.value).splitlines()) == 9


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "(" * 150 + "1" + ")" * 150 + "\noutput = {'sum': 1}",
        "x = 1" + " + 1" * 150 + "\noutput = {'sum': x}",
        "if problem == '': x = 1\n"
        + "".join(f"elif problem == '{n}': x = {n}\n" for n in range(150))
        + "else: x = 0\noutput = {'sum': x}",
    ],
)
def test_what_is_nested_a_hundred_times_is_taken(code: str) -> None:
    assert price_of(check(code).code, {}).calls == 0


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
    "a block beside an empty one": ("```python\n\n```\nand\n```py\nx\n```", "x"),
    "blocks of other languages": ("```json\n{}\n```\n```python\n1\n```", "1"),
    "a block of no language": ("```\n1\n```", "1"),
    "a block that was cut off": ("```python\nx = 1\nx", "x = 1\nx"),
    "an indented block": ("- so:\n  ```python\n  if 1:\n      x = 2\n  ```", "if 1:\n    x = 2"),
    "bare text": ("x = 1\nx\n", "x = 1\nx"),
    "lines of another machine": ("```python\r\nx = 1\r\nx\r\n```\r\nThat is it.\r\n", "x = 1\nx"),
    "waves": ("~~~python\n1\n~~~", "1"),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_program_is_found_in(case: tuple[str, str]) -> None:
    answer, code = case
    assert [line for line in code_in(answer).split("\n") if line] == [
        line for line in code.split("\n") if line
    ]


@pytest.mark.parametrize("answer", ["`" * 100_000, "~" * 100_000, "\n".join(["```x"] * 10_000)])
def test_fences_alone_are_no_program(answer: str) -> None:
    with pytest.raises(ProgramFault):
        tree_of(code_in(answer))


@pytest.mark.parametrize(
    "answer",
    ["```python\nx = 1\n```\nand\n```py\nx\n```", "```\nx = 1\n```\nor\n```\nx\n```", "~~~py\n1\n~~~\n" * 3],
)
def test_of_several_blocks_none_is_taken_and_it_is_said_what_to_write(answer: str) -> None:
    with pytest.raises(ProgramFault, match="none of them was run: write the whole program in one") as raised:
        code_in(answer)
    assert raised.value.kind == "syntax"


@pytest.mark.parametrize("answer", ["", "  \n", "```python\n```", "I cannot do that, sorry."])
def test_an_answer_without_a_program_is_a_fault(answer: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        code_in(answer)
    assert raised.value.kind == "syntax"


@pytest.mark.parametrize(
    "ahead",
    [
        "from __future__ import annotations\n",
        '"""What it does."""\n\nfrom __future__ import annotations\n',
        "from __future__ import (\n    annotations,\n)\n",
        "from __future__ import annotations; x = 1\n",
    ],
)
def test_what_is_imported_of_the_future_is_nothing_wrong(ahead: str) -> None:
    code = f"{ahead}output = {{'sum': 1}}"
    assert check(code).code == code
    assert asyncio.run(Sandbox(workers=1).run(code)).value == {"sum": 1}
    lines = code.count("\n") + 2
    with pytest.raises(ProgramFault) as raised:
        check(f"{code}\nzzz")
    assert raised.value.line == lines
