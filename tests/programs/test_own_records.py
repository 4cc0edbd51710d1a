"""Records and rows of a program's own: the checker takes them for wider than they are, and is forgiven it."""

from typing import TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from tests.programs.coding import coder_of, run


class Order(TypedDict):
    """An order."""

    id: str
    total: float


class Best(TypedDict):
    """The best of them."""

    best: str
    sum: float


@tool(idempotent=True)
async def list_orders(customer: str) -> list[Order]:
    """List orders."""
    return [{"id": "a", "total": 3.0}, {"id": "b", "total": 5.0}]


@tool(idempotent=True)
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"{order_id}:{amount:g}"


@tool(idempotent=True)
async def rows() -> list[tuple[int, str]]:
    """Give rows."""
    return [(1, "a")]


@tool(idempotent=True)
async def found(name: str) -> int | str | None:
    """Find something."""
    return 3


ROWS = "rows_ = [{'id': o['id'], 'total': o['total'] * 2} for o in await list_orders(customer)]\n"
RIGHT = {
    "beside types of several": "def split(ids: list[str]) -> tuple[list[str], dict[str, int]]:\n"
    "    return [one.lower() for one in ids], {one: len(one) for one in ids}\n"
    + ROWS
    + "names, sizes = split([r['id'] for r in rows_])\noutput = {'best': names[1], 'sum': 16.0}",
    "a parameter of the same name": "def table(rows_: list[dict]) -> str:\n"
    "    return ','.join(r['id'] for r in rows_)\n" + ROWS + "best = max(rows_, key=lambda r: r['total'])\n"
    "await refund(order_id=best['id'], amount=best['total'])\n"
    "output = {'best': table(rows_)[-1], 'sum': 16.0}",
    "sums": ROWS + "output = {'best': rows_[1]['id'], 'sum': sum(r['total'] for r in rows_)}",
    "the largest": ROWS + "output = {'best': max(rows_, key=lambda r: r['total'])['id'], 'sum': 16}",
    "arguments": ROWS + "said = [await refund(order_id=r['id'], amount=r['total']) for r in rows_]\n"
    "output = {'best': said[1].split(':')[0], 'sum': 16}",
    "texts": ROWS + "output = {'best': ', '.join(r['id'] for r in rows_)[-1], 'sum': 16}",
    "appended": "kept = []\nfor o in await list_orders(customer):\n"
    "    kept.append({'ok': True, 'id': o['id']})\n"
    "output = {'best': ''.join(k['id'] for k in kept if k['ok'])[1:], 'sum': 16.0}",
    "by keywords": "one = dict(id='b', total=16.0)\n"
    "output = {'best': one['id'].lower(), 'sum': one['total'] + 0}",
    "gathered": "import asyncio\ncalls = [list_orders(customer), refund('b', 1)]\n"
    "res = await asyncio.gather(*calls)\n"
    "output = {'best': res[1][0], 'sum': res[0][0]['total'] + 13}",
    "several calls at once": ROWS + "low, high = min(1, 2), max(1, 16)\n"
    "output = {'best': rows_[1]['id'].lower(), 'sum': high}",
    "a row that is returned": ROWS + "def both(text: str):\n    return text.upper(), len(text)\n"
    "name, length = both('b')\noutput = {'best': rows_[1]['id'].lower(), 'sum': length + 15}",
    "one after the other": ROWS + "text = ''\nfor one in str(1), repr(6):\n    text += one\n"
    "output = {'best': rows_[1]['id'].lower(), 'sum': int(text)}",
    "under several keys": ROWS + "known = {}\nknown[str(1), len('a')] = 16\n"
    "output = {'best': rows_[1]['id'].lower(), 'sum': known['1', 1]}",
    "as lists": "pairs = [[o['id'], o['total']] for o in await list_orders(customer)]\n"
    "pairs.sort(key=lambda pair: pair[1])\n"
    "output = {'best': pairs[-1][0].lower(), 'sum': sum(pair[1] for pair in pairs) * 2}",
    "unpacked": "for number, name in await rows():\n"
    "    output = {'best': name.upper().replace('A', 'b'), 'sum': number + 15}",
}
WRONG = {
    "a value of the answer": ROWS + "output = {'best': 3, 'sum': 'x'}",
    "a key that a tool does not give": "orders = await list_orders(customer)\n"
    "output = {'best': orders[0]['name'], 'sum': 1}",
    "an argument": ROWS + "await refund('a', 'much')\noutput = {'best': '', 'sum': 1}",
    "what may be nothing": ROWS + "number = await found('x')\noutput = {'best': number.upper(), 'sum': 1}",
    "values of one kind": "one = {'a': 1, 'b': 2}\noutput = {'best': one['a'].upper(), 'sum': 1}",
    "a value of a row": ROWS + "low, high = min(1, 2), max(1, 2)\noutput = {'best': low + 'a', 'sum': 1}",
    "a name": ROWS + "output = {'best': rwos_[0]['id'], 'sum': 1}",
}


def paying() -> Task:
    return Task("pay", input={"customer": str}, output=Best, tools=[list_orders, refund, rows, found])


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_it_is_taken(code: str) -> None:
    async def work() -> None:
        answer = await coder_of().run(paying(), code, customer="ana")
        assert answer.value == {"best": "b", "sum": 16.0}

    run(work)


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_still_refused_with_its_line(code: str) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFault) as raised:
            await coder_of().run(paying(), code, customer="ana")
        assert raised.value.kind in ("types", "names") and raised.value.line == code.count("\n") + (
            0 if "refund" in code else 1
        )
        assert "quire_" not in str(raised.value)

    run(work)
