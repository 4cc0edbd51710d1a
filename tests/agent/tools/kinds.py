"""Types as people write them, each with values that fit and values that do not."""

import datetime
import decimal
import enum
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import pydantic


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A place.

    Attributes:
        x: How far to the right.
    """

    x: int
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    value: int
    children: "list[Node]" = field(default_factory=list)


@dataclass
class Positive:
    amount: int

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError("must be above zero")


class Options(TypedDict):
    depth: int
    strict: NotRequired[bool]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Cat(msgspec.Struct, tag=True):
    lives: int = 9


class Dog(msgspec.Struct, tag=True, rename="camel"):
    good_boy: bool


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(default=0, ge=0, description="In years.")


class Tree(pydantic.BaseModel):
    label: str
    branches: "list[Tree]" = []


class Case(NamedTuple):
    kind: Any
    fits: tuple[tuple[Any, Any], ...]
    """JSON values, and what a function is given for each."""
    misfits: tuple[Any, ...]


NOON = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
ANN = Person(name="Ann", age=3)

CASES: dict[str, Case] = {
    "str": Case(str, (("a", "a"), ("3", "3"), ("", "")), (3, None, True, ["a"])),
    "int": Case(int, ((3, 3), ("3", 3), (3.0, 3), (10**30, 10**30)), ("3.5", 3.5, True, "x", None, "")),
    "float": Case(float, ((1.5, 1.5), (2, 2.0), ("2.5", 2.5), ("1e3", 1000.0)), (True, None, "x")),
    "bool": Case(bool, ((True, True), ("false", False), ("True", True)), (2, "yes", None)),
    "None": Case(None, ((None, None), ("null", None)), (0, "", False)),
    "optional": Case(int | None, ((None, None), (1, 1), ("1", 1), ("null", None)), ("x", [])),
    "text first": Case(str | int, (("3", "3"), (3, 3)), (None, 3.5)),
    "list": Case(list[int], (([1, "2"], [1, 2]), ([], []), ("[1]", [1])), (1, {"a": 1}, ["x"], "1")),
    "tuple": Case(tuple[int, str], (([1, "a"], (1, "a")),), ([1], [1, "a", 2], ["a", 1])),
    "set": Case(set[str], ((["a", "a"], {"a"}),), ([1],)),
    "dict": Case(dict[str, int], (({"a": "1"}, {"a": 1}), ('{"a": 1}', {"a": 1})), ([], {"a": "x"})),
    "literal": Case(
        Literal["a", 1, True], (("a", "a"), (1, 1), (True, True), ("1", 1)), ("b", 2, False, None)
    ),
    "enum": Case(Colour, (("red", Colour.RED), ("blue", Colour.BLUE)), ("green", 1)),
    "dataclass": Case(
        Point,
        (
            ({"x": 1}, Point(1)),
            ({"x": 1, "y": 2, "tags": ["t"]}, Point(1, 2.0, ["t"])),
            ('{"x": 1}', Point(1)),
        ),
        ({}, {"x": "a"}, {"x": 1, "z": 2}, [1]),
    ),
    "recursive": Case(
        Node,
        (({"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),),
        ({"value": 1, "children": [{}]},),
    ),
    "checks itself": Case(Positive, (({"amount": 1}, Positive(1)),), ({"amount": 0},)),
    "typed dict": Case(
        Options,
        (({"depth": 1}, {"depth": 1}), ({"depth": 1, "strict": "true"}, {"depth": 1, "strict": True})),
        ({}, {"depth": "x"}, {"depth": 1, "x": 1}),
    ),
    "named tuple": Case(Pair, (([1], Pair(1)), ([1, "a"], Pair(1, "a"))), ({"left": 1}, ["a"])),
    "struct": Case(
        Dog,
        (({"type": "Dog", "goodBoy": True}, Dog(True)),),
        ({"type": "Dog"}, {"type": "Cat", "goodBoy": True}),
    ),
    "union of structs": Case(
        Cat | Dog,
        (({"type": "Cat"}, Cat()), ({"type": "Dog", "goodBoy": True}, Dog(True))),
        ({"type": "Cow"},),
    ),
    "pydantic": Case(
        Person, (({"name": "Ann", "age": "3"}, ANN),), ({"age": 1}, {"name": "Ann", "age": -1}, 3)
    ),
    "union of pydantic": Case(
        list[Person] | Tree,
        (({"label": "a"}, Tree(label="a")), ([{"name": "Ann", "age": 3}], [ANN])),
        ({"x": 1},),
    ),
    "datetime": Case(datetime.datetime, (("2026-05-01T12:00:00Z", NOON),), ("soon", [])),
    "date": Case(datetime.date, (("2026-05-01", NOON.date()),), ("2026-13-01",)),
    "uuid": Case(uuid.UUID, ((str(ID), ID),), ("x",)),
    "decimal": Case(decimal.Decimal, (("12.50", decimal.Decimal("12.50")), (3, decimal.Decimal(3))), ("x",)),
    "bytes": Case(bytes, (("aGk=", b"hi"),), ("!",)),
    "path": Case(pathlib.Path, (("a/b", pathlib.Path("a/b")),), (3,)),
    "meta": Case(Annotated[int, msgspec.Meta(ge=1, le=5)], ((1, 1), ("5", 5)), (0, 6)),
    "lengths": Case(
        Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)], (([1], [1]),), ([], [1, 2, 3])
    ),
    "pattern": Case(Annotated[str, msgspec.Meta(pattern="^a")], (("ab", "ab"),), ("ba",)),
    "field": Case(Annotated[str, pydantic.Field(max_length=2)], (("ab", "ab"),), ("abc",)),
}
