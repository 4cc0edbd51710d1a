"""Fields that may be None, of records that a program chose by them in one way or another: it may use them."""

from typing import Any

import pytest

from tests.programs.people import PAID, SUM, value_of

HAS = "def has(p):\n    return p['team'] != 'z' and p['salary'] is not None\n"
LACKS = "def lacks(p):\n    if p['team'] == 'z':\n        return True\n    return not p['salary']\n"
FILLED = "for p in ps:\n    if p['salary'] is not None:\n        continue\n    p['salary'] = 1.0\n"
CHOSEN: dict[str, tuple[Any, str, Any]] = {
    "by a function there": (float, HAS + "output = sum(p['salary'] for p in rows if has(p))", 5.0),
    "by a lambda there": (
        float,
        "has = lambda p: p['salary'] is not None\noutput = sum(p['salary'] for p in rows if has(p))",
        5.0,
    ),
    "by a function in a loop": (
        float,
        HAS
        + "t = 0.0\nfor p in rows:\n    if not has(p):\n        continue\n    t += p['salary']\noutput = t",
        5.0,
    ),
    "by what a function says not": (
        float,
        LACKS + "t = 0.0\nfor p in rows:\n    if not lacks(p):\n        t += p['salary']\noutput = t",
        5.0,
    ),
    "by a function of a part": (
        str,
        "def known(text):\n    return text is not None and len(text) > 2\n"
        "output = ' '.join(p['due'].upper() for p in rows if known(p['due']))",
        "2026-01-02",
    ),
    "by a limit": (float, "paid = [p for p in rows if (p['salary'] or 0) > 1]\n" + SUM, 5.0),
    "by get with another": (
        float,
        "paid = [p for p in rows if p.get('salary', 0) and p['salary'] > 2]\n" + SUM,
        3.0,
    ),
    "by several at once": (
        float,
        "paid = [p for p in rows if None not in (p['salary'], p['due'])]\n" + SUM,
        2.0,
    ),
    "by a function that leaves them": (
        float,
        "def having(several):\n    return [p for p in several if p['salary'] is not None]\n"
        "paid = having(await people())\n" + SUM,
        5.0,
    ),
    "by a function that sorts them out": (
        float,
        "def split(several):\n    good, bad = [], []\n    for p in several:\n"
        "        if p['salary'] is None:\n            bad.append(p)\n"
        "        else:\n            good.append(p)\n"
        "    return good, bad\npaid, others = split(await people())\n" + SUM,
        5.0,
    ),
    "in a list of several": (
        float,
        "teams = {'paid': [], 'other': []}\nfor p in await people():\n    if p['salary']:\n"
        "        teams['paid'].append(p)\n    else:\n        teams['other'].append(p)\n"
        "paid = teams['paid']\n" + SUM,
        5.0,
    ),
    "not among some": (
        float,
        "paid = [p for p in await people() if p['salary'] not in (None, 0)]\n" + SUM,
        5.0,
    ),
    "by its place": (
        float,
        "ps = await people()\npaid = []\nfor i in range(len(ps)):\n    if ps[i]['salary'] is not None:\n"
        "        paid.append(ps[i])\n" + SUM,
        5.0,
    ),
    "under the same name": (
        float,
        "paid = await people()\npaid = [p for p in paid if p['salary'] is not None]\n"
        "paid = sorted(paid, key=lambda p: p['salary'])\n" + SUM,
        5.0,
    ),
    "the first, under the same name": (
        float,
        "p = next((p for p in await people() if p['salary'] is not None), None)\n"
        "output = p['salary'] + 1 if p else 0.0",
        3.0,
    ),
    "filled or left": (
        float,
        "ps = await people()\n" + FILLED + "output = sum(p['salary'] for p in ps)",
        6.0,
    ),
    "filled and numbered": (
        float,
        "ps = await people()\nfor n, p in enumerate(ps):\n"
        "    p['salary'] = p['salary'] if p['salary'] is not None else float(n)\n"
        "output = sum(p['salary'] for p in ps)",
        6.0,
    ),
    "filled and put elsewhere": (
        float,
        "paid = []\nfor p in await people():\n    p['salary'] = p['salary'] or 1.0\n    paid.append(p)\n"
        + SUM,
        6.0,
    ),
    "looked up": (
        float,
        "by = {p['name']: p for p in await people()}\n"
        "names = [n for n in by if by[n]['salary'] is not None]\n"
        "output = sum(by[n]['salary'] for n in names)",
        5.0,
    ),
    "looked up by the best": (
        str,
        "by = {p['name']: p for p in await people()}\n"
        "names = [n for n, p in by.items() if p['salary'] is not None]\n"
        "output = max(names, key=lambda n: by[n]['salary'])",
        "cy",
    ),
    "sorted by a function": (
        list[str],
        PAID + "def by_salary(p):\n    return p['salary']\n"
        "output = [p['name'] for p in sorted(paid, key=by_salary)]",
        ["ana", "cy"],
    ),
    "taken out by their places": (
        float,
        "paid = await people()\nfor n in range(len(paid) - 1, -1, -1):\n"
        "    if paid[n]['salary'] is None:\n        paid.pop(n)\n" + SUM,
        5.0,
    ),
    "taken out by their keys": (
        float,
        "by = {p['name']: p for p in await people()}\nfor name in list(by):\n"
        "    if by[name]['salary'] is None:\n        by.pop(name)\n"
        "output = sum(p['salary'] for p in by.values())",
        5.0,
    ),
    "taken out while they are counted": (
        float,
        "paid = await people()\nn = 0\nwhile n < len(paid):\n    if paid[n]['salary'] is None:\n"
        "        paid.pop(n)\n    else:\n        n += 1\n" + SUM,
        5.0,
    ),
    "of several pages": (
        float,
        "paid = []\nfor n in range(3):\n    paid.extend([await person(n)])\n"
        "paid = [p for p in paid if p['salary'] is not None]\n" + SUM,
        5.0,
    ),
    "under a name that another function has, too": (
        float,
        "async def names():\n    found = await people()\n    return [p['name'] for p in found]\n"
        "async def total():\n    found = [p for p in await people() if p['salary'] is not None]\n"
        "    return sum(p['salary'] for p in found)\nawait names()\noutput = await total()",
        5.0,
    ),
    "filled by what a tool gives": (
        float,
        "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n"
        "        p['salary'] = float(await pay(p['name'], 1.0))\noutput = sum(p['salary'] for p in ps)",
        6.0,
    ),
    "filled from a table": (
        float,
        "least = {'x': 1.0, 'y': 2.0}\nps = await people()\nfor p in ps:\n    if p['salary'] is None:\n"
        "        p['salary'] = least[p['team']]\noutput = sum(p['salary'] for p in ps)",
        6.0,
    ),
    "filled by a name with many others behind it": (
        float,
        "n0 = 1.0\n"
        + "".join(f"n{layer + 1} = n{layer}\n" * 20 for layer in range(8))
        + "ps = await people()\nfor p in ps:\n    if p['salary'] is None:\n        p['salary'] = n8\n"
        "output = sum(p['salary'] for p in ps)",
        6.0,
    ),
    "added to": (
        float,
        PAID + "for p in paid:\n    p['salary'] += 1\n" + SUM,
        7.0,
    ),
    "unless something goes wrong": (
        float,
        "try:\n    paid = await people()\n    paid = [p for p in paid if p['salary'] is not None]\n"
        "except KeyError:\n    paid = []\n" + SUM,
        5.0,
    ),
    "in each case": (
        float,
        "paid = await people()\nmatch len(paid):\n    case 0:\n        paid = []\n    case _:\n"
        "        paid = [p for p in paid if p['salary'] is not None]\n" + SUM,
        5.0,
    ),
    "before others came in": (
        float,
        PAID + "output = sum(p['salary'] for p in paid)\npaid.extend(rows)",
        5.0,
    ),
    "in both branches": (
        float,
        "def total(several: list[RowsItem], some: bool) -> float:\n    if some:\n"
        "        several = [p for p in several if p['salary'] is not None]\n    else:\n"
        "        several = [{**p, 'salary': p['salary'] or 1.0} for p in several]\n"
        "    return sum(p['salary'] for p in several)\noutput = total(rows, False)",
        6.0,
    ),
    "unless there is nothing to do": (
        float,
        "def total(several: list[RowsItem]) -> float:\n    if not several:\n        return 0.0\n"
        "    several = [p for p in several if p['salary'] is not None]\n"
        "    several.sort(key=lambda p: p['salary'])\n    return sum(p['salary'] for p in several)\n"
        "output = total(rows)",
        5.0,
    ),
    "one of two": (float, PAID + "both = (paid, ps)\noutput = sum(p['salary'] for p in both[0])", 5.0),
    "beside others": (
        float,
        PAID + "output = sum(p['salary'] for p, other in zip(paid, ps) if other['team'])",
        5.0,
    ),
    "in rows with others": (
        float,
        PAID + "pairs = [(ps[1], p) for p in paid]\noutput = sum(p['salary'] for other, p in pairs)",
        5.0,
    ),
    "in an object": (
        float,
        "class Team:\n    def __init__(self, several):\n"
        "        self.paid = [p for p in several if p['salary'] is not None]\n"
        "team = Team(await people())\noutput = sum(p['salary'] for p in team.paid)",
        5.0,
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_was_chosen_by_a_field_has_it(name: str) -> None:
    output, code, value = CHOSEN[name]
    assert value_of(output, code) == value
