"""Pricing: calls, how often they are made, and what each costs."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.programs.faults import ProgramFault
from quire.programs.pricing import Cost, Price, cost_of_model, price_of

COSTS = {"a": Cost(1.0, 2.0), "b": Cost(10.0, 3.0)}
PRICES = {
    "x = 1": (0, 0, 0),
    "await a()": (1, 2, 1),
    "await a(await b())": (11, 5, 2),
    "for n in [1, 2, 3]: await a()": (3, 6, 3),
    "for n in range(4): await a()": (4, 8, 4),
    "for n in range(2, 8, 2): await a()": (3, 6, 3),
    "for n in things: await a()": (10, 20, 10),
    "for n in range(2):\n    for m in range(3): await a()": (6, 12, 6),
    "xs = [1, 2]\nfor n, x in enumerate(xs): await a()": (2, 4, 2),
    "xs = [1, 2]\nxs.append(3)\nfor x in xs: await a()": (10, 20, 10),
    "for k, v in {'x': 1}.items(): await a()": (1, 2, 1),
    "while True: await a()": (10, 20, 10),
    "[await a() for n in range(3)]": (3, 6, 3),
    "{n: await a() for n in range(3) if await b()}": (33, 15, 6),
    "if x: await a()\nelse: await b()": (10, 3, 1),
    "y = await a() if x else await b()": (10, 3, 1),
    "match x:\n    case 1: await a()\n    case _: await b()": (10, 3, 1),
    "try: await a()\nexcept ValueError: await b()": (11, 5, 2),
    "await asyncio.gather(a(), b())": (11, 3, 2),
    "await asyncio.gather(*[a() for n in range(5)])": (5, 2, 5),
    "await gather(*(a() for n in range(5)))": (5, 2, 5),
    "calls = [a() for n in range(5)]\nawait asyncio.gather(*calls)": (5, 2, 5),
    "await asyncio.gather(*[a(), b()])": (11, 3, 2),
    "async def f(): await a()": (0, 0, 0),
    "async def f(): await a()\nawait f()\nawait f()": (2, 4, 2),
    "async def f(): await f(); await a()\nawait f()": (1, 2, 1),
    "async def one(n): return await a()\nawait asyncio.gather(*[one(n) for n in range(3)])": (3, 2, 3),
    "async def a(): return 1\nawait a()": (1, 2, 1),
    "async def f(): await g()\nasync def g(): await f(); await a()\nawait f()": (1, 2, 1),
    "async def f(): await g()\nasync def g(): await a()\nawait g()\nawait f()": (2, 4, 2),
    "class C:\n    async def m(self): await a()\nc = C()\nawait c.m()": (1, 2, 1),
    "class C:\n    def __init__(self): self.call = a()\nawait C().call": (1, 2, 1),
    "f = a\nawait f()": (1, 2, 1),
    "f = a\nfor n in range(3): await f()": (3, 6, 3),
    "f = a if x else b\nawait f()\nawait f()": (20, 6, 2),
    "f = a\ng = f\n[await g() for n in range(3)]": (3, 6, 3),
    "t = {'x': a}\nfor n in range(3): await t['x'](n)": (3, 6, 3),
    "t = {'x': a, 'y': b}\nfor k, f in t.items(): await f(k)": (11, 5, 2),
    "g = partial(a, 1)\nfor n in range(3): await g(n)": (3, 6, 3),
    "f = lambda n: a(n)\nfor n in range(3): await f(n)": (3, 6, 3),
    "async def one(n): await a()\nf = lambda n: one(n)\nawait f(1)": (1, 2, 1),
    "f = a\nf = b\nawait f()": (11, 5, 2),
    "f = a": (0, 0, 0),
    "await asyncio.gather(*map(a, things))": (10, 2, 10),
    "await asyncio.gather(*map(a, [1, 2, 3]))": (3, 2, 3),
    "await asyncio.gather(*map(lambda n: a(n), range(4)))": (4, 2, 4),
    "async def one(n): await a(n)\nawait asyncio.gather(*map(one, [1, 2]))": (2, 2, 2),
    "for n in map(str, [1, 2]): await a(n)": (2, 4, 2),
    "for n in filter(None, [1, 2]): await a(n)": (2, 4, 2),
    "await asyncio.gather(*map(a, await b()))": (20, 5, 11),
    "f = lambda n: a(n)\nawait f(1)": (1, 2, 1),
    "obj.a()": (0, 0, 0),
}


@pytest.mark.parametrize("code", PRICES)
def test_the_price_of(code: str) -> None:
    assert price_of(code, COSTS) == Price(*PRICES[code])


def test_what_is_unknown_can_be_said() -> None:
    assert price_of("for n in things: await a()", COSTS, unknown=3).calls == 3


@pytest.mark.laws
@given(st.lists(st.sampled_from(["await a()", "await b()", "for n in x: await a()", "y = 1"]), max_size=6))
def test_more_text_never_costs_less(lines: list[str]) -> None:
    prices = [price_of("\n".join(lines[:count]), COSTS) for count in range(len(lines) + 1)]
    assert prices == sorted(prices)


def test_prices_are_compared_by_money_first() -> None:
    assert Price(1, 9, 9) < Price(2, 0, 0) < Price(2, 1, 0) < Price(2, 1, 1)


def test_models_cost_what_is_known_of_them() -> None:
    assert cost_of_model("gpt-5.6").money > 0
    assert cost_of_model("nobody-knows-this-one").money > 0


def doubling(size: int) -> str:
    """Functions that each call the next one twice."""
    calls = (f"async def f{n}():\n    await f{n + 1}()\n    await f{n + 1}()\n" for n in range(size))
    return "".join(calls) + f"async def f{size}(): await a()\nawait f0()"


def circling(size: int) -> str:
    """Functions that call one another in a circle."""
    calls = (f"async def f{n}(): await f{(n * 7 + 1) % size}(); await a()\n" for n in range(size))
    return "".join(calls) + "await f0()"


def naming(size: int) -> str:
    """Many names."""
    return "".join(f"x{n} = [1]\n" for n in range(size))


def looping(size: int) -> str:
    """Many loops."""
    return "x = [1, 2]\n" + "for n in x: await a()\n" * size


def work_of(code: str) -> int:
    """How much is done to price a program: calls, by size where one goes through a whole list."""
    done = 0

    def count(_frame: Any, event: str, called: Any) -> None:
        nonlocal done
        if event in ("call", "c_call"):
            whole = getattr(called, "__name__", "") in ("count", "index", "split", "splitlines")
            done += len(called.__self__) if whole else 1

    sys.setprofile(count)
    try:
        price_of(code, COSTS)
    finally:
        sys.setprofile(None)
    return done


@pytest.mark.laws
@pytest.mark.parametrize("growing", [doubling, circling, naming, looping])
@given(st.integers(5, 40))
def test_the_work_grows_with_the_text_and_no_faster(growing: Callable[[int], str], size: int) -> None:
    assert work_of(growing(2 * size)) < 3 * work_of(growing(size)) + 2_000


def test_what_is_called_twice_is_counted_twice() -> None:
    assert price_of(doubling(20), COSTS).calls == 2**20
    assert price_of(doubling(500), COSTS).calls == 1e12


@pytest.mark.parametrize("code", ["x = (", "f" + "(f" * 3_000 + ")" * 3_000, "x" + ".x" * 30_000])
def test_what_cannot_be_read_is_a_fault(code: str) -> None:
    with pytest.raises(ProgramFault):
        price_of(code, COSTS)


def test_a_loop_without_end_has_a_price() -> None:
    assert price_of(f"for n in range({10**40}): await a()", COSTS).calls == 1e12
