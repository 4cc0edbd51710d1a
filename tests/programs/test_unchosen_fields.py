"""Fields that may be None, of records that a program did not choose by them: it is told which they are."""

from textwrap import indent
from typing import Any

import pytest

from quire.programs import ProgramFault
from tests.programs.people import PAID, value_of

GATHERED = "ps = await asyncio.gather(*[person(n) for n in range(3)])\n"
ONE = "p = await person(1)\n"
CHOSEN = "ps = await people()\npaid = [p for p in ps if p['salary'] is not None]\n"
THINNED = "for p in list(ps):\n    if p['salary'] is None:\n        ps.remove(p)"
TOLD: dict[str, tuple[Any, str]] = {
    "given again": (float, f"{CHOSEN}paid = await people()\noutput = sum(p['salary'] for p in paid)"),
    "all where none were chosen": (
        float,
        f"{CHOSEN}if not paid:\n    paid = ps\noutput = sum(p['salary'] for p in paid)",
    ),
    "under the same name in another function": (
        float,
        "async def some():\n    xs = [p for p in await people() if p['salary'] is not None]\n"
        "    return sum(p['salary'] for p in xs)\nasync def each():\n    xs = await people()\n"
        "    return sum(p['salary'] for p in xs)\noutput = await some() + await each()",
    ),
    "the key alone": (
        float,
        "paid = [p for p in await people() if 'salary' in p]\noutput = sum(p['salary'] for p in paid)",
    ),
    "one of those to be left out": (
        float,
        "paid = [p for p in await people() if p['salary'] in (None, 0)]\n"
        "output = sum(p['salary'] for p in paid)",
    ),
    "the first alone": (
        float,
        "ps = await people()\noutput = 0.0\nif ps[0]['salary'] is not None:\n"
        "    output = sum(p['salary'] for p in ps)",
    ),
    "the one before": (
        float,
        "ps = await people()\noutput = 0.0\nfor i in range(2):\n    if ps[i]['salary'] is not None:\n"
        "        output = ps[i + 1]['salary'] - ps[i]['salary']",
    ),
    "another where none is found": (
        float,
        f"{CHOSEN}best = next((p for p in paid if p['salary'] is not None), ps[1])\n"
        "output = best['salary'] * 2",
    ),
    "beside others": (
        float,
        f"{CHOSEN}output = 0.0\nfor a, b in zip(paid, ps):\n    output += b['salary'] - a['salary']",
    ),
    "before they were chosen": (
        float,
        "ps = await people()\noutput = sum(p['salary'] for p in ps)\n"
        "ps = [p for p in ps if p['salary'] is not None]",
    ),
    "by a name that another function gives again": (
        float,
        "ps = []\nasync def again():\n    global ps\n    ps = await people()\n"
        "ps = [p for p in rows if p['salary'] is not None]\nawait again()\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "filled with what may be None as well": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n"
        "        other = await person(0)\n        p['salary'] = other['salary']\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "filled with what may not be found": (
        float,
        "ps = await people()\nknown = {'bo': 1.0}\nfor p in ps:\n    if p['salary'] is None:\n"
        "        p['salary'] = known.get(p['name'])\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled in copies": (
        float,
        "ps = await people()\nfor p in ps:\n    p = dict(p)\n    p['salary'] = p['salary'] or 0.0\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once they were taken out on the way through": (
        float,
        f"ps = await people()\n{THINNED.replace('list(ps)', 'ps')}\noutput = sum(p['salary'] for p in ps)",
    ),
    "added to": (int, "for p in rows:\n    p['salary'] += 1\noutput = 1"),
    "by a parameter that one branch gives again": (
        float,
        "def total(several: list[RowsItem], some: bool) -> float:\n    if some:\n"
        "        several = [p for p in several if p['salary'] is not None]\n"
        "    return sum(p['salary'] for p in several)\n"
        "output = total(rows, False)",
    ),
    "before a parameter is given again": (
        float,
        "def total(several: list[RowsItem]) -> float:\n    found = sum(p['salary'] for p in several)\n"
        "    several = [p for p in several if p['salary'] is not None]\n    return found / len(several)\n"
        "output = total(rows)",
    ),
    "in a loop that chooses them afterwards": (
        float,
        "ps = await people()\noutput = 0.0\nfor n in range(2):\n    output += sum(p['salary'] for p in ps)\n"
        "    ps = [p for p in ps if p['salary'] is not None]",
    ),
    "chosen where nothing went wrong": (
        float,
        "ps = await people()\ntry:\n    ps = [p for p in ps if p['salary'] is not None]\n"
        "except KeyError:\n    pass\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled by a function that may find nothing": (
        float,
        "def least(p):\n    for other in rows:\n        if other['team'] == p['team']:\n"
        "            return 1.0\n"
        "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n        p['salary'] = least(p)\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "filled by the least, or None": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n"
        "        p['salary'] = min((q['salary'] for q in rows if q['salary'] is not None), default=None)\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once some of one team were taken out": (
        float,
        f"ps = await people()\n{THINNED.replace('list(ps)', '[q for q in ps if q]')}\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once some were taken out by a filter": (
        float,
        f"ps = await people()\n{THINNED.replace('list(ps)', 'list(filter(bool, ps))')}\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "by one case of several": (
        float,
        "ps = await people()\nmatch len(ps):\n    case 0:\n        ps = []\n    case 2:\n"
        "        ps = [p for p in ps if p['salary'] is not None]\noutput = sum(p['salary'] for p in ps)",
    ),
    "in a loop that others come into": (
        float,
        "ps = [p for p in await people() if p['salary'] is not None]\noutput = 0.0\nfor n in range(2):\n"
        "    output += sum(p['salary'] for p in ps)\n    ps.extend(rows)",
    ),
    "once every other one was looked at": (
        float,
        "ps = await people()\nn = 0\nwhile n < len(ps):\n    if ps[n]['salary'] is None:\n        ps.pop(n)\n"
        "    n += 1\noutput = sum(p['salary'] for p in ps)",
    ),
    "the other of two": (float, f"{CHOSEN}both = (paid, ps)\noutput = sum(p['salary'] for p in both[1])"),
    "before those that lack it were taken out": (
        float,
        f"ps = await people()\noutput = sum(p['salary'] for p in ps)\n{THINNED}",
    ),
    "once those that lack it may have been taken out": (
        float,
        f"ps = await people()\nif len(ps) > 9:\n{indent(THINNED, '    ')}\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once the first that lacks it was taken out": (
        float,
        f"ps = await people()\n{THINNED}\n        break\noutput = sum(p['salary'] for p in ps)",
    ),
    "once some of those that lack it were taken out": (
        float,
        f"ps = await people()\n{THINNED.replace('list(ps)', 'ps[:1]')}\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once the first was taken out for it": (
        float,
        "ps = await people()\nif ps[0]['salary'] is None:\n    ps.pop(0)\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "once others were put in again": (
        float,
        f"ps = await people()\n{THINNED}\nps.append(rows[1])\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled in one branch": (
        float,
        "ps = await people()\nif len(ps) > 9:\n    for p in ps:\n        p['salary'] = p['salary'] or 0.0\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "filled until the first": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n        p['salary'] = 1.0\n"
        "        break\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled before they were asked for again": (
        float,
        "ps = await people()\nfor p in ps:\n    p['salary'] = p['salary'] or 0.0\nps = await people()\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "under the same key of its own": (
        dict[str, Any],
        "ps = await people()\nresult = {}\n"
        "result['salary'] = round(sum(p['salary'] for p in ps), 2) if ps else 0.0\noutput = result",
    ),
    "in a row of its own": (
        bool,
        "for p in await people():\n    row = {'name': p['name']}\n    row['salary'] = p['salary'] or 0.0\n"
        "    output = await pay(p['name'], p['salary'])",
    ),
    "filled in some of them": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['team'] == 'x':\n"
        "        p['salary'] = p['salary'] or 1.0\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled but in those that were left": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['team'] == 'x':\n        continue\n"
        "    p['salary'] = p['salary'] or 1.0\noutput = sum(p['salary'] for p in ps)",
    ),
    "filled with None, too": (
        float,
        "ps = await people()\nfor p in ps:\n    p['salary'] = p['salary'] or None\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "filled later": (
        float,
        "ps = await people()\noutput = sum(p['salary'] for p in ps)\n"
        "for p in ps:\n    p['salary'] = p['salary'] or 1.0",
    ),
    "filled in others": (
        float,
        "ps = await people()\nfor p in rows:\n    p['salary'] = p['salary'] or 1.0\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "gathered": (
        float,
        f"import asyncio\n{GATHERED}paid = [p for p in ps if p['salary'] is not None]\n"
        "output = sum(p['salary'] for p in ps) / len(paid)",
    ),
    "gathered by another name": (
        float,
        f"import asyncio as aio\n{GATHERED.replace('asyncio', 'aio')}"
        "paid = [p for p in ps if p['salary'] is not None]\noutput = sum(p['salary'] for p in ps)",
    ),
    "after a method of another field": (
        float,
        ONE + "if not p['salary']:\n    await pay(p['name'].upper(), 1.0)\noutput = p['salary'] + 1",
    ),
    "after a method of the same field": (
        str,
        ONE + "if p['due']:\n    await pay(p['due'].strip(), 1.0)\noutput = p['due'].title()",
    ),
    "after one was taken out": (
        float,
        "ps = await people()\nfirst = ps.pop(0)\nif first['salary'] is None:\n    print(first)\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "after those that have it were taken out": (
        float,
        "ps = await people()\nfor p in list(ps):\n    if p['salary'] is not None:\n        ps.remove(p)\n"
        "output = sum(p['salary'] for p in ps)",
    ),
    "counted before it was put in": (
        float,
        "kept = [rows[0]]\nfor p in rows:\n    if p['salary'] is None:\n        print(p['name'])\n"
        "    kept.append(p)\noutput = sum(p['salary'] for p in kept)",
    ),
    "put in with others": (
        float,
        "kept = [rows[0]]\nfor p in rows:\n    if p['salary'] is not None:\n        kept.append(p)\n"
        "for p in await people():\n    kept.append(p)\noutput = sum(p['salary'] for p in kept)",
    ),
    "joined with others": (float, PAID + "output = sum(p['salary'] for p in paid + rows)"),
    "one or the other": (float, PAID + "output = sum(p['salary'] for p in paid or ps)"),
    "in another order": (
        list[str],
        "rich = [p for p in rows if p['salary'] > 2 and p['salary'] is not None]\n"
        "output = [p['name'] for p in rich]",
    ),
    "by a function that says nothing of it": (
        float,
        "def has(p):\n    if p['salary'] is None:\n        print(p)\n    return p['team'] == 'x'\n"
        "paid = [p for p in rows if has(p)]\noutput = sum(p['salary'] for p in paid)",
    ),
    "by a function that says the other thing": (
        float,
        "def lacks(p):\n    return p['salary'] is None\noutput = sum(p['salary'] for p in rows if lacks(p))",
    ),
    "by a limit that nothing reaches": (
        float,
        "paid = [p for p in rows if (p['salary'] or 0) < 9]\noutput = sum(p['salary'] for p in paid)",
    ),
    "before something else stands for it": (
        dict[str, Any],
        ONE + "output = {'due': p['due'].title() or '-', 'salary': p['salary']}",
    ),
    "looked up by others": (
        float,
        PAID + "by = {p['name']: p for p in ps}\nnames = [n for n in by if n]\n"
        "output = sum(by[n]['salary'] for n in names)",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_was_not_chosen_by_a_field_is_told(name: str) -> None:
    output, code = TOLD[name]
    with pytest.raises(ProgramFault) as caught:
        value_of(output, code)
    assert caught.value.kind == "types"
    field = "due" if "'due']." in code else "salary"
    assert f"['{field}']` may be None: test it in the same expression" in str(caught.value)
