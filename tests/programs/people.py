"""Records with fields that may be None, tools that give them, and programs that use them."""

import asyncio
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from quire.agent import tool
from quire.programs import Task
from tests.programs.coding import coder_of


class Person(TypedDict):
    """Somebody."""

    name: str
    team: str
    salary: float | None
    due: str | None
    phone: NotRequired[str]
    level: int | str | None


@dataclass
class Boss:
    """Somebody else."""

    name: str
    salary: float


ANA: Person = {"name": "ana", "team": "x", "salary": 2.0, "due": "2026-01-02", "phone": "1", "level": 1}
BO: Person = {"name": "bo", "team": "x", "salary": None, "due": None, "level": None}
CY: Person = {"name": "cy", "team": "y", "salary": 3.0, "due": None, "level": None}


@tool(idempotent=True)
async def people() -> list[Person]:
    """All people."""
    return [ANA, BO, CY]


@tool(idempotent=True)
async def person(number: int) -> Person:
    """One of them."""
    return [ANA, BO, CY][number]


@tool(idempotent=True)
async def bosses() -> list[Boss]:
    """All bosses."""
    return [Boss("di", 9.0)]


@tool
async def pay(name: str, amount: float) -> bool:
    """Pay somebody."""
    return amount > 0


def staffing(output: Any) -> Task:
    """A task with these tools, which is given rows of people."""
    return Task("t", "d", output=output, tools=[people, person, bosses, pay], input={"rows": list[Person]})


def value_of(output: Any, code: str) -> Any:
    """What comes of a program."""
    return asyncio.run(coder_of().run(staffing(output), code, rows=[ANA, BO, CY])).value


PAID = "ps = await people()\npaid = [p for p in ps if p['salary'] is not None]\n"
SUM = "output = sum(p['salary'] for p in paid)"
