"""Types as programs are shown them: names of `typing` are there, days and times say how they are written."""

import asyncio
import sys
from datetime import date, datetime, time, timedelta
from typing import Any, TypedDict

import pytest
import typing_extensions

from quire.agent import tool
from quire.programs import ProgramFault, Task
from tests.programs.coding import coder_of


@tool(idempotent=True)
async def look(number: int) -> dict[str, Any]:
    """Look something up."""
    return {"n": number}


def _value(code: str) -> Any:
    return asyncio.run(coder_of().run(Task("t", "d", output=int, tools=[look]), code, input="x")).value


USED = {
    "of a variable": "found: dict[str, Any] = await look(1)\noutput = found['n']",
    "of a function": "def one(row: list[Any]) -> Any:\n    return row[0]['n']\noutput = one([await look(1)])",
    "as a value": "Rows = list[dict[str, Any]]\nrows: Rows = [await look(1)]\noutput = rows[0]['n']",
    "in a text": "def one(rows: 'list[Any]') -> int:\n    return 1\noutput = one([])",
    "of a class": "from dataclasses import dataclass\n@dataclass\nclass Row:\n    a: Any\noutput = Row(1).a",
    "of one of several": "def one(kind: Literal['a', 'b']) -> int:\n    return 1\noutput = one('a')",
    "imported too": "from typing import Any\nRow = dict[str, Any]\na: Row = await look(1)\noutput = a['n']",
    "its own": "Any = 1\noutput = Any",
    "with others ahead": "Row = dict[str, Any]\noutput = next(map(lambda n: n, [1]))",
    "at the second look": "row: dict[str, Any] = {}\npair = {'a': 1, 'b': 'x'}\noutput = pair['a'] + 0",
}


@pytest.mark.parametrize("name", USED)
def test_types_that_are_shown_need_no_import(name: str) -> None:
    assert _value(USED[name]) == 1


def test_types_that_are_shown_are_checked() -> None:
    with pytest.raises(ProgramFault, match="Expected `Literal"):
        _value("def one(kind: Literal['a', 'b']) -> int:\n    return 1\noutput = one('c')")


@pytest.mark.parametrize(
    "code", ["Kind = Literal['a']\noutput = 1", "class Row(TypedDict):\n    a: int\noutput = 1"]
)
def test_those_that_are_no_values_when_a_program_is_run_are_told(code: str) -> None:
    with pytest.raises(ProgramFault, match="for annotations alone"):
        _value(code)


class Meeting(TypedDict):
    """A meeting.

    Attributes:
        starts: When it begins.
    """

    starts: datetime
    days: list[date]
    at: time | None
    title: str


@tool
async def meet(day: date, until: datetime | None = None, title: str = "") -> list[Meeting]:
    """Meet somebody.

    Args:
        day: The first day.
        until: The last moment.
        title: What it is about.
    """
    return []


@tool
async def today() -> date:
    """Say which day it is."""
    return date(2026, 1, 2)


def test_how_days_and_times_are_written_is_said() -> None:
    given = {"since": date, "spans": dict[str, timedelta], "name": str}
    lines = Task("t", "d", input=given, output=list[date], tools=[meet, today]).stubs.splitlines()
    for line in (
        "    starts: str  # ISO date and time: When it begins.",
        "    days: list[str]  # ISO date",
        "    at: str | None  # ISO time",
        "    title: str",
        "        day: ISO date: The first day.",
        "        until: ISO date and time: The last moment.",
        "        title: What it is about.",
        "    Returns: ISO date",
        "Output = list[str]  # ISO date",
        "since: str  # ISO date",
        "spans: dict[str, str]  # ISO duration",
        "name: str",
    ):
        assert line in lines


def test_it_is_said_of_keys_that_are_names_of_something_else_too() -> None:
    text = Task("t", "d", input={"starts": int}, output=Meeting).stubs
    assert (
        "    'starts': str,  # ISO date and time: When it begins.\n    'days': list[str],  # ISO date\n"
        in text
    )


class Sized(typing_extensions.TypedDict):
    """Something of a size."""

    name: str
    size: typing_extensions.NotRequired[int]


def test_dictionaries_of_the_package_for_older_pythons_are_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic", raising=False)

    @tool
    async def sized(one: Sized) -> list[Sized]:
        """Size something."""
        return [one]

    task = Task("t", "d", input=Sized, output=Sized, tools=[sized])
    assert "async def sized(one: SizedOne) -> list[SizedResultItem]:" in task.stubs
    assert "Output = TypedDict(\"Output\", {'name': str, 'size': NotRequired[int]})" in task.stubs
    assert "\nname: str\nsize: int\n" in task.stubs
    answer = coder_of().run(task, "output = (await sized({'name': name}))[0]", name="a", size=1)
    assert asyncio.run(answer).value == {"name": "a"}
