"""Prices of programs: the calls that they mention, ten times in a loop, and what models cost."""

import pytest
from hypothesis import given, strategies as st

from quire.agent import tool
from quire.models import Scripted
from quire.programs import Price, Task, estimate


@tool
async def a(n: int = 0) -> int:
    return n


@tool
async def b(n: int = 0) -> list[int]:
    return []


TASK = Task("t", tools=[a, b])
CALLS = {
    "x = 1": 0,
    "await a(await b())": 2,
    "for n in range(2): await a()": 10,
    "for n in await b(): await a()": 11,
    "for n in x:\n    for m in y: await a()": 100,
    "[await a(n) for n in await b() if await b(n)]": 21,
    "import asyncio\nawait asyncio.gather(*[a(n) for n in x], b())": 11,
    "if x: await a()\nelse: await b()": 2,
    "async def f(): await a()": 0,
    "async def f(): await a(); await b()\nawait f()\nfor x in y: await f()": 22,
    "async def f(): await f(); await a()\nawait f()": 1,
}


@pytest.mark.parametrize(("code", "calls"), CALLS.items())
def test_calls_are_counted(code: str, calls: int) -> None:
    assert estimate(code, TASK) == Price(0.0, calls)


def test_models_cost_their_price_and_prices_are_compared_by_money_first() -> None:
    for name in ("gpt-5.6", "a-model-of-unknown-price"):
        assert estimate("await llm('?')", Task("t", models=[Scripted([], name=name)])).money > 0
    assert Price(1, 9) < Price(2, 0) < Price(2, 1)


@pytest.mark.laws
@given(st.lists(st.sampled_from(["await a()", "await b()", "for n in x: await a()", "y = 1"]), max_size=6))
def test_more_text_never_costs_less(lines: list[str]) -> None:
    prices = [estimate("\n".join(lines[:count]), TASK) for count in range(len(lines) + 1)]
    assert prices == sorted(prices)


def test_functions_that_call_each_other_twice_take_no_longer() -> None:
    size = 600
    calls = (f"async def f{n}():\n    await f{n + 1}()\n    await f{n + 1}()\n" for n in range(size))
    code = "".join(calls) + f"async def f{size}(): await a()\nawait f0()"
    assert estimate(code, TASK).calls == 1e12
