"""Prices of programs: the calls, how often they are made, and what each one costs."""

import pytest
from hypothesis import given, strategies as st

from quire.models import Scripted
from quire.programs import Cost, Price, Program, ProgramFault, estimate, price_of
from tests.programs.coding import ADDING, solving

COSTS = {"a": Cost(1.0, 2.0), "b": Cost(10.0, 3.0)}
PRICES = {
    "x = 1": (0, 0, 0),
    "await a()": (1, 2, 1),
    "await a(await b())": (11, 5, 2),
    "for n in [1, 2, 3]: await a()": (3, 6, 3),
    "for n in range(2, 8, 2): await a()": (3, 6, 3),
    "for n in things: await a()": (10, 20, 10),
    "for n in range(2):\n    for m in range(3): await a()": (6, 12, 6),
    "xs = [1, 2]\nfor n, x in enumerate(xs): await a()": (2, 4, 2),
    "xs = []\nxs.append(3)\nfor x in xs: await a()": (10, 20, 10),
    "xs = sorted(xs)\nfor x in xs: await a()": (10, 20, 10),
    "for k, v in {'x': 1}.items(): await a()": (1, 2, 1),
    "while True: await a()": (10, 20, 10),
    "[await a() for n in range(3)]": (3, 6, 3),
    "{n: await a() for n in range(3) if await b()}": (33, 15, 6),
    "if x: await a()\nelse: await b()": (10, 3, 1),
    "y = await a() if x else await b()": (10, 3, 1),
    "try: await a()\nexcept ValueError: await b()": (11, 5, 2),
    "await asyncio.gather(a(), b())": (11, 3, 2),
    "await gather(*(a() for n in range(5)))": (5, 2, 5),
    "calls = [a() for n in range(5)]\nawait asyncio.gather(*calls)": (5, 2, 5),
    "await asyncio.gather(*[a(), b()])": (11, 3, 2),
    "async def f(): await a()": (0, 0, 0),
    "async def f(): await a()\nawait f()\nawait f()": (2, 4, 2),
    "async def f(): await f(); await a()\nawait f()": (1, 2, 1),
    "async def one(n): return await a()\nawait asyncio.gather(*[one(n) for n in range(3)])": (3, 2, 3),
    "async def a(): return 1\nawait a()": (1, 2, 1),
    "async def f(): await g()\nasync def g(): await a()\nawait g()\nawait f()": (2, 4, 2),
    "class C:\n    async def m(self): await a()\nc = C()\nawait c.m()": (1, 2, 1),
    "f = a\nawait f()": (1, 2, 1),
    "await asyncio.gather(*map(a, things))": (10, 2, 10),
    "await asyncio.gather(*map(lambda n: a(n), range(4)))": (4, 2, 4),
    "async def one(n): await a(n)\nawait asyncio.gather(*map(one, [1, 2]))": (2, 2, 2),
    "for n in filter(None, [1, 2]): await a(n)": (2, 4, 2),
    "await asyncio.gather(*map(a, await b()))": (20, 5, 11),
    "obj.a()": (0, 0, 0),
    f"for n in range({10**40}): await a()": (1e12, 1e12, 1e12),
}


def test_prices() -> None:
    found = {code: price_of(code, COSTS) for code in PRICES}
    assert found == {code: Price(*price) for code, price in PRICES.items()}


def test_the_length_of_unknown_loops_can_be_given() -> None:
    assert price_of("for n in things: await a()", COSTS, unknown=3).calls == 3


def test_tools_cost_a_second_and_models_their_price() -> None:
    free = estimate(Program(ADDING, ()), solving())
    assert free == Price(0.0, 1.0, 1.0)
    for name in ("gpt-5.6", "a-model-of-unknown-price"):
        asking = estimate(Program("output = await llm('?')", ()), solving(models=[Scripted([], name=name)]))
        assert asking.money > 0 and free < asking
    assert Price(1, 9, 9) < Price(2, 0, 0) < Price(2, 1, 0) < Price(2, 1, 1)


@pytest.mark.laws
@given(st.lists(st.sampled_from(["await a()", "await b()", "for n in x: await a()", "y = 1"]), max_size=6))
def test_more_text_never_costs_less(lines: list[str]) -> None:
    prices = [price_of("\n".join(lines[:count]), COSTS) for count in range(len(lines) + 1)]
    assert prices == sorted(prices)


def doubling(size: int) -> str:
    """Functions that each call the next one twice."""
    calls = (f"async def f{n}():\n    await f{n + 1}()\n    await f{n + 1}()\n" for n in range(size))
    return "".join(calls) + f"async def f{size}(): await a()\nawait f0()"


def test_functions_that_call_each_other_twice_take_no_longer() -> None:
    assert price_of(doubling(20), COSTS).calls == 2**20
    assert price_of(doubling(60), COSTS).calls == 1e12


def test_a_program_that_cannot_be_read_is_a_fault_or_costs_the_most() -> None:
    assert price_of(doubling(600), COSTS).calls == 1e12
    with pytest.raises(ProgramFault):
        price_of("await a(", COSTS)
