"""Calls that a program puts aside: they are made when it awaits them, and those that it does not are not."""

import asyncio
from time import perf_counter

import pytest

from quire import Session
from quire.agent import tool
from quire.programs import Coder, Task
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox
from tests.programs.coding import coder_of, run, said


class Host:
    """Functions that note when they are called."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.made: list[int] = []
        self._seconds = seconds

    async def pay(self, n: int) -> int:
        self.made.append(n)
        await asyncio.sleep(self._seconds)
        return n

    async def look(self, n: int) -> list[int]:
        """What was paid when it was called."""
        return [*self.made]

    async def ran(self, code: str) -> object:
        functions = {"pay": self.pay, "look": self.look}
        return (await Sandbox(workers=1).run(f"import asyncio\n{code}", functions=functions)).value


LEFT_ALONE = {
    "a list": "calls = [pay(n) for n in [1, 2]]\nif False:\n    await asyncio.gather(*calls)\n0",
    "several names": "a, b = look(1), pay(1)\nawait a\nif False:\n    await b\n0",
    "in a function": "async def own(does):\n    call = pay(1)\n    return await call if does else 0\n"
    "await own(False)",
    "a function of its own": "async def own():\n    return await pay(1)\ncall = own()\n"
    "if False:\n    await call\n0",
    "others of a dict": "calls = {'a': pay(1), 'b': look(1)}\nawait calls['b']\n0",
    "under a condition": "call = pay(1)\nresult = await call if False else 0\nresult",
    "under a condition, annotated": "call: object = pay(1)\nif False:\n    await call\n0",
    "before an error that is caught": "try:\n    await asyncio.gather(pay(1), 1 // 0)\n"
    "except ZeroDivisionError:\n    0\n0",
    "beside a call that fails": "async def fail(): raise ValueError('no')\n"
    "try:\n    await asyncio.gather(fail(), *[pay(n) for n in [1]])\nexcept ValueError:\n    0\n0",
}
LOST = {
    "given to a function": "async def may(call, does):\n"
    "    return await call if does else 0\nawait may(pay(1), False)",
    "beside one that is awaited": "call = pay(1)\nawait look(1)\n0",
    "in a function of its own": "async def own():\n    call = pay(1)\n    await look(1)\n"
    "await asyncio.gather(own(), look(2))\n0",
    "mapped": "calls = [*map(pay, [1, 2])]\nawait look(1)\n0",
    "given back beside something else": "async def own(n):\n    if n > 9:\n        return 'too much'\n"
    "    return pay(n)\nsum(1 for one in await asyncio.gather(*[own(n) for n in [1, 2]]) if one)",
    "given back by a name": "async def own(n):\n    paid = pay(n)\n    return paid\nawait own(1)\n0",
    "given back in a dict": "async def own(n):\n    return {'paid': pay(n)}\nlen(await own(1))",
    "given back or not": "async def own(n):\n    return pay(n) if n else None\nlen([await own(1)])",
    "given back by a method": "class Own:\n    async def go(self, n):\n        return pay(n)\n"
    "await Own().go(1)\n0",
    "given back by a lambda": "len([*map(lambda n: pay(n), [1])])",
    "in a loop that the await is not in": "for n in [1, 2]:\n    call = pay(n)\nawait call",
    "under a name that is given another": "call = pay(1)\ncall = pay(2)\nawait call",
    "under a name that another function awaits": "async def own():\n    call = pay(1)\n    return 0\n"
    "async def other():\n    call = look(1)\n    return await call\nawait other()\nawait own()",
    "by a function that is gathered": "async def own(call):\n    return 0\n"
    "await asyncio.gather(*[own(pay(n)) for n in [1, 2]])\n0",
    "by another name": "other = pay\nother(1)\n0",
    "some of them": "calls = [pay(n) for n in [1, 2, 3]]\nawait calls[0]\n0",
}


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_not_awaited_is_not_called(code: str) -> None:
    host = Host()
    assert asyncio.run(host.ran(code)) == 0
    assert host.made == []


@pytest.mark.parametrize("code", LOST.values(), ids=LOST)
def test_a_program_that_lost_calls_gives_no_answer(code: str) -> None:
    host = Host()
    with pytest.raises(ProgramFault, match="`pay` was called and never awaited") as raised:
        asyncio.run(host.ran(code))
    assert raised.value.kind == "types"
    assert host.made in ([], [1], [2])


LOST_OWN = {
    "rows that a function makes": "def start():\n    jobs = []\n    for n in [1, 2]:\n"
    "        jobs.append(own(n))\n    return jobs\nlen(start())",
    "rows within a dict": "state = {'jobs': []}\nstate['jobs'].append(own(1))\nlen(state['jobs'])",
    "given back": "async def other(n):\n    if n:\n        return own(n)\n    return [n]\nawait other(1)\n0",
    "one of two": "calls = [own(1), own(2)]\nlen([await one for one in calls[:1]])",
}


@pytest.mark.parametrize("code", LOST_OWN.values(), ids=LOST_OWN)
def test_so_are_calls_of_its_own_functions(code: str) -> None:
    host = Host()
    with pytest.raises(ProgramFault, match="`own` was called and never awaited"):
        asyncio.run(host.ran(f"async def own(n):\n    return await pay(n)\n{code}"))


def test_its_own_functions_are_called_as_before() -> None:
    code = (
        "async def own(n, *more, last=0):\n    return n + last if n else await own(1, last=last)\n"
        "rows = [own(n, last=5) for n in (own(2), own(3)) if True] if False else [own(0, 1, last=2)]\n"
        "[await one for one in rows], await asyncio.gather(*(own(n) for n in [4])), "
        "f'{await own(6)}', [*map(str, [await own(7)])]"
    )
    assert asyncio.run(Host().ran(code)) == [[3], [4], "6", ["7"]]


def test_a_lost_call_is_told_with_its_line_and_the_model_writes_again() -> None:
    paid: list[int] = []

    @tool
    async def pay(n: int) -> int:
        """Pay so much."""
        paid.append(n)
        return n

    own = "async def own(n):\n    if n > 9:\n        return [n]\n    return {}\nawait own(n)\noutput = n"
    task = Task("pay", input={"n": int}, output=int, tools=[pay])

    async def work() -> None:
        coder = coder_of(own.format("pay(n)"), own.format("await pay(n)"))
        assert (await coder.answer(task, n=3)).value == 3
        told = "".join(text for name in coder.session.transcripts for _, text in said(coder.session, name))
        assert "never awaited" in told and "line 4, `return pay(n)`" in told

    run(work)
    assert paid == [3]


MADE: dict[str, tuple[str, object]] = {
    "later": ("call = pay(1)\nfirst = await look(1)\nsecond = await call\n[first, second]", [[], 1]),
    "later, together": (
        "calls = [pay(n) for n in [1, 2]]\n[await look(1), await asyncio.gather(*calls)]",
        [[], [1, 2]],
    ),
    "by a function": ("async def wait(call):\n    return await call\nawait wait(pay(3))", 3),
    "one of a dict": ("calls = {'a': pay(1), 'b': pay(2)}\n[await calls['b'], await look(1)]", [2, [2]]),
    "of a value": ("from functools import partial\nf = partial(pay, n=4)\nawait f()", 4),
    "with any names": ("await pay(**{'n': 5})", 5),
}


@pytest.mark.parametrize("case", MADE.values(), ids=MADE)
def test_what_is_awaited_is_called_then(case: tuple[str, object]) -> None:
    code, value = case
    assert asyncio.run(Host().ran(code)) == value


def test_what_is_gathered_goes_on_side_by_side() -> None:
    async def timed() -> float:
        host, sandbox = Host(0.5), Sandbox(workers=1)
        await sandbox.run("1")
        begun = perf_counter()
        code = "import asyncio\ncalls = [pay(n) for n in range(8)]\nawait asyncio.gather(*calls)"
        await sandbox.run(code, functions={"pay": host.pay})
        return perf_counter() - begun

    assert 0.5 <= asyncio.run(timed()) < 3.5, "one after the other takes four seconds"


def test_a_call_that_fails_is_told_with_the_line_of_the_program() -> None:
    async def fail() -> None:
        raise ValueError("no")

    own = "import asyncio\nasync def own():\n    return await fail()\n"
    code = f"{own}calls = [own()]\nawait asyncio.gather(*calls)"
    for text, line in (("x = 1\ncall = fail()\nawait call", 3), (code, 3)):
        with pytest.raises(ProgramFault) as raised:
            asyncio.run(Sandbox(workers=1).run(text, functions={"fail": fail}))
        assert raised.value.kind == "raised" and raised.value.line == line


def test_what_was_put_aside_is_not_on_the_record() -> None:
    steps: list[str] = []

    @tool
    async def ship(order: str) -> str:
        """Ship an order."""
        steps.append(order)
        return "shipped"

    @tool
    async def stock(sku: str) -> int:
        """How many there are."""
        return 0

    code = (
        "shipping = ship('o1')\nleft = await stock('lamp')\noutput = await shipping if left else 'none left'"
    )

    async def work() -> None:
        coder = Coder(session=Session.open("ana/one", store="memory:"))
        task = Task("ship", input={"n": int}, output=str, tools=[ship, stock])
        assert (await coder.run(task, code, n=1)).value == "none left"
        assert steps == []
        assert [text for kind, text in said(coder.session) if kind == "call"] == ['stock {"sku": "lamp"}']

    run(work)
