"""Fields that may be None: a program that left out those that are may use the others."""

import ast
from typing import Any

import pytest

from quire.programs import ProgramFault
from quire.programs.sandbox import loose_tested
from tests.programs.people import PAID, SUM, staffing, value_of

LOOP = (
    "paid = []\nfor p in await people():\n    if p['salary'] is None:\n        continue\n    paid.append(p)\n"
)
KEPT: dict[str, tuple[Any, str, Any]] = {
    "added up": (float, PAID + SUM, 5.0),
    "of a list of them": (float, PAID + "output = sum([p['salary'] for p in paid])", 5.0),
    "sorted in place": (
        list[str],
        PAID + "paid.sort(key=lambda p: p['salary'], reverse=True)\noutput = [p['name'] for p in paid]",
        ["cy", "ana"],
    ),
    "sorted": (
        list[str],
        PAID + "output = [p['name'] for p in sorted(paid, key=lambda p: (-p['salary'], p['name']))]",
        ["cy", "ana"],
    ),
    "the largest": (float, PAID + "output = max(p['salary'] for p in paid)", 3.0),
    "of the largest": (float, PAID + "output = max(paid, key=lambda p: p['salary'])['salary'] * 2", 6.0),
    "added one by one": (float, PAID + "t = 0.0\nfor p in paid:\n    t += p['salary']\noutput = t", 5.0),
    "given to a tool": (bool, PAID + "for p in paid:\n    output = await pay(p['name'], p['salary'])", True),
    "as the answer": (
        dict[str, float],
        PAID + "output = {p['name']: p['salary'] for p in paid}",
        {"ana": 2.0, "cy": 3.0},
    ),
    "by truth": (
        list[str],
        "late = [p for p in await people() if p['due']]\noutput = [p['due'][:7] for p in late]",
        ["2026-01"],
    ),
    "in a text": (
        list[str],
        "late = [p for p in await people() if p['due']]\noutput = [f\"{p['due'][:7]}!\" for p in late]",
        ["2026-01!"],
    ),
    "by get": (
        list[str],
        "called = [p for p in await people() if p.get('phone')]\n"
        "output = [p.get('phone').upper() for p in called]",
        ["1"],
    ),
    "by a value": (
        list[str],
        "late = [p for p in rows if p['due'] in ('2026-01-02',)]\noutput = [p['due'][:4] for p in late]",
        ["2026"],
    ),
    "by a loop": (float, LOOP + SUM, 5.0),
    "by a filter": (
        float,
        "paid = list(filter(lambda p: p['salary'] is not None, await people()))\n" + SUM,
        5.0,
    ),
    "by a function": (
        float,
        "def has(p) -> bool:\n    return p['salary'] is not None\npaid = [p for p in rows if has(p)]\n" + SUM,
        5.0,
    ),
    "by a function as a filter": (
        float,
        "def has(p) -> bool:\n    return bool(p['salary'])\npaid = list(filter(has, await people()))\n" + SUM,
        5.0,
    ),
    "from what is given": (
        float,
        "paid = [p for p in rows if p['salary']]\n" + SUM,
        5.0,
    ),
    "in place": (
        float,
        "paid = await people()\nfor p in list(paid):\n    if p['salary'] is None:\n        paid.remove(p)\n"
        + SUM,
        5.0,
    ),
    "filled": (
        float,
        "paid = await people()\nfor p in paid:\n    if p['salary'] is None:\n        p['salary'] = 1.0\n"
        + SUM,
        6.0,
    ),
    "filled at once": (
        float,
        "paid = await people()\nfor p in paid:\n    p['salary'] = p['salary'] or 1.0\n" + SUM,
        6.0,
    ),
    "one by one": (
        float,
        "import asyncio\nall_of_them = await asyncio.gather(*[person(n) for n in range(3)])\n"
        "paid = [p for p in all_of_them if p['salary'] is not None]\n" + SUM,
        5.0,
    ),
    "by team": (
        dict[str, float],
        "teams = {}\nfor p in await people():\n    if p['salary']:\n"
        "        teams.setdefault(p['team'], []).append(p)\n"
        "output = {team: sum(p['salary'] for p in several) for team, several in teams.items()}",
        {"x": 2.0, "y": 3.0},
    ),
    "by name": (
        float,
        PAID + "by_name = {p['name']: p for p in paid}\noutput = by_name['ana']['salary'] + 1",
        3.0,
    ),
    "the best so far": (
        float,
        "best = None\nfor p in await people():\n    if p['salary'] is not None:\n"
        "        if best is None or p['salary'] > best['salary']:\n            best = p\n"
        "output = 0.0 if best is None else best['salary'] + 0.5",
        3.5,
    ),
    "handed to a function": (
        float,
        PAID + "def total(several):\n    return sum(p['salary'] for p in several)\noutput = total(paid)",
        5.0,
    ),
    "numbered": (
        list[str],
        PAID + "output = [f'{n} {round(p[\"salary\"], 1)}' for n, p in enumerate(paid)]",
        ["0 2.0", "1 3.0"],
    ),
    "of several kinds": (
        list[str],
        "high = [p for p in rows if p['level'] is not None]\n"
        "output = [p['level'] if isinstance(p['level'], str) else str(p['level'] + 1) for p in high]\n"
        "output += [p['due'][:1] for p in [p for p in rows if p['due']]]",
        ["2", "2"],
    ),
    "of a class of its own": (
        float,
        "from dataclasses import dataclass\n@dataclass\nclass Row:\n    name: str\n    salary: float | None\n"
        "rows_ = [Row(p['name'], p['salary']) for p in await people()]\n"
        "paid = [one for one in rows_ if one.salary is not None]\noutput = sum(one.salary for one in paid)",
        5.0,
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_program_left_out_is_no_more_there(name: str) -> None:
    output, code, value = KEPT[name]
    assert value_of(output, code) == value


def test_what_is_left_has_to_fit_all_the_same() -> None:
    code = PAID + "for p in paid:\n    output = await pay(p['salary'], p['salary'])"
    with pytest.raises(ProgramFault, match="Expected `str`, found `float`"):
        value_of(bool, code)


def test_what_is_handed_on_deeply_is_followed_for_a_while_alone() -> None:
    handed = "".join(f"a{n + 1} = {'[' * 90}a{n}{']' * 90}\n" for n in range(30))
    code = f"{PAID}a0 = paid\n{handed}output = a30{'[0]' * 150}['salary'], a0[0]['salary']"
    tree = ast.parse(code)
    tested = loose_tested.Tested(tree, staffing(float).stubs)
    reads = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript))
    assert [ast.unparse(node) for node in reads if [*tested.marks_of(node)]] == ["a0[0]['salary']"]


def test_a_filter_of_nothing_is_told() -> None:
    with pytest.raises(ProgramFault, match="filter"):
        value_of(float, PAID + "paid = filter()\n" + SUM)


def test_functions_that_call_one_another_are_looked_into_once() -> None:
    mutual = "def has(p):\n    return is_paid(p)\ndef is_paid(p):\n    return p['salary'] or has(p)\n"
    with pytest.raises(ProgramFault, match="may be None"):
        value_of(
            float, mutual + "paid = [p for p in rows if has(p)]\noutput = sum(p['salary'] for p in rows)"
        )


def test_names_that_are_handed_on_for_long_are_not_followed_for_ever() -> None:
    handed = "".join(f"a{n + 1} = a{n}\n" for n in range(2_000))
    code = f"{PAID}a0 = ps\n{handed}output = sum(p['salary'] for p in a2000 if p['salary'])"
    assert value_of(float, code) == 5.0


def test_functions_that_ask_one_another_are_not_followed_for_ever() -> None:
    asking = "".join(f"def f{n}(p):\n    return f{n + 1}(p)\n" for n in range(300))
    code = f"{asking}def f300(p):\n    return p['salary']\noutput = sum(p['salary'] for p in rows if f0(p))"
    with pytest.raises(ProgramFault, match="may be None"):
        value_of(float, code)


def test_names_that_are_given_to_one_another_are_not_followed_for_ever() -> None:
    given = "".join(f"n{one} = n{other}\n" for one in range(30) for other in range(30))
    tree = ast.parse(f"{PAID}{given}n0 = paid\noutput = n0[0]['salary'], ps[0]['salary']")
    tested = loose_tested.Tested(tree, staffing(float).stubs)
    reads = (node for node in ast.walk(tree) if isinstance(node, ast.Subscript))
    assert [ast.unparse(node) for node in reads if [*tested.marks_of(node)]] == ["n0[0]['salary']"]
