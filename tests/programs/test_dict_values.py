"""What is in a dict has to fit where it is wanted: as an argument, and in the answer."""

import asyncio

import pytest

from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.assigning import may_do

STUBS = '''
from typing import Any, Literal, TypedDict

class Row(TypedDict):
    id: int
    total: float

class Given(TypedDict):
    id: int
    total: float

class Output(TypedDict):
    totals: dict[str, float]

async def save(totals: dict[str, float]) -> str:
    """Save."""
    ...

async def texts(of: dict[str, str]) -> str:
    """Save."""
    ...

async def lists(of: dict[str, list[float]]) -> str:
    """Save."""
    ...

async def nested(of: dict[str, dict[str, float]]) -> str:
    """Save."""
    ...

async def records(of: dict[str, Given]) -> str:
    """Save."""
    ...

async def rows(of: list[dict[str, str]]) -> str:
    """Save."""
    ...

async def get() -> list[Row]:
    """All rows."""
    ...

async def anything() -> dict[str, Any]:
    """Anything."""
    ...

n: int
'''
ANSWER = "\noutput = {'totals': {}}"
WRONG = {
    "a text": "await save({'a': 'x'})",
    "a text by name": "await save(totals={'a': 'x'})",
    "one text": "await save({'a': 'x', 'b': 1})",
    "a text in a variable": "d = {'a': 'x'}\nawait save(d)",
    "texts that are made": "await save({r['id']: str(r['total']) for r in await get()})",
    "texts that are put": "d = {}\nfor k in 'ab':\n    d[k] = f'{k}'\nawait save(d)",
    "a text that came later": "d = {'a': None}\nd['a'] = 'x'\nawait save(d)",
    "nothing": "await save({'a': None})",
    "a number": "await texts({'a': 1})",
    "a number in rows": "await rows([{'a': 5}])",
    "a list": "await save({'a': [1]})",
    "no list": "await lists({'a': 1.0})",
    "a list of texts": "await lists({'a': ['x']})",
    "a text within": "await nested({'a': {'b': 'c'}})",
    "no record": "await records({'a': 'c'})",
    "a pair as a key": "await save({('a', 'b'): 1.0})",
    "texts by default": "from collections import defaultdict\nd = defaultdict(str)\nd['a'] += 'x'\n"
    "await save(d)",
    "the answer": "output = {'totals': {'a': '9.50 EUR'}}",
    "the answer, made": "t = {}\nfor r in await get():\n    t[str(r['id'])] = f\"{r['total']} EUR\"\n"
    "output = {'totals': t}",
}
RIGHT = {
    "whole numbers": "d = {'a': n}\nawait save(d)",
    "numbers as keys": "await save({r['id']: r['total'] for r in await get()})",
    "a sum that grows": "d = {'a': 0}\nfor r in await get():\n    d['a'] += r['total']\nawait save(d)",
    "a place that was kept": "d = {'a': None, 'b': None}\nd['a'] = 1.0\nd['b'] = 2.0\nawait save(d)",
    "anything": "await save(await anything())",
    "lists of whole numbers": "d = {'a': [1, 2]}\nawait lists(d)",
    "pairs": "d = {'a': (1, 2)}\nawait lists(d)",
    "lists that grow": "d = {}\nfor r in await get():\n    d.setdefault(r['id'], []).append(r['total'])\n"
    "await lists(d)",
    "records": "await records({r['id']: r for r in await get()})",
    "dicts as records": "d = {'a': {'id': 1, 'total': 2}}\nawait records(d)",
    "dicts of records": "d = {str(r['id']): dict(r) for r in await get()}\nawait records(d)",
    "one of several kinds": "g = {'a': {'sum': 0.5, 'name': 'x'}}\n"
    "await save({k: v['sum'] for k, v in g.items()})",
    "counted by default": "from collections import defaultdict\nd = defaultdict(int)\nd['a'] += 1\n"
    "await save(d)",
    "counted": "from collections import Counter\nawait save(Counter('aab'))",
    "the answer": "output = {'totals': {r['id']: round(r['total']) for r in await get()}}",
}


def check(code: str) -> None:
    asyncio.run(Sandbox(workers=1).check(code if "output" in code else code + ANSWER, STUBS))


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_what_cannot_fit_is_refused(code: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        check(code)
    assert raised.value.kind == "types"


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_what_may_fit_is_taken(code: str) -> None:
    check(code)


@pytest.mark.parametrize(
    ("found", "wanted", "does"),
    [
        ("Literal[True]", "Literal[1]", False),
        ("Literal[1]", "Literal[1, 2]", True),
        ("dict[str, Literal[True]]", "dict[str, Literal[1]]", False),
        ("dict[str, str & ~AlwaysFalsy]", "dict[str, str]", True),
        ("dict[str, int & ~AlwaysFalsy]", "dict[str, str]", False),
        ("dict[str, <class 'A'>]", "dict[str, str]", True),
    ],
)
def test_types_are_compared_as_they_are_said(found: str, wanted: str, does: bool) -> None:
    assert may_do(f"Object of type `{found}` is not assignable to `{wanted}`", frozenset()) is does
