"""Typed dictionaries of the package for older Pythons: they are as those of Python."""

import sys
from typing import Annotated, Any, Generic, TypedDict, TypeVar

import pytest
import typing_extensions

from quire.agent import tool
from quire.agent.tools.shapes import Definitions, Shaper
from tests.agent.tools.running import ran

T = TypeVar("T")


class Size(typing_extensions.TypedDict):
    """A size.

    Attributes:
        width: How wide.
    """

    width: Annotated[int, "in points"]
    height: typing_extensions.NotRequired[int]
    depth: typing_extensions.ReadOnly[typing_extensions.NotRequired[int]]
    unit: "typing_extensions.ReadOnly[typing_extensions.NotRequired[str]]"


class Part(typing_extensions.TypedDict, total=False):
    name: typing_extensions.Required[str]
    size: Size


class Box(typing_extensions.TypedDict, Generic[T]):
    content: T


class Plain(TypedDict):
    width: int


@pytest.fixture(autouse=True)
def without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic", raising=False)


def _schema(kind: Any) -> dict[str, Any]:
    definitions = Definitions()
    return definitions.written(Shaper().shape(kind).schema(definitions))


def test_they_have_the_schemas_of_those_of_python() -> None:
    schema = _schema(Size)
    assert schema["required"] == ["width"] and schema["description"] == "A size."
    assert list(schema["properties"]) == ["width", "height", "depth", "unit"]
    assert schema["properties"]["width"]["description"] == "How wide."
    assert schema["properties"]["depth"] == {"type": "integer"}
    part = _schema(Part)
    assert part["required"] == ["name"] and part["properties"]["size"] == schema
    assert _schema(Box[int])["properties"] == {"content": {"type": "integer"}}


def test_tools_take_them() -> None:
    @tool
    def take(part: Part) -> str:
        return str(part)

    assert ran(take, {"part": {"name": "a", "size": {"width": "3"}}}).content == (
        "{'name': 'a', 'size': {'width': 3}}"
    )
    assert "'name' is missing" in str(ran(take, {"part": {}}).content)


def test_without_the_package_those_of_python_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "typing_extensions")
    assert _schema(Plain)["required"] == ["width"]


def test_keywords_of_one() -> None:
    @tool
    def paint(**size: typing_extensions.Unpack[Size]) -> str:
        """Paint something."""
        return str(sorted(size.items()))

    assert sorted(paint.definition["parameters"]["properties"]) == ["depth", "height", "unit", "width"]
    assert ran(paint, {"width": 3}).content == "[('width', 3)]"
