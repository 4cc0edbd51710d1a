"""What a call is known by: the same arguments in any spelling are one call, and others are another."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, strategies as st
from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from quire.agent import Tool, tool
from quire.programs.spelling import key_of

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
NUMBERS = st.integers() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


NUMBER = count()


def drawn() -> UUID:
    return UUID(int=next(NUMBER))


def moment() -> datetime:
    return datetime(2026, 1, 1) + timedelta(seconds=next(NUMBER))


@tool
async def anything(x: Any) -> None:
    """Take anything."""


class Model(BaseModel):
    """A record of pydantic's that draws an id."""

    n: int
    unit: str = "EUR"
    share: float = 1.0
    tags: list[str] = []
    id: UUID = Field(default_factory=drawn)


@dataclass
class Data:
    """A dataclass that draws a time."""

    n: int
    unit: str = "EUR"
    share: float = 1.0
    tags: list[str] = field(default_factory=list[str])
    at: datetime = field(default_factory=moment)


class Struct(msgspec.Struct):
    """A struct that draws an id."""

    n: int
    unit: str = "EUR"
    share: float = 1.0
    tags: list[str] = []
    ref: str = msgspec.field(default_factory=lambda: drawn().hex)


DEFAULTS: dict[str, Any] = {"unit": "EUR", "share": 1.0}


def taking(kind: Any, default: Any = ...) -> Tool:
    async def take(n: int, x: Any) -> None:
        """Take something."""

    take.__annotations__["x"] = kind
    take.__defaults__ = None if default is ... else (default,)
    return tool(take)


def key(of: Tool, **arguments: Any) -> str:
    return written(of, json.dumps(arguments))


def written(of: Tool, arguments: str) -> str:
    return asyncio.run(key_of(of, arguments))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON has it: true is no number, and 1.0 is 1."""
    kinds = {type(one).__name__, type(other).__name__}
    if kinds == {"dict"}:
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if kinds == {"list"}:
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def respelled(value: Any, draw: Iterator[int]) -> Any:
    """The same value, with its fields in another order and its numbers of the other kind."""
    kind = type(value).__name__
    if kind == "dict":
        return {name: respelled(value[name], draw) for name in sorted(value, reverse=next(draw) % 2 == 0)}
    if kind == "list":
        return [respelled(one, draw) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value) if next(draw) % 2 else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


@given(VALUES)
def test_the_same_in_another_spelling_is_the_same_call(value: Any) -> None:
    other = respelled(value, count())
    assert is_same(value, other) and key(anything, x=value) == key(anything, x=other)
    spaced = json.dumps({"x": value}, indent=2, ensure_ascii=False)
    assert written(anything, spaced) == key(anything, x=value)


@given(VALUES, VALUES)
def test_other_arguments_are_another_call(one: Any, other: Any) -> None:
    assert (key(anything, x=one) == key(anything, x=other)) is is_same(one, other)


@pytest.mark.parametrize("kind", [Model, Data, Struct])
@given(
    n=st.integers(-9, 9),
    named=st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.none(), max_size=2),
    changed=st.sampled_from([{}, {"unit": "USD"}, {"share": 0.5}, {"tags": ["a"]}]),
)
def test_whoever_names_a_default_says_nothing_more(
    kind: Any, n: int, named: dict[str, None], changed: dict[str, Any]
) -> None:
    short, long = {"n": n, **changed}, {"n": n, **{name: DEFAULTS[name] for name in named}, **changed}
    for shaped in (dict[str, kind], dict[str, kind | None]):
        of = taking(shaped)
        assert key(of, n=1, x={"a": short}) == key(of, x={"a": long}, n=1)
        assert key(of, n=1, x={"a": short}) != key(of, n=1, x={"a": {**long, "n": n + 1}})
        assert (key(of, n=1, x={"a": short}) == key(of, n=1, x={"a": {"n": n}})) is (not changed)


class Row(TypedDict):
    """A row."""

    a: int


@pytest.mark.parametrize(
    ("kind", "default", "named"),
    [
        (Path, Path("x"), "x"),
        (Model, Model(n=1), {"n": 1, "unit": "EUR"}),
        (Data, Data(1), None),
        (date, date(2026, 1, 1), "2026-01-01"),
        (Decimal, Decimal("1.50"), "1.50"),
        (tuple[int, ...], (1, 2), [1, 2]),
        (float, 0.0, 0),
        (list[str] | None, None, None),
        (Row, {"a": 1}, {"a": 1.0}),
    ],
    ids=str,
)
def test_a_default_of_any_kind_may_be_named(kind: Any, default: Any, named: Any) -> None:
    of = taking(kind, default)
    if isinstance(default, Model):
        named = {**named, "share": 1, "tags": [], "id": str(default.id)}
    if isinstance(default, Data):
        named = {"n": 1, "unit": "EUR", "share": 1, "tags": [], "at": default.at.isoformat()}
    assert key(of, n=1) == key(of, n=1, x=named)


class Stamped(BaseModel):
    """A record that stamps itself."""

    text: str
    at: datetime | None = None

    @model_validator(mode="after")
    def stamp(self) -> "Stamped":
        """Say when."""
        self.at = self.at or moment()
        return self


class Card(BaseModel):
    """A card, whose number is not written."""

    number: str = Field(exclude=True)


class Account(BaseModel):
    """An account, whose password is not shown."""

    password: SecretStr


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (Account, {"password": "a"}, {"password": "b"}),
        (Card, {"number": "1"}, {"number": "2"}),
        (SecretStr, "a", "b"),
        pytest.param(Annotated[int, AfterValidator(lambda _: 0)], 1, 2, id="validated"),
        (Stamped, {"text": "a"}, {"text": "b"}),
        (str, "\u00e9", "e\u0301"),
        (int, 2**53, 2**53 + 1),
        (int | str, 1, "1"),
        (list[str], ["a", "b"], ["b", "a"]),
    ],
    ids=str,
)
def test_what_a_tool_reads_hides_no_difference_and_makes_none(kind: Any, one: Any, other: Any) -> None:
    of = taking(kind)
    assert key(of, n=1, x=one) == key(of, n=1, x=one) != key(of, n=1, x=other)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (int, 5, "5"),
        (float, 5, "5.0"),
        (int | None, 5, "5"),
        (bool, True, "true"),
        (Decimal, 5, "5"),
        (list[int], [1, 2], "[1, 2]"),
        (Model, {"n": 1}, '{"n": 1, "unit": "EUR"}'),
        (datetime, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"),
        (UUID, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        (dict[str, Model], {"a": {"n": 1}}, {"a": {"n": 1.0, "share": 1}}),
        (tuple[int, Model], [1, {"n": 1}], [1.0, {"unit": "EUR", "n": 1}]),
    ],
    ids=str,
)
def test_what_a_tool_reads_the_same_way_is_the_same(kind: Any, one: Any, other: Any) -> None:
    of = taking(kind)
    assert key(of, n=1, x=one) == key(of, n=1, x=other)


class Tree(BaseModel):
    """A record that holds itself."""

    left: "Tree | None" = None
    right: dict[str, "Tree"] = {}


def test_what_holds_itself_and_what_is_large_have_a_spelling_too() -> None:
    of, deep = taking(Tree), dict[str, Any]()
    for _ in range(40):
        deep = {"left": deep}
    assert key(of, n=1, x=deep) == key(of, n=1.0, x=deep) != key(of, n=1, x={"left": deep})
    many = taking(list[Model])
    short, long = [{"n": n} for n in range(5_000)], [{"unit": "EUR", "n": n} for n in range(5_000)]
    assert key(many, n=1, x=short) == key(many, n=1, x=long) != key(many, n=1, x=long[1:])


@pytest.mark.parametrize("arguments", ["", "{", '{"x": NaN}', '{"x": 1, "x": 2}', "[1]", "[" * 500])
def test_what_no_tool_takes_has_a_key_all_the_same(arguments: str) -> None:
    assert written(anything, arguments).startswith("anything ")
