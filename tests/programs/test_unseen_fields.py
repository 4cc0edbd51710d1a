"""Fields that may be None, and that a program uses without a look: it is told which they are."""

from typing import Any

import pytest

from quire.programs import ProgramFault
from tests.programs.people import PAID, SUM, value_of

UNSEEN: dict[str, tuple[Any, str, str]] = {
    "added up": (float, "paid = await people()\n" + SUM, "p['salary'] or 0"),
    "sorted in place": (
        list[str],
        "ps = rows\nps.sort(key=lambda p: p['salary'], reverse=True)\noutput = [p['name'] for p in ps]",
        "p['salary'] or 0",
    ),
    "sorted": (
        list[str],
        "output = [p['name'] for p in sorted(await people(), key=lambda p: p['salary'], reverse=True)]",
        "p['salary'] or 0",
    ),
    "the largest": (float, "output = max(p['salary'] for p in await people())", "p['salary'] or 0"),
    "the smallest": (float, "output = min([p['salary'] for p in await people()])", "p['salary'] or 0"),
    "added": (float, "t = 0.0\nfor p in rows:\n    t += p['salary']\noutput = t", "p['salary'] or 0"),
    "turned": (list[float], "output = [-p['salary'] for p in rows]", "p['salary'] or 0"),
    "cut": (list[str], "output = [p['due'][:7] for p in rows]", "p['due'] or \"\""),
    "given to a tool": (bool, "p = rows[0]\noutput = await pay(p['name'], p['salary'])", "p['salary'] or 0"),
    "as the answer": (list[str], "output = [p['due'] for p in rows]", "p['due'] or \"\""),
    "compared": (
        list[str],
        "rich = [p for p in rows if p['salary'] > 2]\noutput = [p['name'] for p in rich]",
        "p['salary'] or 0",
    ),
    "of others than were left": (float, PAID + "output = sum(p['salary'] for p in ps)", "p['salary'] or 0"),
    "of those that have none": (
        float,
        "paid = [p for p in await people() if p['salary'] is None]\n" + SUM,
        "p['salary'] or 0",
    ),
    "another field": (list[str], PAID + "output = [p['due'][:7] for p in paid]", "p['due'] or \"\""),
    "asked for again": (
        float,
        PAID + "again = await people()\noutput = sum(p['salary'] for p in again)",
        "p['salary'] or 0",
    ),
    "chosen by another": (
        float,
        PAID + "mine = [p for p in ps if p['team'] == 'x']\noutput = sum(p['salary'] for p in mine)",
        "p['salary'] or 0",
    ),
    "counted, not left out": (
        float,
        "t = 0.0\nfor p in rows:\n    if not p['salary']:\n        t += 1\n    t += p['salary']\noutput = t",
        "p['salary'] or 0",
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_field_that_nobody_looked_at_is_named(name: str) -> None:
    output, code, told = UNSEEN[name]
    with pytest.raises(ProgramFault) as caught:
        value_of(output, code)
    read = told.partition(" or ")[0]
    assert caught.value.kind == "types"
    assert f"`{read}` may be None: test it in the same expression, or write `{told}`" in str(caught.value)
    assert "Literal[True]" not in str(caught.value)


def test_a_field_that_is_never_none_is_not_said_to_be() -> None:
    code = "output = sum([b['name'] for b in await bosses()])"
    with pytest.raises(ProgramFault) as caught:
        value_of(float, code)
    assert "may be None" not in str(caught.value)


def test_what_is_tested_there_is_not_told() -> None:
    tested = "p['salary'] if p['salary'] else 1.0, p['salary'] or 2, str(p['salary']), p['due'] == 'x'"
    code = f"output = sum([[{tested}] for p in rows if p['due'] is None])"
    with pytest.raises(ProgramFault, match="`sum` matches arguments") as caught:
        value_of(float, code)
    assert "may be None" not in str(caught.value)


@pytest.mark.parametrize("first", ["p['salary']", "p['salary'] is None or p['salary']"])
def test_what_is_nested_deeply_is_looked_at_all_the_same(first: str) -> None:
    deep = "[" * 150 + first + "]" * 150
    with pytest.raises(ProgramFault, match="matches arguments") as caught:
        value_of(float, PAID + f"output = sum([{deep} for p in ps])")
    assert ("may be None" in str(caught.value)) == (first == "p['salary']")
