"""Calls that a program puts into rows and dicts one by one, and gathers: left alone where it breaks off."""

import asyncio
from typing import Any

import pytest

from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox

OWN = (
    "import asyncio\nasync def own(n):\n    if n > 1:\n        raise ValueError('no')\n"
    "    return await look(n)\n"
)


def broken_off(begins: str, puts: str, awaits: str = "await asyncio.gather(*calls)") -> str:
    """A program that puts one call into something, fails at the next, and catches that."""
    loop = f"    for row in [{{'a': 1}}, {{}}]:\n        {puts}\n"
    return f"try:\n    calls = {begins}\n{loop}    {awaits}\nexcept KeyError:\n    0\n0"


LEFT_ALONE = {
    "appended": broken_off("[]", "calls.append(look(row['a']))"),
    "extended": broken_off("[]", "calls.extend([look(row['a'])])"),
    "added": broken_off("[]", "calls += [look(row['a'])]"),
    "by keys, one is chosen": broken_off("{}", "calls[len(row)] = look(row['a'])", "await calls[1]"),
    "before an answer": "async def main():\n    calls = []\n    for row in [{'a': 1}, {}]:\n"
    "        if not row:\n            return 0\n        calls.append(look(row['a']))\n"
    "    return await asyncio.gather(*calls)\nawait main()",
    "beside one that raises": "try:\n    calls = []\n    for n in [3, 1]:\n        calls.append(own(n))\n"
    "    await asyncio.gather(*calls)\nexcept ValueError:\n    0\n0",
    "by a function that gathers": "async def all_of(calls):\n    return await asyncio.gather(*calls)\n"
    "try:\n    await all_of([own(n) for n in [3, 1]])\nexcept ValueError:\n    0\n0",
    "by a function that gathers, by its name": "async def all_of(more, calls):\n"
    "    return await asyncio.gather(*calls)\ntry:\n    rows = []\n    rows.append(own(3))\n"
    "    rows.append(own(1))\n    await all_of(1, calls=rows)\nexcept ValueError:\n    0\n0",
}
LOST = {
    "by a key that is there": "calls = {}\nfor n in [0, 1]:\n    calls['a'] = own(n)\n"
    "await asyncio.gather(*calls.values())\n0",
    "by a key that is there, at once": "calls = {'a': own(n) for n in [0, 1]}\n"
    "await asyncio.gather(*calls.values())\n0",
    "after all are gathered": "calls = []\nfor n in [0, 1]:\n    calls.append(own(n))\n"
    "await asyncio.gather(*calls)\ncalls.append(own(0))\n0",
    "gathered only in the loop": "calls = []\nfor n in [1, 2, 1]:\n    calls.append(own(n - n))\n"
    "    if n == 2:\n        await asyncio.gather(*calls)\n        calls.clear()\n0",
    "a new row for each": "for n in [1, 1]:\n    calls = []\n    calls.append(own(0))\n"
    "await asyncio.gather(*calls)\n0",
    "one of several": "calls = []\ncalls.append(own(0))\ncalls.append(own(1))\nawait calls[0]\n0",
    "in another function": "async def first():\n    calls = []\n    calls.append(own(0))\n"
    "    return len(calls)\nasync def second():\n    calls = []\n    calls.append(own(1))\n"
    "    return await asyncio.gather(*calls)\nawait second()\nawait first()",
    "given to one that gathers others": "async def all_of(calls, more):\n"
    "    return await asyncio.gather(*more)\nawait all_of([own(0)], [own(1)])\n0",
}


def ran(code: str) -> Any:
    async def look(n: int) -> int:
        return n

    async def work() -> Any:
        return (await Sandbox(workers=1).run(OWN + code, functions={"look": look})).value

    return asyncio.run(work())


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_would_have_been_gathered_is_let_be(code: str) -> None:
    assert ran(code) == 0


@pytest.mark.parametrize("code", LOST.values(), ids=LOST)
def test_what_nothing_came_back_to_is_a_fault(code: str) -> None:
    with pytest.raises(ProgramFault, match="`own` was called and never awaited"):
        ran(code)
