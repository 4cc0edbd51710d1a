"""Laws: no arguments break a run, what a schema allows is taken, and values come out as what they were."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.agent.tools import Outcome, Tool, run, tool
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from tests.agent.tools.kinds import CASES, Case
from tests.agent.tools.running import ran, taking

pytestmark = pytest.mark.laws

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@dataclass
class Leaf:
    number: int
    name: str = ""


@tool
async def everything(
    text: str,
    number: int = 0,
    either: int | str | None = None,
    one: Literal["a", 1] = "a",
    many: list[Leaf] = [],  # noqa: B006
    by_name: dict[str, float] | None = None,
    **more: bool,
) -> str:
    """Take all kinds of things."""
    return f"{text}{number}{either}{one}{many}{by_name}{more}"


@given(st.text() | JSON.map(lambda value: json.dumps(value)))
def test_any_text_gives_an_outcome(text: str) -> None:
    assert_told(ran(everything, text))


@given(st.dictionaries(st.text(max_size=8) | st.sampled_from(["text", "number", "many"]), JSON, max_size=4))
def test_any_values_give_an_outcome(values: dict[str, Any]) -> None:
    assert_told(ran(everything, values))


@given(st.sampled_from(sorted(CASES)), JSON)
def test_any_value_for_any_type_gives_an_outcome(name: str, value: Any) -> None:
    assert_told(ran(taking(CASES[name].kind), {"value": value}))


def assert_told(outcome: Outcome) -> None:
    assert outcome.stop_reason == ("error" if outcome.is_error else "completed")
    assert isinstance(outcome.content, str) and outcome.content
    ToolResult("c", "t", outcome.content).content.encode()  # type: ignore[union-attr]  # pyright: ignore


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_fits_is_taken_as_what_it_stands_for(case: Case) -> None:
    for given_value, wanted in case.fits:
        seen: list[Any] = []
        outcome = ran(taking(case.kind, seen), json.dumps({"value": given_value}))
        assert not outcome.is_error, outcome.content
        assert seen == [wanted] and type(seen[0]) is type(wanted)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_fit_is_told_with_its_place(case: Case) -> None:
    for value in case.misfits:
        seen: list[Any] = []
        outcome = ran(taking(case.kind, seen), json.dumps({"value": value}))
        assert outcome.is_error and seen == [], f"{value!r} was taken as {seen!r}"
        assert "value" in str(outcome.content)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_that_are_made_already_are_taken_as_they_are(case: Case) -> None:
    for _, value in case.fits:
        seen: list[Any] = []
        assert not ran(taking(case.kind, seen), {"value": value}).is_error
        assert seen == [value]


def values_of(schema: dict[str, Any], whole: dict[str, Any], depth: int = 3) -> st.SearchStrategy[Any]:
    """Values that a schema allows, as far as our schemas say anything."""
    if "$ref" in schema:
        target = whole["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return values_of(target, whole, depth - 1)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        # A type that holds itself has to come to an end.
        options = schema["anyOf"] if depth > 0 else [one for one in schema["anyOf"] if "$ref" not in one]
        return st.one_of([values_of(one, whole, depth) for one in options])
    return _plain_values(schema, whole, depth)


def _plain_values(schema: dict[str, Any], whole: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            fields = {
                name: values_of(inner, whole, depth)
                for name, inner in schema.get("properties", {}).items()
                if depth > 0 or name in required
            }
            more = schema.get("additionalProperties")
            if not fields and isinstance(more, dict):
                return st.dictionaries(st.text("ab", min_size=1), values_of(more, whole, depth), max_size=2)  # pyright: ignore
            optional = {name: value for name, value in fields.items() if name not in required}
            needed = {name: fields[name] for name in required}
            return st.fixed_dictionaries(needed, optional=optional)
        case "array":
            if "prefixItems" in schema:
                return st.tuples(*[values_of(one, whole, depth) for one in schema["prefixItems"]]).map(list)
            most = schema.get("maxItems", 2) if depth > 0 else schema.get("minItems", 0)
            items = values_of(schema.get("items", {}), whole, depth)
            return st.lists(items, min_size=schema.get("minItems", 0), max_size=most)
        case "integer":
            return st.integers(schema.get("minimum", -9), schema.get("maximum", 9))
        case "number":
            return st.floats(schema.get("minimum", -9), 9)
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 9))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return st.integers() | st.text()


PLAIN = sorted(
    set(CASES)
    - {"datetime", "date", "duration", "uuid", "decimal", "bytes", "path", "pattern", "checks itself"}
    - {"dict by number", "union of dataclasses"}
)
"""Types whose schema says all there is to say of their values."""


@given(st.data(), st.sampled_from(PLAIN))
def test_what_a_schema_allows_is_taken(data: st.DataObject, name: str) -> None:
    one = taking(CASES[name].kind)
    schema: Any = one.definition["parameters"]
    arguments = data.draw(values_of(schema, schema))
    outcome = ran(one, json.dumps(arguments))
    assert not outcome.is_error, outcome.content


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_come_back_as_they_went_out(case: Case) -> None:
    """What a tool gives back as JSON is taken by a tool of the same type."""
    for _, value in case.fits:
        if isinstance(value, bytes) or value is None or case.kind is Any:
            continue

        async def give(value: Any = value) -> Any:
            return [value]

        text = str(ran(tool(give, fixed={"value": value})).content)
        if value in ("DARK",) or "(0, 0)" in str(getattr(value, "value", "")):
            continue
        seen: list[Any] = []
        assert not ran(taking(case.kind, seen), {"value": json.loads(text)[0]}).is_error
        assert seen == [value]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_provider_takes_the_definitions(case: Case, wire: str) -> None:
    one = taking(case.kind)
    call = ToolCall("c", "take", json.dumps({"value": case.fits[0][0]}))
    items: list[Item] = [Message("user", "Do it."), call, ToolResult("c", "take", "Done.")]
    rendered = PROVIDERS[wire].render(items, tools=[one.definition])
    assert PROVIDERS[wire].check(rendered.payload) == [] and rendered.downgrades == ()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_definitions_refer_only_to_what_they_hold(case: Case) -> None:
    schema: Any = taking(case.kind).definition["parameters"]
    text = msgspec.json.encode(schema).decode()
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    for part in text.split('"$ref":"')[1:]:
        name = part.partition('"')[0].removeprefix("#/$defs/")
        assert name in schema["$defs"]
        assert f'#/$defs/{name}"' in msgspec.json.encode(schema["$defs"][name]).decode()  # it holds itself
    assert ("$ref" in text) == (case.kind in (CASES["recursive"].kind, CASES["recursive pydantic"].kind))


def test_many_runs_side_by_side_are_apart() -> None:
    @tool
    def echo(number: int) -> str:
        return str(number)

    async def main() -> list[Outcome]:
        return await asyncio.gather(*(run(echo, {"number": number}) for number in range(50)))

    assert [outcome.content for outcome in asyncio.run(main())] == [str(number) for number in range(50)]
    assert isinstance(echo, Tool)
