"""What a tool reads as equal values is one call, at any depth; what it reads as others is another."""

import asyncio
import json
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, BeforeValidator, Field, SecretStr, field_validator

from quire.agent import Tool, tool
from quire.programs.one_reading import exact
from quire.programs.spelling import key_of

NUMBER = count()


class Inner(BaseModel):
    """A record within another."""

    a: int = 1
    price: Decimal = Decimal("1.00")


class Drawn(BaseModel):
    """A record that draws an id."""

    id: int = Field(default_factory=lambda: next(NUMBER))


class Model(BaseModel):
    """A record of pydantic's."""

    sku: str
    tags: list[str] = Field(default_factory=list)
    inner: Inner = Field(default_factory=Inner)
    unit: str = Field(default_factory=lambda: "EUR")
    price: Decimal | None = None
    id: UUID = Field(default_factory=lambda: UUID(int=next(NUMBER)))
    on: date = Field(default_factory=date.today)
    drawn: Drawn = Field(default_factory=Drawn)
    secret: SecretStr = Field(default_factory=lambda: SecretStr("hidden"))
    renamed: list[int] = Field(default_factory=list, alias="others")


@dataclass
class Data:
    """A dataclass."""

    sku: str
    tags: list[str] = field(default_factory=list[str])
    inner: Inner = field(default_factory=Inner)
    unit: str = field(default_factory=lambda: "EUR")
    price: Decimal = Decimal("1.50")
    number: int = field(default_factory=lambda: next(NUMBER))


class Struct(msgspec.Struct):
    """A struct."""

    sku: str
    tags: list[str] = []
    unit: str = msgspec.field(default_factory=lambda: "EUR")
    at: datetime | None = None


class Circle(BaseModel):
    """One of two."""

    kind: Literal["circle"] = "circle"
    marks: list[str] = Field(default_factory=list)


class Square(BaseModel):
    """The other."""

    kind: Literal["square"]
    marks: list[str] = Field(default_factory=lambda: ["s"])


class Loose(TypedDict):
    """A dictionary."""

    price: NotRequired[Decimal]


class Own(BaseModel):
    """A record that reads in its own way."""

    tags: list[str] = Field(default_factory=list)
    price: Decimal = Decimal(1)

    @field_validator("tags", mode="before")
    @classmethod
    def _told(cls, value: Any) -> Any:
        return [*value, "named"]


Euros = NewType("Euros", Decimal)


def taking(kind: Any) -> Tool:
    async def take(x: Any) -> None:
        """Take something."""

    take.__annotations__["x"] = kind
    return tool(take)


def key(of: Tool, x: Any) -> str:
    return asyncio.run(key_of(of, json.dumps({"x": x})))


A = {"sku": "a"}
SAME: dict[str, tuple[Any, Any, Any]] = {
    "a list of pydantic's": (Model, A, {**A, "tags": []}),
    "a list of a dataclass": (Data, A, {**A, "tags": []}),
    "a list of a struct": (Struct, A, {**A, "tags": []}),
    "a record": (Model, A, {**A, "inner": {"a": 1}}),
    "a record, in other numbers": (Model, A, {**A, "inner": {"price": 1, "a": 1.0}}),
    "a record of a dataclass": (Data, A, {**A, "inner": {}}),
    "a text that is made": (Model, A, {**A, "unit": "EUR"}),
    "a text that a dataclass makes": (Data, A, {**A, "unit": "EUR"}),
    "a text that a struct makes": (Struct, A, {**A, "unit": "EUR"}),
    "by another name": (Model, A, {**A, "others": []}),
    "in a list": (list[Model], [A], [{**A, "tags": []}]),
    "in a dict": (dict[str, Data], {"k": A}, {"k": {**A, "tags": []}}),
    "in a table": (OrderedDict[str, Struct], {"k": A}, {"k": {**A, "tags": []}}),
    "in a pair": (tuple[int, Model], [1, A], [1, {**A, "tags": []}]),
    "or none": (Optional[Model], A, {**A, "tags": []}),  # noqa: UP045
    "one of two": (Circle | Square, {"kind": "square"}, {"kind": "square", "marks": ["s"]}),
    "the other": (Circle | Square, {"kind": "circle"}, {"kind": "circle", "marks": []}),
    "or a text": (Model | str, A, {**A, "tags": []}),
    "with a note": (Annotated[Model, "noted"], A, {**A, "tags": []}),
    "a decimal": (Decimal, "10.00", "10"),
    "a decimal as a number": (Decimal, "2.50", 2.5),
    "a decimal with a power": (Decimal, "1e2", 100),
    "nothing": (Decimal, "-0.00", 0),
    "a decimal or none": (Decimal | None, "2.50", "2.5"),
    "a decimal by another name": (Euros, "2.50", "2.5"),
    "a decimal of pydantic's": (Model, {**A, "price": 2.5}, {**A, "price": "2.50"}),
    "a decimal of a dataclass": (Data, A, {**A, "price": "1.5"}),
    "a decimal of a dictionary": (Loose, {"price": "1.0"}, {"price": 1}),
    "decimals": (list[Decimal], ["1.0", "2"], [1, "2.00"]),
    "a moment": (datetime, "2026-01-01T10:00:00Z", "2026-01-01T11:00:00+01:00"),
    "a moment within": (
        Struct,
        {**A, "at": "2026-01-01T10:00:00Z"},
        {**A, "at": "2026-01-01T09:00:00-01:00"},
    ),
}


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_these_are_one_call(case: tuple[Any, Any, Any]) -> None:
    kind, one, other = case
    of = taking(kind)
    assert key(of, one) == key(of, other) == key(of, one)


OTHERS: dict[str, tuple[Any, Any, Any]] = {
    "another list": (Model, A, {**A, "tags": ["a"]}),
    "another record": (Model, A, {**A, "inner": {"a": 2}}),
    "another text": (Model, A, {**A, "unit": "USD"}),
    "an id": (Model, A, {**A, "id": str(UUID(int=1))}),
    "a day": (Model, A, {**A, "on": date.today().isoformat()}),
    "a record that is drawn": (Model, A, {**A, "drawn": {"id": 1}}),
    "a number that is drawn": (Data, A, {**A, "number": 1}),
    "a secret": (Model, A, {**A, "secret": "**********"}),
    "a list for the other of two": (Circle | Square, {"kind": "square"}, {"kind": "square", "marks": []}),
    "a record that reads in its own way": (Own, {}, {"tags": []}),
    "another decimal": (Decimal, "2.50", "2.51"),
    "a longer decimal": (Decimal, "1.0000000000000000000000000000000001", "1"),
    "the other sign": (Decimal, "2.5", "-2.5"),
    "a text that looks like one": (str, "2.50", "2.5"),
    "a text or a decimal": (str | Decimal, "2.50", "2.5"),
    "a decimal that is read by code": (Annotated[Decimal, BeforeValidator(len)], "2.50", "2.5"),
    "another moment": (datetime, "2026-01-01T10:00:00Z", "2026-01-01T10:00:00+01:00"),
    "a time of no zone": (datetime, "2026-01-01T10:00:00Z", "2026-01-01T10:00:00"),
    "a text that looks like a moment": (str, "2026-01-01T10:00:00Z", "2026-01-01T11:00:00+01:00"),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_these_are_two(case: tuple[Any, Any, Any]) -> None:
    kind, one, other = case
    of = taking(kind)
    assert key(of, one) != key(of, other)
    assert key(of, one) == key(of, one) and key(of, other) == key(of, other)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_have_one_spelling_where_they_are_equal(one: Decimal, other: Decimal) -> None:
    assert (exact(str(one)) == exact(str(other))) is (one == other)
    assert exact(str(one)) == exact(f"{one}{'0' * ('.' in str(one) and 'E' not in str(one))}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_decimal_of_its_digits(number: float) -> None:
    assert exact(number) == exact(repr(number))


@pytest.mark.parametrize("value", ["", "x", "1_000", " 1", "NaN", "Infinity", "1.2.3", "٣", None, True, [1]])
def test_what_is_no_number_stays_as_it_is(value: Any) -> None:
    assert exact(value) is value


def test_what_was_drawn_is_not_drawn_again() -> None:
    drawn: list[int] = []

    def draw() -> int:
        drawn.append(1)
        return len(drawn)

    class Record(BaseModel):
        n: int = Field(default_factory=draw)

    of = taking(Record)
    keys = {key(of, {"n": n}) for n in range(5)}
    assert len(keys) == 5 and len(drawn) == 2


def test_what_fails_to_be_made_is_no_default() -> None:
    def fail() -> list[str]:
        raise OSError

    class Record(BaseModel):
        tags: list[str] = Field(default_factory=fail)

    of = taking(Record)
    assert key(of, {}) != key(of, {"tags": []})
