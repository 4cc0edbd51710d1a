"""Schemas of annotations, and values that are read by them."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from quire.agent.tools import Misfit, read_as, read_json, schema_of, tool
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from tests.agent.tools.kinds import CASES, Person, Point
from tests.agent.tools.running import ran, taking

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)


@dataclass
class Order:
    """An order.

    Attributes:
        cents: What it costs.
    """

    id: str
    cents: int
    lines: list[Point] = field(default_factory=list)
    note: Annotated[str, msgspec.Meta(description="A word on it.")] = ""


def test_schemas_have_descriptions_defaults_and_no_other_fields() -> None:
    order: Any = schema_of(Order)
    assert order["properties"]["cents"] == {"type": "integer", "description": "What it costs."}
    note = {"type": "string", "description": "A word on it.", "default": ""}
    assert order["properties"]["note"] == note and order["description"] == "An order."
    line = order["properties"]["lines"]["items"]
    assert line["properties"]["y"] == {"type": "number", "default": 0.0} and line["description"] == "A place."
    for one, required in ((order, ["id", "cents"]), (line, ["x"])):
        assert one["required"] == required and one["additionalProperties"] is False
    assert schema_of(Literal["a", None]) == {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
    bounded = Annotated[int, pydantic.Field(ge=1, description="How many.")]
    assert schema_of(bounded) == {"type": "integer", "minimum": 1, "description": "How many."}
    assert schema_of(Annotated[str, "A name."]) == {"type": "string", "description": "A name."}
    assert schema_of(list[datetime])["items"] == {"type": "string", "format": "date-time"}


def test_only_recursive_types_are_referred_to() -> None:
    for name, case in CASES.items():
        schema: Any = taking(case.kind).definition["parameters"]
        text = msgspec.json.encode(schema).decode()
        assert ("$ref" in text) == ("recursive" in name or name == "union of pydantic"), name
        for part in text.split('"$ref":"#/$defs/')[1:]:
            assert part.partition('"')[0] in schema["$defs"], name


@pytest.mark.parametrize("wire", PROVIDERS)
def test_every_provider_takes_the_definitions(wire: str) -> None:
    for name, case in CASES.items():
        call = ToolCall("c", "take", json.dumps({"value": case.fits[0][0]}))
        items: list[Item] = [Message("user", "Do it."), call, ToolResult("c", "take", "Done.")]
        rendered = PROVIDERS[wire].render(items, tools=[taking(case.kind).definition])
        assert PROVIDERS[wire].check(rendered.payload) == [] and rendered.downgrades == (), name


def test_values_are_read_by_their_types() -> None:
    for name, case in CASES.items():
        for value, wanted in case.fits:
            seen: list[Any] = []
            outcome = ran(taking(case.kind, seen), json.dumps({"value": value}))
            assert seen == [wanted] and type(seen[0]) is type(wanted), (name, outcome.content)
            assert read_as(case.kind, wanted) == wanted, name  # a value that is made already
            if not isinstance(wanted, bytes):
                assert (
                    read_as(case.kind, msgspec.to_builtins(wanted, str_keys=True, enc_hook=plain)) == wanted
                )


def plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, pydantic.BaseModel) else str(value)


def test_values_of_other_types_are_refused_with_their_place() -> None:
    for name, case in CASES.items():
        for value in case.misfits:
            seen: list[Any] = []
            outcome = ran(taking(case.kind, seen), json.dumps({"value": value}))
            assert outcome.is_error and seen == [], f"{name}: {value!r} was taken as {seen!r}"
            assert "value" in str(outcome.content), name


FAULTS: list[tuple[Any, Any, str]] = [
    (Order, {"id": "1"}, "object missing required field cents"),
    (Order, {"id": "1", "cents": 1, "lines": [{"x": 1}, {"x": None}]}, "lines[1].x: expected int, got null"),
    (dict[str, Point | None], {"a": {"x": 1, "z": 0}}, "a: there is no field 'z'; there is x, y, tags"),
    (int | None, "x", "expected int | null, got str"),
    (Annotated[int, msgspec.Meta(lt=3)], 5, "expected int <= 2"),
    (CASES["checks itself"].kind, {"amount": 0}, "must be above zero"),
    (dict[int, str], {"x": "a"}, "a key: expected int, got str"),
    (list[Person], [{"age": 1}], "[0].name: Field required"),
]


@pytest.mark.parametrize(("kind", "value", "words"), FAULTS, ids=[words for *_, words in FAULTS])
def test_faults_have_a_path_and_words_for_a_model(kind: Any, value: Any, words: str) -> None:
    with pytest.raises(Misfit) as found:
        read_as(kind, value)
    assert str(found.value) == words


@pytest.mark.laws
@given(st.sampled_from(sorted(CASES)), JSON)
def test_any_value_is_read_or_refused(name: str, value: Any) -> None:
    try:
        read_as(CASES[name].kind, value)
    except Misfit as fault:
        assert str(fault)


@pytest.mark.laws
@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(read_json(text), dict)
    except Misfit as fault:
        str(fault).encode()


SPHINX = """Search.

:param query: What to look for.
:param more: Others.
:returns: Hits.
"""
NUMPY = """Search.

Parameters
----------
query : str
    What to look for.
more : int
    Others.
"""


@pytest.mark.parametrize("docstring", [SPHINX, NUMPY])
def test_docstrings_of_other_styles(docstring: str) -> None:
    def search(query: str, more: int = 0) -> None: ...

    search.__doc__ = docstring
    one = tool(search)
    assert one.description == "Search."
    fields = one.definition["parameters"]["properties"]
    assert [field["description"] for field in fields.values()] == ["What to look for.", "Others."]
