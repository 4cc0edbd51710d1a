"""Records that a program is given and changes: they are dicts, and what becomes of them is looked at."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal, TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from tests.programs.coding import coder_of, run

Status = Literal["open", "paid"]


class Order(TypedDict):
    """An order."""

    id: str
    status: Status
    cents: int


class Line(TypedDict):
    """What is put in."""

    sku: str
    cents: int


asked: list[str | None] = []


@tool(idempotent=True)
async def list_orders(status: Status | None = None) -> list[Order]:
    """List orders."""
    asked.append(status)
    return [{"id": "a", "status": "open", "cents": 3}, {"id": "b", "status": "paid", "cents": 5}]


@tool(idempotent=True)
async def put(line: Line) -> Line:
    """Put a line in."""
    return line


def counting(output: Any = list[dict[str, Any]]) -> Task:
    return Task("count", input={"q": str}, output=output, tools=[list_orders, put])


ROWS = "rows = await list_orders()\n"
COPIED = "rows = [dict(o) for o in await list_orders()]\n"
ENDING = "output = [{'sum': total}]"
RIGHT = {
    "a copy that is changed": COPIED
    + "for row in rows:\n    row['cents'] += 1\ntotal = rows[0]['cents'] + rows[1]['cents'] - 2\n"
    + ENDING,
    "copies that are added up": COPIED + "total = sum(r['cents'] for r in rows)\n" + ENDING,
    "copies that are sorted": COPIED
    + "rows.sort(key=lambda r: r['cents'])\ntotal = rows[0]['cents'] + rows[1]['cents']\n"
    + ENDING,
    "a copy with one key more": "rows = [dict(o, more=o['cents'] * 2) for o in await list_orders()]\n"
    "total = sum(r['more'] for r in rows) // 2\n" + ENDING,
    "joined": "rows = [o | {'more': o['cents'] * 2} for o in await list_orders()]\n"
    "total = round(sum(r['more'] for r in rows) / 2)\n" + ENDING,
    "joined the other way": "rows = [{'more': o['cents'] * 2} | o for o in await list_orders()]\n"
    "total = round(sum(r['more'] for r in rows) / 2)\n" + ENDING,
    "without a key": "rows = [{k: v for k, v in o.items() if k != 'id'} for o in await list_orders()]\n"
    "total = sum(r['cents'] for r in rows)\n" + ENDING,
    "a key that is put in": ROWS
    + "for o in rows:\n    o['more'] = o['cents'] * 2\ntotal = sum(o['more'] for o in rows) // 2\n"
    + ENDING,
    "a key of a copy": "total = 0\nfor o in await list_orders():\n    one = o.copy()\n"
    "    one['more'] = o['cents']\n    total += one['more']\n" + ENDING,
    "keys that are no names": ROWS
    + "for o in rows:\n    o['total of it'] = o['cents']\n    o['int'] = 1\n"
    + "total = sum(o['total of it'] for o in rows)\n"
    + ENDING,
    "keys by an update": ROWS
    + "for o in rows:\n    o.update({'more': o['cents']})\n    o |= {'most': 1}\n"
    + "total = sum(o['more'] for o in rows)\n"
    + ENDING,
    "a text of its own for one of several": "want = {'open': 1, 'paid': 2}\ntotal = 4\n"
    "for status, n in want.items():\n    total += len(await list_orders(status=status))\n" + ENDING,
    "a text that its own function takes": "async def count(status: str) -> int:\n"
    "    return len(await list_orders(status=status))\ntotal = 4 * await count('open')\n" + ENDING,
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_it_is_taken(code: str) -> None:
    async def work() -> None:
        assert (await coder_of().run(counting(), code, q="x")).value == [{"sum": 8}]

    run(work)


WRONG = {
    "a key that nobody put there": ROWS + "rows[0]['more'] = 1\noutput = [{'sum': rows[0]['mroe']}]",
    "a key of what a tool takes": "line: PutLine = {'sku': 'a', 'cents': 1}\nline['more'] = 1\n"
    "await put(line)\noutput = []",
    "a value under a key that it has": ROWS + "rows[0]['cents'] = 'x'\noutput = []",
    "a copy of one kind": "ids = {o['id']: o['cents'] for o in await list_orders()}\n"
    "output = [{'sum': dict(ids)['a'].upper()}]",
    "dicts of one kind, joined": "one = {'a': 1} | {'b': 2}\noutput = [{'sum': one['a'].upper()}]",
    "a text that is none of them": "output = [{'n': len(await list_orders(status='opn'))}]",
    "a number for a text": "n = len(q)\noutput = [{'n': len(await list_orders(status=n))}]",
    "an argument made of a record": "for o in await list_orders():\n"
    "    await put(dict(sku=o['cents'], cents='x'))\noutput = []",
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_still_refused(code: str) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFault) as refused:
            await coder_of().run(counting(), code, q="x")
        assert refused.value.kind == "types" and not refused.value.has_acted
        assert "quire_" not in str(refused.value)

    run(work)


def test_a_text_that_a_tool_does_not_take_is_found_when_it_is_called() -> None:
    async def work() -> None:
        asked.clear()
        code = (
            "for status in {'open': 1, 'opn': 2}.keys():\n    await list_orders(status=status)\noutput = []"
        )
        with pytest.raises(ProgramFault, match="expected 'open' or 'paid'") as failed:
            await coder_of().run(counting(), code, q="x")
        assert failed.value.kind == "raised" and asked == ["open"]

    run(work)


ANSWERS: dict[str, tuple[Any, str, Any]] = {
    "a decimal": (Decimal, "from decimal import Decimal\noutput = Decimal('1.50') + 1", Decimal("2.50")),
    "a set": (set[str], "output = {o['id'] for o in await list_orders()}", {"a", "b"}),
    "a frozen set": (frozenset[int], "output = frozenset([1, 2])", frozenset((1, 2))),
    "a date": (date, "from datetime import date\noutput = date(2026, 1, 2)", date(2026, 1, 2)),
    "a moment": (
        datetime,
        "from datetime import datetime\noutput = datetime(2026, 1, 2, 3)",
        datetime(2026, 1, 2, 3),
    ),
    "a time": (time, "from datetime import time\noutput = time(3, 4)", time(3, 4)),
    "within a list": (list[Decimal], "from decimal import Decimal\noutput = [Decimal('1')]", [Decimal("1")]),
}


@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_may_be_what_the_task_says(case: tuple[Any, str, Any]) -> None:
    output, code, value = case

    async def work() -> None:
        assert (await coder_of().run(counting(output), code, q="x")).value == value

    run(work)


@pytest.mark.parametrize("code", ["output = {1, 2}", "output = [1.5]", "output = ('a', 2)"])
def test_an_answer_of_other_values_may_not(code: str) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFault) as refused:
            await coder_of().run(counting(set[str]), code, q="x")
        assert refused.value.kind == "types"

    run(work)
