"""Named tuples are declared as records, and are records wherever a program finds one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest
from pydantic import BaseModel

from quire.agent import tool
from quire.programs import Task
from quire.programs.schemas import returned_by
from quire.programs.values import plain
from tests.programs.coding import coder_of, run


class Point(NamedTuple):
    """A place."""

    lat: float
    lon: float


class Line(NamedTuple):
    """From one place to another."""

    begin: Point
    end: Point | None


@dataclass(frozen=True, slots=True)
class City:
    """A city."""

    name: str
    at: Point


class Route(msgspec.Struct, rename="camel", frozen=True, tag=True):
    """A way through places."""

    all_points: list[Point]
    by_name: dict[str, Point]


class Priced(BaseModel):
    """What has a price."""

    price: float


AT = Point(1.0, 2.0)
RECORD = {"lat": 1.0, "lon": 2.0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (AT, RECORD),
        ([AT, (AT, 1)], [RECORD, [RECORD, 1]]),
        ({"a": AT}, {"a": RECORD}),
        ({AT}, [RECORD]),
        (Line(AT, None), {"begin": RECORD, "end": None}),
        (City("x", AT), {"name": "x", "at": RECORD}),
        ([{"a": City("x", AT)}], [{"a": {"name": "x", "at": RECORD}}]),
        (Route([AT], {"a": AT}), {"type": "Route", "allPoints": [RECORD], "byName": {"a": RECORD}}),
        ([(1, "a")], [[1, "a"]]),
    ],
)
def test_it_is_a_record_at_every_depth(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_what_is_written_stays_as_it_was() -> None:
    city, route = City("x", AT), Route([AT], {"a": AT})
    plain([city, route])
    assert city == City("x", AT) and type(city.at) is type(route.by_name["a"]) is Point


def test_a_program_has_from_tools_and_as_inputs_what_is_declared() -> None:
    moved = list[Point]()

    @tool
    async def cities() -> list[City]:
        """All cities."""
        return [City("x", AT)]

    @tool
    async def move(to: Point) -> Point:
        """Move to a place."""
        moved.append(to)
        return to

    async def work() -> None:
        code = (
            "found = await cities()\nhere = await move(found[0]['at'])\n"
            "output = {'begin': {'lat': here['lat'], 'lon': p['lon']}, 'end': line['end']}"
        )
        task = Task("go", input={"p": Point, "line": Line}, output=Line, tools=[cities, move])
        answer = await coder_of(code).answer(task, p=AT, line=Line(AT, AT))
        assert answer.value == Line(AT, AT) and moved == [AT]

    run(work)


def test_of_one_beside_a_model_nothing_is_declared() -> None:
    @tool
    async def either() -> list[Priced | Point]:
        """What pydantic would take for a row."""
        return [AT]

    assert returned_by(either) is None and plain([AT, Priced(price=1.0)]) == [RECORD, {"price": 1.0}]
