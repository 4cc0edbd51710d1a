"""Tools that a program hands on as values: to functions of its own, in tables, bound and mapped."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from quire import Session, tool
from quire.bridges import a1
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.programs.sandbox import Sandbox
from tests.programs.coding import coder_of, fenced

SAFE = """
import asyncio
async def safe(function, **given):
    try:
        return await function(**given)
    except Exception as fault:
        print("failed:", fault)
        return None
a, b = await asyncio.gather(safe(stock, lamp=lamp), safe(price, lamp=lamp))
output = {"stock": a, "price": b}
"""
RETRY = """
async def again(function, *args, times=3, **given):
    for n in range(times):
        try:
            return await function(*args, **given)
        except Exception:
            if n == times - 1:
                raise
output = {"stock": await again(stock, lamp), "price": await again(price, lamp=lamp)}
"""
TABLE = """
tools = {"stock": stock, "price": price}
output = {}
for name, function in tools.items():
    output[name] = await function(lamp=lamp)
"""
LIST = """
output = {}
for name, function in [("stock", stock), ("price", price)]:
    output[name] = await function(lamp)
"""
BOUND = """
from functools import partial
of_stock, of_price = partial(stock, lamp=lamp), partial(price, lamp)
output = {"stock": await of_stock(), "price": await of_price()}
"""
MAPPED = """
import asyncio
found = await asyncio.gather(*map(stock, [lamp, lamp]))
more = await asyncio.gather(*map(lambda one: price(lamp=one), [lamp]))
output = {"stock": found[0], "price": more[0]}
"""
ALIAS = "ask = stock if lamp else price\noutput = {'stock': await ask(lamp), 'price': await price(lamp=lamp)}"
PROGRAMS = {
    "a safe wrapper under gather": SAFE,
    "a helper that tries again": RETRY,
    "a table of tools": TABLE,
    "a list of tools": LIST,
    "bound arguments": BOUND,
    "mapped over a list": MAPPED,
    "another name": ALIAS,
}


@tool
async def stock(lamp: str) -> int:
    """How many there are."""
    return len(lamp)


@tool
def price(lamp: str) -> int:
    """What one costs."""
    return 10 * len(lamp)


class Lamp(BaseModel):
    lamp: str


class Found(BaseModel):
    stock: int | None
    price: int | None


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_a_coders_tools_can_be_handed_on(code: str) -> None:
    output = dict[str, int | None]
    task = Task("look", "Stock and price.", input={"lamp": str}, output=output, tools=[stock, price])
    answer = asyncio.run(coder_of(code, rounds=1).answer(task, lamp="green"))
    assert (answer.value, answer.printed) == ({"stock": 5, "price": 50}, "")


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_those_of_the_bridge_can_be_handed_on(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = a1.Strategy(num_candidates=1, max_iterations=1)
    runtime = a1.Runtime(generate=Scripted([fenced(code)]), strategy=one)
    agent = a1.Agent(name="look", input_schema=Lamp, output_schema=Found, tools=[stock, price])
    found = asyncio.run(runtime.jit(agent, lamp="green"))
    assert (found.stock, found.price) == (5, 50)


def test_models_can_be_handed_on() -> None:
    code = "async def ask(model, about):\n    return await model(about)\noutput = await ask(llm, 'why')"
    task = Task("ask", output=str, models=[Scripted(["because"])])
    session = Session.open("ana/one", store="memory:")
    coder = Coder(Scripted([fenced(code)]), session=session, candidates=1, rounds=1)
    assert asyncio.run(coder.answer(task, input="x")).value == "because"


class Odd:
    """A callable without a name."""

    async def __call__(self, n: int) -> int:
        return n + 1


async def added(a: int, b: int) -> int:
    return a + b


async def other(n: int) -> int:
    return n


def test_a_function_is_known_by_the_name_that_it_is_given_under() -> None:
    misnamed: Any = other
    functions = {"odd": Odd(), "bound": partial(added, 1), "mine": misnamed, "other": Odd()}
    code = "every = [odd, bound, mine, other]\n[await one(4) for one in every]"
    ran = asyncio.run(Sandbox(workers=1).run(code, functions=functions))
    assert (ran.value, ran.calls) == ([5, 5, 4, 5], 4)


MAPS = {
    "one list": ("list(map(str, [1, 2]))", ["1", "2"]),
    "two lists, the shorter one ends it": ("list(map(lambda a, b: a + b, [1, 2, 3], [1, 2]))", [2, 4]),
    "taken one by one": ("m = map(str, [1, 2])\n[next(m), next(m), next(m, None)]", ["1", "2", None]),
    "a map of its own": ("map = {'a': 1}\nmap['a']", 1),
    "of a function of its own": ("def twice(n): return 2 * n\nsum(map(twice, range(3)))", 6),
    "as a value": ("async def each(way, xs): return list(way(len, xs))\nawait each(map, ['ab'])", [2]),
}


@pytest.mark.parametrize("case", MAPS.values(), ids=MAPS)
def test_map_is_that_of_python(case: tuple[str, Any]) -> None:
    code, value = case
    assert asyncio.run(Sandbox(workers=1).run(code)).value == value
