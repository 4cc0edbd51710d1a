"""The answer and what tools are given, held to their types in every form: before anything is called."""

from typing import Any, TypedDict

import pytest

from quire.agent import tool
from quire.programs import ProgramFault, Task
from tests.programs.coding import coder_of, run


class Row(TypedDict):
    """A row."""

    id: str
    total: float


class Sheet(TypedDict):
    """Rows, and how many there are."""

    rows: list[Row]
    count: int


class Mixed(TypedDict):
    """Cells of several kinds."""

    cells: list[int | str]


CALLED: list[int] = []


@tool
async def pay(number: int) -> str:
    """Pay."""
    CALLED.append(number)
    return f"paid {number}"


@tool
async def list_rows(name: str) -> list[Row]:
    """List rows."""
    return [{"id": "a", "total": 1.0}, {"id": "b", "total": 2.0}]


@tool
async def save(row: Row) -> str:
    """Save a row."""
    return row["id"]


OWN = "own = [{'id': o['id'], 'total': o['total'] * 2} for o in await list_rows(name)]\n"
"""Rows of a program's own: that it uses them as what they are is right, and the checker does not see it."""

USED = OWN + "first = own[0]['id'].upper()\nr = await pay(1)\n"
WRONG: dict[str, tuple[Any, str]] = {
    "a value at the end": (Row, "{'id': 5, 'total': 1.0}"),
    "a key too few at the end": (Row, "{'id': r}"),
    "another key at the end": (Row, "{'id': r, 'totl': 1.0}"),
    "over several lines": (Row, "{'id': r,\n 'total': r}"),
    "on one line with another": (Row, "é = 'ü'; {'id': é, 'total': r}"),
    "by keywords at the end": (Row, "dict(id=1, total='x')"),
    "one of two": (Row, "{'id': r, 'total': 1.0} if r else {'id': 1, 'total': 2.0}"),
    "made rows at the end": (
        list[Row],
        "[{'id': o['total'], 'total': o['id']} for o in await list_rows(name)]",
    ),
    "rows by keywords": (list[Row], "[dict(id=1, total='x')]"),
    "rows among others": (list[Row], "[{'id': 1, 'total': 2.0}, *await list_rows(name)]"),
    "rows that are added": (list[Row], "output = []\noutput.append({'id': r, 'totl': 1.0})"),
    "several that are added": (list[Row], "output = []\noutput.extend([{'id': 1, 'total': r}])"),
    "rows that are put first": (list[Row], "output = []\noutput.insert(0, {'id': 1, 'total': r})"),
    "rows that are put in": (list[Row], "output = await list_rows(name)\noutput[0] = {'id': 1, 'total': r}"),
    "what it grows by": (list[Row], "output = []\noutput += [{'id': 1, 'total': r}]"),
    "under another name": (list[Row], "output = []\nit = output\nit.append({'id': 1, 'total': r})"),
    "two names at once": (list[Row], "output = it = [{'id': 1, 'total': r}]"),
    "on the way": (list[Row], "if (output := [{'id': 1, 'total': r}]):\n    pass"),
    "what is declared": (list[Row], "it: Output = []\nit.append({'id': 1, 'total': r})\noutput = it"),
    "what a function returns": (
        list[Row],
        "async def main() -> Output:\n    return [{'id': 1, 'total': r}]\noutput = await main()",
    ),
    "what a function returns in parentheses": (
        list[int],
        "def main() -> Output:\n    return (\n        [len(name), str(name)]\n    )\noutput = main()",
    ),
    "rows within": (
        Sheet,
        "output = {'rows': [], 'count': 0}\noutput['rows'].append({'id': 1, 'total': r})",
    ),
    "rows under a key": (
        Sheet,
        "output = {'rows': [], 'count': 0}\noutput['rows'] = [{'id': 1, 'total': r}]",
    ),
    "several keys": (Sheet, "output = {'rows': [], 'count': 0}\noutput |= {'rows': [], 'count': r}"),
    "kinds in a list": (list[int], "[len(name), str(name)]"),
    "kinds in a list that is added": (list[list[int]], "output = []\noutput.append([len(name), str(name)])"),
    "kinds under a key": (Mixed, "{'cells': [None]}"),
    "kinds in rows": (list[Mixed], "output = [{'cells': [None]}]"),
    "an argument": (str, "output = await save({'id': 1, 'total': r})"),
    "an argument by keywords": (str, "output = await save(row=dict(id=1, total=r))"),
    "an argument through a name": (str, "keep = save\noutput = await keep({'id': 1, 'total': r})"),
}
RIGHT: dict[str, tuple[Any, str, Any]] = {
    "at the end": (Row, "{'id': own[0]['id'], 'total': own[0]['total']}", {"id": "a", "total": 2.0}),
    "by keywords": (Row, "dict(id=first, total=own[0]['total'] + 1)", {"id": "A", "total": 3.0}),
    "added": (
        list[Row],
        "output = []\nfor o in own[:1]:\n    output.append({'id': o['id'], 'total': o['total']})",
        [{"id": "a", "total": 2.0}],
    ),
    "returned": (
        list[Row],
        "def main() -> Output:\n    return [{'id': o['id'], 'total': o['total']} for o in own[1:]]\nmain()",
        [{"id": "b", "total": 4.0}],
    ),
    "within": (
        Sheet,
        "{'rows': [{'id': o['id'], 'total': o['total']} for o in own[1:]], 'count': len(own)}",
        {"rows": [{"id": "b", "total": 4.0}], "count": 2},
    ),
    "from another dict": (Row, "a = {'id': 'a'}\n{**a, 'total': 1.0}", {"id": "a", "total": 1.0}),
    "of one's own within": (str, "output = {'id': 'a', 'n': 1}['id'].upper()", "A"),
    "an argument": (str, "output = await save({'id': own[1]['id'], 'total': own[1]['total']})", "b"),
}


def answering(output: Any) -> Task:
    return Task("list", input={"name": str}, output=output, tools=[pay, list_rows, save])


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ahead", [USED, "r = await pay(1)\n"], ids=["beside its own", "alone"])
def test_what_does_not_fit_is_refused_before_anything_is_called(ahead: str, case: tuple[Any, str]) -> None:
    output, code = case
    CALLED.clear()

    async def work() -> None:
        with pytest.raises(ProgramFault) as raised:
            await coder_of().run(answering(output), ahead + code, name="ana")
        assert raised.value.kind == "types" and not CALLED
        assert (raised.value.line or 0) > ahead.count("\n") and "quire_" not in str(raised.value)

    run(work)


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_what_fits_is_taken_from_rows_of_its_own(case: tuple[Any, str, Any]) -> None:
    output, code, expected = case

    async def work() -> None:
        assert (await coder_of().run(answering(output), USED + code, name="ana")).value == expected

    run(work)
