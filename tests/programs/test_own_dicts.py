"""What a program makes of its own dicts and lambdas is its own: the type checker does not get in its way."""

import asyncio
from typing import Any

import pytest

from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox

STUBS = "Output = str\nn: int\n"
RIGHT: dict[str, tuple[str, Any]] = {
    "the largest, told": (
        "orders = [{'total': 1}, {'total': 2}]\noutput = str(max(orders, key=lambda o: o['total']))",
        "{'total': 2}",
    ),
    "a pair, told": (
        "r = {'a': 1.5, 'b': 1.0}\noutput = str(min(r.items(), key=lambda kv: kv[1]))",
        "('b', 1.0)",
    ),
    "a product, printed": (
        "from functools import reduce\nprint(reduce(lambda a, b: a * b, [1, 2, 3]))\noutput = 'x'",
        "x",
    ),
    "a method": ("output = str(max(['a', 'B'], key=lambda o: o.lower()))", "B"),
    "a sign": ("output = str(max([1, 2], key=lambda o: -o))", "1"),
    "a row of a table": (
        "row = dict(zip(['name', 'age'], ['ana', '30']))\nrow['age'] = int(row['age'])\noutput = str(row)",
        "{'name': 'ana', 'age': 30}",
    ),
    "a dict of numbers, and a text": (
        "out = {k: round(v, 2) for k, v in {'a': 1.5}.items()}\nout['base'] = 'EUR'\noutput = str(out)",
        "{'a': 1.5, 'base': 'EUR'}",
    ),
}


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_it_is_taken(case: tuple[str, Any]) -> None:
    code, value = case

    async def work() -> Any:
        sandbox = Sandbox(workers=1)
        await sandbox.check(code, STUBS)
        return (await sandbox.run(code, inputs={"n": 1})).value

    assert asyncio.run(work()) == value


WRONG = {
    "a dict of a declared type": "row: dict[str, str] = {}\nrow['n'] = n\noutput = str(row)",
    "a parameter of a declared type": "def put(row: dict[str, str]) -> None:\n"
    "    row['n'] = n\nput({})\noutput = ''",
    "an operator on what is known": "output = str(sorted(['a'], key=lambda o: -o))",
    "an object beside a lambda": "x = object()\noutput = str(x['a'])",
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_what_it_says_itself_has_to_fit(code: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        asyncio.run(Sandbox(workers=1).check(code, STUBS))
    assert raised.value.kind == "types"


def test_so_has_an_answer_that_is_a_dict() -> None:
    code = "output = dict(zip(['a'], ['b']))\noutput['n'] = n"
    with pytest.raises(ProgramFault):
        asyncio.run(Sandbox(workers=1).check(code, "Output = dict[str, str]\nn: int\n"))
