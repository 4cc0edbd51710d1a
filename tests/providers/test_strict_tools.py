"""Tools are strict where the strict mode of a wire takes their schema, and say no elsewhere."""

from typing import Any

import pytest
from hypothesis import given

from quire.items import Message
from quire.providers import PROVIDERS
from tests.providers.schemas_drawn import FLAWED
from tests.providers.test_tool_laws import WIRES

ASKED = [Message("user", "Go.")]
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def closed(**properties: Any) -> dict[str, Any]:
    return {**CLOSED, "properties": properties, "required": [*properties]}


def said(wire: str, schema: Any) -> tuple[Any, list[str]]:
    """Whether a tool that is to be strict is, on a wire, and what was noted."""
    tool = {"name": "f", "strict": True, "parameters": schema}
    rendered = PROVIDERS[wire].render(ASKED, tools=[tool], strict=True)
    assert PROVIDERS[wire].check(rendered.payload) == []
    written = rendered.payload["tools"][0]
    return written.get("function", written)["strict"], [note.reason for note in rendered.downgrades]


@pytest.mark.laws
@given(FLAWED, WIRES)
def test_what_is_strict_is_taken(schema: Any, wire: tuple[str, str | None]) -> None:
    for inner in (schema, closed(a=schema)):
        tool = {"name": "f", "strict": True, "parameters": inner}
        rendered = PROVIDERS[wire[0]].render(ASKED, model=wire[1], tools=[tool])
        assert PROVIDERS[wire[0]].check(rendered.payload, wire[1]) == []


STRICT = ("openai", "openai-responses", "anthropic")


@pytest.mark.parametrize("wire", STRICT)
def test_a_closed_schema_stays_strict(wire: str) -> None:
    assert said(wire, CLOSED) == (True, [])
    assert said(wire, closed(a=CLOSED, b={"type": "array", "items": CLOSED})) == (True, [])


@pytest.mark.parametrize("wire", STRICT)
@pytest.mark.parametrize("levels", [0, 2])
def test_an_object_that_is_open_is_not_strict(wire: str, levels: int) -> None:
    schema: dict[str, Any] = {key: CLOSED[key] for key in ("type", "properties", "required")}
    for _ in range(levels):
        schema = closed(a=schema)
    strict, (note,) = said(wire, schema)
    assert strict is False and "strict" in note and "other properties" in note


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({**CLOSED, "required": ["a"]}, "may be left out"),
        (closed(a={}), "any type"),
        (closed(a={"type": "array"}), "any type"),
        (closed(a={"type": "string", "default": "x"}), "default"),
        (closed(a={"allOf": [{"type": "string"}], "type": "string"}), "allOf"),
    ],
)
def test_openai_wants_all_of_it(schema: Any, reason: str) -> None:
    for wire in ("openai", "openai-responses"):
        strict, notes = said(wire, schema)
        assert strict is False and reason in notes[0]
    assert said("anthropic", schema)[0] is True


def test_anthropic_takes_no_bounds() -> None:
    schema = closed(a={"type": "integer", "minimum": 1})
    strict, (note,) = said("anthropic", schema)
    assert strict is False and "minimum" in note
    assert said("openai", schema) == (True, [])
