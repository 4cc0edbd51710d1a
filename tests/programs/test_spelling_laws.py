"""What a call is known by, for parameters of any types: one thing or another, at any depth."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, TypedDict, Union

import msgspec
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from quire.agent import Tool, tool
from quire.programs import Task
from quire.programs.kinds import Kind
from quire.programs.spelling import key_of
from tests.programs.coding import coder_of, run


class Window(BaseModel):
    """A model."""

    start: str
    end: str = "now"


@dataclass
class Contact:
    """A dataclass."""

    name: str
    code: int = 0


class Money(msgspec.Struct):
    """A struct."""

    amount: float
    unit: str = "EUR"


class Filter(TypedDict, total=False):
    """A dictionary of known keys."""

    status: str
    label: str | None


@dataclass
class Line:
    """A dataclass whose fields are one thing or another."""

    sku: str
    price: float | Money
    to: int | Contact | None = None
    during: list[Window | str] = field(default_factory=list["Window | str"])


class Drawn(NamedTuple):
    """A type, and the values that are given for it, in the kinds that JSON has."""

    kind: Any
    values: st.SearchStrategy[Any]


TEXTS = st.sampled_from(["", "a", "b", "status:open", "5", "null", "{}", "now", "EUR"])
NUMBERS = st.integers(-2, 5)
WINDOWS = st.fixed_dictionaries({"start": TEXTS}, optional={"end": TEXTS})
CONTACTS = st.fixed_dictionaries({"name": TEXTS}, optional={"code": NUMBERS})
MONEY = st.fixed_dictionaries({"amount": NUMBERS}, optional={"unit": TEXTS})
FILTERS = st.fixed_dictionaries({}, optional={"status": TEXTS, "label": TEXTS | st.none()})
LINES = st.fixed_dictionaries(
    {"sku": TEXTS, "price": NUMBERS | MONEY},
    optional={"to": NUMBERS | CONTACTS | st.none(), "during": st.lists(WINDOWS | TEXTS, max_size=2)},
)
SINGLE = st.sampled_from(
    [
        Drawn(str, TEXTS),
        Drawn(int, NUMBERS),
        Drawn(float, NUMBERS | st.just(0.5)),
        Drawn(bool, st.booleans()),
        Drawn(None, st.none()),
        Drawn(Literal["open", "closed", 3], st.sampled_from(["open", "closed", 3])),
        Drawn(date, st.sampled_from(["2026-01-01", "2026-01-02"])),
        Drawn(datetime, st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T01:00:00"])),
        Drawn(Window, WINDOWS),
        Drawn(Contact, CONTACTS),
        Drawn(Money, MONEY),
        Drawn(Filter, FILTERS),
        Drawn(Line, LINES),
    ]
)


def one_of(several: list[Drawn]) -> Drawn:
    return Drawn(Union[*(one.kind for one in several)], st.one_of([one.values for one in several]))


def rows(one: Drawn) -> Drawn:
    kind: Any = one.kind
    return Drawn(list[kind], st.lists(one.values, max_size=3))


def table(one: Drawn) -> Drawn:
    kind: Any = one.kind
    return Drawn(dict[str, kind], st.dictionaries(TEXTS, one.values, max_size=3))


def within(inner: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """Types of which others are a part."""
    return inner.map(rows) | inner.map(table) | st.lists(inner, min_size=2, max_size=4).map(one_of)


KINDS = st.recursive(SINGLE, within, max_leaves=6)


def taking(kind: Any) -> Tool:
    async def take(x: Any) -> None:
        """Take something."""

    take.__annotations__["x"] = kind
    return tool(take)


def key(of: Tool, value: Any) -> str:
    return asyncio.run(key_of(of, json.dumps({"x": value})))


def read(of: Tool, value: Any) -> Any:
    """What the function is given, told apart from what is equal to it and of another type."""
    return repr(of.signature.read({"x": value}))


def reversed_within(value: Any) -> Any:
    """The same value, with its fields in another order."""
    kind = type(value).__name__
    if kind == "dict":
        return {name: reversed_within(value[name]) for name in reversed(value)}
    return [*map(reversed_within, value)] if kind == "list" else value


@given(KINDS, st.data())
def test_each_value_has_a_key_and_another_value_another(kind: Drawn, data: st.DataObject) -> None:
    of, one, other = taking(kind.kind), data.draw(kind.values), data.draw(kind.values)
    assert key(of, one) == key(of, reversed_within(one))
    assert (key(of, one) == key(of, other)) is (read(of, one) == read(of, other))


@pytest.mark.parametrize("where", ["'status:open'", "{'status': 'open'}", "7", "None", "[1, {'name': 'a'}]"])
def test_a_program_gives_a_tool_a_record_or_something_else(where: str) -> None:
    async def work() -> None:
        given = list[Any]()

        @tool
        async def find(where: Filter | Contact | str | int | list[int | Contact] | None = None) -> int:
            """Find something."""
            given.append(where)
            return len(given)

        task = Task("find", input={"n": int}, output=int, tools=[find])
        coder = coder_of("await find()\noutput = 1 // 0", f"output = await find({where})", rounds=2)
        assert (await coder.answer(task, n=1)).value == (1 if where == "None" else 2)
        assert given[0] is None, "which is what it is called with again"

    run(work)


def test_what_cannot_be_spelled_is_known_by_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Kind, value: Any) -> Kind:
        raise TypeError

    monkeypatch.setattr(Kind, "of", broken)
    of = taking(Window | str)
    keys = {key(of, value) for value in ("a", "b", {"start": "a"}, {"start": "b"})}
    assert len(keys) == 4
    assert {key(of, value) for value in ("b", {"start": "b"}, {"start": "a"}, "a")} == keys
