"""Own async functions of programs: as values they are seen as by their names, and nothing of them changes."""

import asyncio
from typing import Any

import pytest

from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox

OWN = "import asyncio\nasync def own(n):\n    if n < 0:\n        raise ValueError('no')\n    return n\n"
LOST = {
    "chosen by": "len(list(filter(own, [1, 2])))",
    "mapped": "len([*map(own, [1])])",
    "given to a function": "def go(fn, to):\n    fn(to)\ngo(own, 1)\n0",
    "given by name": "def go(*, fn):\n    fn(1)\ngo(fn=own)\n0",
    "given to one of two": "async def wait(fn):\n    return await fn(1)\ndef go(fn):\n    fn(1)\n"
    "await wait(own)\ngo(own)\n0",
    "given on": "def keep(fn, rows):\n    return list(filter(fn, rows))\nlen(keep(own, [1]))",
    "given back": "def give(fn):\n    return fn\ngive(own)(1)\n0",
    "by another name": "other = own\nother(1)\n0",
    "by a name of a class": "class Own:\n    send = own\nOwn.send(1)\n0",
    "one of two": "other = own if True else own\nother(1)\n0",
    "from a table": "table = {'a': own}\ntable['a'](1)\n0",
    "in a loop": "for one in (own, own):\n    one(1)\n0",
    "from a list": "steps = [own]\nfor one in steps:\n    await one(1)\nsteps[0](1)\n0",
    "with arguments bound": "from functools import partial\nbound = partial(own, 1)\nbound()\n0",
}
HEADS = {
    "on one line": "async def other(n): return n\n",
    "over two lines": "async def other(n): \\\n    return n\n",
    "with a doc": "async def other(n):\n    '''Other.'''\n    return n\n",
    "with a name of all": "x = 1\nasync def other(n):\n    global x\n    return n\n",
    "with a condition": "async def other(n):  # first\n    # second\n\n    if n:\n        return n\n"
    "    return n\n",
    "with a loop": "async def other(n):\n\twhile True:\n\t\treturn n\n",
    "with a function": "async def other(n):\n    async def inner(m):\n        for one in [m]:\n"
    "            return one\n    return await inner(n)\n",
    "in a function": "def outer():\n    async def other(n):\n        try:\n            return n\n"
    "        finally:\n            pass\n    return other\nmade = outer()\nasync def called(n):\n"
    "    return await made(n)\n",
    "with a decorated function": "def same(fn):\n    return fn\nasync def other(n):\n    @same\n"
    "    def inner():\n        return n\n    return inner()\n",
}
RIGHT = {
    "tried again": "async def retry(fn, n):\n    for _ in range(2):\n        try:\n"
    "            return await fn(n)\n        except ValueError:\n            pass\n    return 0\n"
    "await retry(own, -1)",
    "mapped": "sum(await asyncio.gather(*map(own, [0, 0])))",
    "mapped where one fails": "try:\n    await asyncio.gather(*map(own, [-1, 1]))\n"
    "except ValueError:\n    0\n0",
    "in a list where one fails": "calls = list(map(own, [-1, 1]))\ntry:\n    await asyncio.gather(*calls)\n"
    "except ValueError:\n    0\n0",
    "given to one that gathers": "async def all_of(fn, rows):\n"
    "    return await asyncio.gather(*[fn(n) for n in rows])\nasync def one_of(fn):\n"
    "    return await fn(1)\nawait one_of(own)\ntry:\n    await all_of(own, rows=[-1, 1])\n"
    "except ValueError:\n    0\n0",
    "in a loop where one fails": "steps = [own, own]\ntry:\n"
    "    await asyncio.gather(*[one(-1) for one in steps])\nexcept ValueError:\n    0\n0",
    "left under a name": "async def may(fn, does):\n    call = fn(1)\n    return await call if does else 0\n"
    "await may(own, False)",
    "left by another name": "other = own\na = other(0)\nb = other(1)\nfound = await a\nif found:\n"
    "    await b\nfound",
    "from a table": "table = {'a': own}\nawait table['a'](0)",
    "the same as itself": "other = own\n0 if other is own and other == own else 1",
    "within itself": "async def outer():\n    total = 0\n    async def down(n):\n        nonlocal total\n"
    "        total += n\n        if n:\n            await down(n - 1)\n    await down(3)\n"
    "    return total - 6\nawait outer()",
    "with lines of another system": "async def one(n):\r\n    if n:\r\n        return 1\r\n    return n\r\n"
    "await one(0)",
}


def ran(code: str, bounds: Bounds | None = None) -> Any:
    async def look(n: int) -> int:
        return n

    async def work() -> Any:
        functions = {"look": look}
        return (await Sandbox(workers=1).run(code, functions=functions, bounds=bounds or Bounds())).value

    return asyncio.run(work())


@pytest.mark.parametrize("code", LOST.values(), ids=LOST)
def test_calls_of_a_value_that_are_lost_are_a_fault(code: str) -> None:
    with pytest.raises(ProgramFault, match="`own` was called and never awaited") as raised:
        ran(OWN + code)
    assert raised.value.kind == "types" and raised.value.line is not None


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_those_that_are_awaited_are_not(code: str) -> None:
    assert ran(OWN + code) == 0


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_however_a_function_begins_it_is_itself(head: str) -> None:
    name = "called" if "called" in head else "other"
    assert ran(f"{head}await {name}(7)") == 7
    at = head.count("\n") + 2
    with pytest.raises(ProgramFault, match="ZeroDivisionError") as raised:
        ran(f"{head}await {name}(7)\n1 // 0")
    assert raised.value.line == at


def test_a_fault_within_has_its_line() -> None:
    code = "async def one(n):\n    for k in [n]:\n        async def two():\n            while True:\n"
    with pytest.raises(ProgramFault) as raised:
        ran(f"{code}                1 // 0\n        await two()\nawait one(1)")
    assert raised.value.line == 5


DEEP = {
    "plain": "def walk(n):\n    return 1 if n == 1 else 1 + walk(n - 1)\nwalk({})",
    "awaited": "async def walk(n):\n    return 1 if n == 1 else 1 + await walk(n - 1)\nawait walk({})",
    "put aside": "async def walk(n):\n    if n == 1:\n        return 1\n    call = walk(n - 1)\n"
    "    return 1 + await call\nawait walk({})",
    "as a value": "async def walk(fn, n):\n    return 1 if n == 1 else 1 + await fn(fn, n - 1)\n"
    "await walk(walk, {})",
    "with a tool": "async def walk(n):\n    return await look(1) if n == 1 else 1 + await walk(n - 1)\n"
    "await walk({})",
}


@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP)
def test_all_of_them_go_as_deep_as_they_may(code: str) -> None:
    for depth in (20, Bounds().depth):
        assert ran(code.format(depth), Bounds(depth=depth)) == depth
        with pytest.raises(ProgramFault, match="recursion") as raised:
            ran(code.format(depth + 5), Bounds(depth=depth))
        assert raised.value.kind == "limit"
