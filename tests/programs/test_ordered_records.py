"""Records that a program sorts, takes the largest of or gathers by a function of its own: they are dicts."""

import asyncio
from typing import Any, TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from quire.programs.sandbox import Sandbox
from tests.programs.coding import coder_of, run


class Order(TypedDict):
    """An order."""

    id: str
    cents: int


class Named(TypedDict):
    """An order with a name."""

    id: str
    cents: int
    name: str


@tool(idempotent=True)
async def list_orders() -> list[Order]:
    """List orders."""
    return [{"id": "a", "cents": 3}, {"id": "b", "cents": 5}]


LARGEST = [{"id": "b", "cents": 5}, {"id": "a", "cents": 3}]
PRICE = "def price(order: dict) -> float:\n    return order['cents'] * 2\norders = await list_orders()\n"
TYPED = "from typing import Any, Dict\n" + PRICE.replace(": dict", ": Dict[str, Any]")
STEP = (
    "from functools import reduce\ndef add(sum: int, order: dict) -> int:\n    return sum + order['cents']\n"
)
RIGHT: dict[str, tuple[Any, str, Any]] = {
    "sorted by its function": (
        list[str],
        PRICE + "output = [o['id'] for o in sorted(orders, key=price, reverse=True)]",
        ["b", "a"],
    ),
    "sorted by one that says more of it": (
        list[str],
        TYPED + "output = [o['id'] for o in sorted(orders, key=price, reverse=True)]",
        ["b", "a"],
    ),
    "sorted in place": (
        list[str],
        PRICE + "orders.sort(key=price, reverse=True)\noutput = [o['id'] for o in orders]",
        ["b", "a"],
    ),
    "the largest by its function": (
        str,
        PRICE + "best = max(orders, key=price)\noutput = best['id']",
        "b",
    ),
    "both at once": (
        list[dict[str, Any]],
        PRICE + "output = sorted(orders, key=price, reverse=True)",
        LARGEST,
    ),
    "sorted as the answer": (
        list[dict[str, Any]],
        "output = sorted(await list_orders(), key=lambda o: -o['cents'])",
        LARGEST,
    ),
    "the largest as the answer": (
        dict[str, Any],
        "output = max(await list_orders(), key=lambda o: o['cents'])",
        LARGEST[0],
    ),
    "the largest, or an empty one": (
        dict[str, Any],
        "output = max(await list_orders(), key=lambda o: o['cents'], default={})",
        LARGEST[0],
    ),
    "within the answer": (
        dict[str, list[dict[str, Any]]],
        "output = {'rows': sorted(await list_orders(), key=lambda o: -o['cents'])}",
        {"rows": LARGEST},
    ),
    "returned": (
        list[dict[str, Any]],
        "def ordered(rows: list[ListOrdersResultItem]) -> list[dict]:\n"
        "    return sorted(rows, key=lambda o: -o['cents'])\n"
        "output = ordered(await list_orders())",
        LARGEST,
    ),
    "with keys that it puts in": (
        list[dict[str, Any]],
        "rows = await list_orders()\nfor n, row in enumerate(rows):\n    row['n'] = n\n"
        "output = sorted(rows, key=lambda row: -row['n'])",
        [{**one, "n": 1 - n} for n, one in enumerate(LARGEST)],
    ),
    "as other records": (
        list[Order],
        PRICE + "output = sorted(orders, key=price, reverse=True)",
        LARGEST,
    ),
    "as other records, with a key that it puts in": (
        list[Named],
        "rows = await list_orders()\nfor row in rows:\n    row['name'] = 'x'\n"
        "output = sorted(rows, key=lambda row: row['id'])",
        [{**one, "name": "x"} for one in reversed(LARGEST)],
    ),
    "one after the other": (
        list[dict[str, Any]],
        PRICE + "ranked = sorted(orders, key=price)\noutput = sorted(ranked, key=lambda o: -o['cents'])",
        LARGEST,
    ),
    "added up by its function": (int, STEP + "output = reduce(add, await list_orders(), 0)", 8),
    "pairs of a dict": (
        list[tuple[str, int]],
        "counts = {o['id']: o['cents'] for o in await list_orders()}\n"
        "output = sorted(counts.items(), key=lambda pair: pair[1], reverse=True)",
        [("b", 5), ("a", 3)],
    ),
    "a row": (
        tuple[int, float],
        "rows = await list_orders()\noutput = (len(rows), sum(o['cents'] / 2 for o in rows))",
        (2, 4.0),
    ),
    "a row of another length": (tuple[float, ...], "output = (1, 2.5, len(q))", (1.0, 2.5, 1.0)),
}


def ordering(output: Any) -> Task:
    return Task("order", input={"q": str}, output=output, tools=[list_orders])


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_it_is_taken(case: tuple[Any, str, Any]) -> None:
    output, code, value = case

    async def work() -> None:
        assert (await coder_of().run(ordering(output), code, q="x")).value == value

    run(work)


WRONG: dict[str, tuple[Any, str, str]] = {
    "a function of texts": (
        str,
        "def size(text: str) -> int:\n    return len(text)\nrows = await list_orders()\n"
        "output = max(rows, key=size)['id']",
        "`list[ListOrdersResultItem]`, `def size(text: str) -> int`",
    ),
    "a function of dicts, for texts": (
        list[str],
        PRICE + "output = sorted([o['id'] for o in orders], key=price)",
        "`list[str]`, `def price(order: dict[Unknown, Unknown]) -> float`",
    ),
    "a function that gives nothing": (
        list[str],
        PRICE.replace("-> float", "-> None").replace("return ", "")
        + "output = [o['id'] for o in sorted(orders, key=price)]",
        "`def price(order: dict[Unknown, Unknown]) -> None`",
    ),
    "what is no function": (
        list[str],
        "n = len(q)\noutput = sorted(['a'], key=n)",
        "`int`",
    ),
    "a key that they lack": (
        list[dict[str, Any]],
        "output = sorted(await list_orders(), key=lambda o: o['cent'])",
        'Unknown key "cent"',
    ),
    "a key that they lack, of the largest": (
        str,
        PRICE + "output = max(orders, key=price)['name']",
        'Unknown key "name"',
    ),
    "an answer of texts": (
        list[str],
        "output = sorted(await list_orders(), key=lambda o: o['id'])",
        "`list[ListOrdersResultItem]` is not assignable to `list[str]`",
    ),
    "dicts with another key": (
        list[Order],
        "output = sorted([{'id': c, 'cent': 1} for c in q], key=lambda o: o['id'])",
        "",
    ),
    "records that lack a key": (
        list[Named],
        "output = sorted(await list_orders(), key=lambda o: o['id'])",
        "`list[ListOrdersResultItem]` is not assignable to `list[OutputItem]`",
    ),
    "a record that lacks a key": (
        Named,
        "output = max(await list_orders(), key=lambda o: o['id'])",
        "`ListOrdersResultItem` is not assignable to `Output`",
    ),
    "a function that is not called right": (
        list[str],
        PRICE + "output = [o['id'] for o in sorted(orders, key=price())]",
        "No argument provided",
    ),
    "a row of others": (tuple[int, int], "output = (1, 2.5)", "is not assignable to `list[int]`"),
    "another number in a row": (list[tuple[str, int]], "output = [(o, 1.5) for o in q]", "tuple[str, float]"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_with_what_it_was(case: tuple[Any, str, str]) -> None:
    output, code, told = case

    async def work() -> None:
        with pytest.raises(ProgramFault) as refused:
            await coder_of().run(ordering(output), code, q="x")
        assert refused.value.kind == "types" and not refused.value.has_acted
        assert told in str(refused.value) and "quire_" not in str(refused.value)
        assert "Revealed" not in str(refused.value)

    run(work)


def test_what_a_call_was_given_is_told_also_beside_names_that_begin_with_an_underscore() -> None:
    code = "output = sorted(_names, key=_number)"
    with pytest.raises(ProgramFault, match=r"it is given `list\[str\]`, `int`"):
        asyncio.run(Sandbox(workers=1).check(code, "Output = list[str]\n_names: list[str]\n_number: int\n"))
