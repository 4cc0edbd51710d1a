"""Keys that a program puts into dicts of its own: no record that it was given has them for that."""

from typing import Any, TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from tests.programs.coding import coder_of, run


class Order(TypedDict):
    """An order."""

    id: str
    cents: int


refunded: list[str] = []


@tool(idempotent=True)
async def list_orders() -> list[Order]:
    """List orders."""
    return [{"id": "a", "cents": 3}, {"id": "b", "cents": 5}]


@tool
async def refund(order_id: str) -> bool:
    """Refund an order."""
    refunded.append(order_id)
    return True


def refunding() -> Task:
    return Task("refund", input={"q": str}, output=dict[str, Any], tools=[list_orders, refund])


EACH = "for o in await list_orders():\n    await refund(o['id'])\n"
WRONG = {
    "a dict that it made": "sums = {'n': 0, 'total': 0.0}\n" + EACH + "    sums['total'] += o['total']\n"
    "output = sums",
    "an empty one, filled": "sums = {}\n" + EACH + "    row = {}\n    row['total'] = o['total']\n"
    "    sums[o['id']] = row\noutput = sums",
    "one by keywords": "sums = dict(n=0)\n" + EACH + "    sums.update(total=o['total'])\noutput = sums",
    "one that counts": "from collections import Counter\nsums = Counter()\n"
    + EACH
    + "    sums['total'] += o['total']\noutput = dict(sums)",
    "one of two": "n, sums = 0, {}\n" + EACH + "    sums['total'] = o['total']\noutput = sums",
    "by another name": "sums = {}\nsame = sums\n" + EACH + "    same['total'] = o['total']\noutput = sums",
    "a dict within one": "sums = {}\n" + EACH + "    sums.setdefault(o['id'], {'n': 0, 'total': 0.0})\n"
    "    sums[o['id']]['total'] += o['total']\noutput = sums",
    "a dict of one that makes them": "from collections import defaultdict\n"
    "sums = defaultdict(lambda: {'n': 0, 'total': 0.0})\n"
    + EACH
    + "    sums[o['id']]['total'] += o['total']\noutput = dict(sums)",
    "a dict within, by a name": "sums = {}\n"
    + EACH
    + "    one = sums.setdefault(o['id'], {'n': 0, 'list': []})\n"
    "    one['total'] = o['total']\noutput = sums",
    "one of several": "sums = {'a': {'n': 0}, 'b': {'n': 0}}\n" + EACH + "    for one in sums.values():\n"
    "        one['total'] = o['total']\noutput = sums",
    "a dict in a list": "rows = []\n" + EACH + "    rows.append({'id': o['id'], 'list': []})\n"
    "    rows[-1]['total'] = o['total']\noutput = {'rows': rows}",
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_a_key_that_records_lack_is_refused_before_anything_is_done(code: str) -> None:
    async def work() -> None:
        refunded.clear()
        with pytest.raises(ProgramFault, match='Unknown key "total"') as refused:
            await coder_of().run(refunding(), code, q="x")
        assert refused.value.kind == "types" and not refunded

    run(work)


ROWS = "rows = await list_orders()\n"
SUM = "output = {'sum': sum(row['more'] for row in rows)}"
RIGHT = {
    "by a name that is a dict elsewhere": "row = {}\n"
    + ROWS
    + "for row in rows:\n    row['more'] = row['cents']\n"
    + SUM,
    "in a dict of them": ROWS
    + "known = {row['id']: row for row in rows}\nfor name in known:\n"
    + "    known[name]['more'] = known[name]['cents']\n"
    + SUM,
    "in a dict of them, put there": ROWS
    + "known = {}\nfor row in rows:\n    known[row['id']] = row\nfor one in known.values():\n"
    "    one['more'] = one['cents']\n" + SUM,
    "in a dict of lists of them": ROWS
    + "known = {}\nfor row in rows:\n    known.setdefault(row['id'], []).append(row)\n"
    "for name in known:\n    for one in known[name]:\n        one['more'] = one['cents']\n" + SUM,
    "in a dict that another function fills": "def fill(into, rows):\n    for row in rows:\n"
    "        into[row['id']] = row\n"
    + ROWS
    + "known = {}\nfill(known, rows)\nfor name in known:\n    known[name]['more'] = known[name]['cents']\n"
    + SUM,
    "in a dict that has another name": ROWS
    + "known = {}\nsame = known\nfor row in rows:\n    same[row['id']] = row\n"
    "for name in known:\n    known[name]['more'] = known[name]['cents']\n" + SUM,
    "in what is one or the other": ROWS
    + "for row in rows:\n    one = row if row['cents'] else {}\n    one['more'] = row['cents']\n"
    + SUM,
    "in a list of them": ROWS + "kept = []\nfor row in rows:\n    kept.append(row)\nfor n in range(2):\n"
    "    kept[n]['more'] = kept[n]['cents']\n" + SUM,
    "in a list that is added to": ROWS
    + "kept = []\nkept += rows\nfor n in range(2):\n    kept[n]['more'] = kept[n]['cents']\n"
    + SUM,
    "beside a name of its own": ROWS
    + "best = None\nfor row in rows:\n    best = row\n    best['more'] = row['cents']\n"
    + SUM,
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_a_key_that_may_be_put_into_a_record_is_taken(code: str) -> None:
    async def work() -> None:
        assert (await coder_of().run(refunding(), code, q="x")).value == {"sum": 8}

    run(work)


FILLED = {
    "at once": "sums.setdefault(o['id'], {'n': 0, 'list': []})['n'] += 1",
    "then changed": "sums.setdefault(o['id'], {'n': 0, 'list': []})\n    sums[o['id']]['n'] += 1\n"
    "    sums[o['id']]['list'].append(o['id'].upper())",
    "by keywords": "sums.setdefault(o['id'], dict(n=0, list=[]))\n    sums[o['id']]['n'] += 1",
    "with a text": "sums.setdefault(o['id'], {'n': 0, 'name': o['id'].upper()})\n    sums[o['id']]['n'] += 1",
    "of a record": "sums.setdefault(o['id'], {**o, 'n': 0})\n    sums[o['id']]['n'] += 1",
    "of a copy": "sums.setdefault(o['id'], dict(o))\n    sums[o['id']]['n'] = 1",
    "by a name": "one = sums.setdefault(o['id'], {'n': 0, 'list': []})\n    one['n'] += 1\n"
    "    one['list'] += [1]",
}


@pytest.mark.parametrize("line", FILLED.values(), ids=FILLED)
def test_a_dict_of_several_kinds_may_be_what_stands_where_nothing_was(line: str) -> None:
    code = f"sums = {{}}\nfor o in await list_orders():\n    {line}\n"
    code += "output = {name: one['n'] for name, one in sums.items()}"

    async def work() -> None:
        assert (await coder_of().run(refunding(), code, q="x")).value == {"a": 1, "b": 1}

    run(work)
