"""Patterns and ids in schemas: OpenAI refuses a request with one that it cannot read, strict or not."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message
from quire.providers import PROVIDERS
from quire.state import Transcript
from tests.providers.test_tool_laws import schemas_in

ASKED = [Message("user", "Go.")]
OPENAIS = ("openai", "openai-responses")
LOOKING = ["^(?!undefined$|null$)", r"a(?=b)", r"(?<=x)y", r"(?<!x)y", r"\[(?!a)]"]
UNREADABLE = [r"^[\p{L}\p{N}_-]+$", r"^(?<year>\d{4})$", "[", "a{2,1}", r"a{99999999999999}"]
READABLE = [r"^\d{4}-\d{2}$", r"\(?!", r"[(?!]", r"[^](?=]", "(?:a|b)+", "^[[a-z]$", ""]


def tool(schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}, **more}


def written(wire: str, schema: Any) -> tuple[Any, list[str]]:
    """The property as a wire has it, and what was noted."""
    rendered = PROVIDERS[wire].render(ASKED, tools=[tool(schema)], strict=True)
    assert PROVIDERS[wire].check(rendered.payload) == []
    (found,) = schemas_in(rendered.payload)
    return found["properties"]["a"], [f"{note.change}: {note.reason}" for note in rendered.downgrades]


@pytest.mark.parametrize("wire", OPENAIS)
@pytest.mark.parametrize("pattern", [*LOOKING, *UNREADABLE])
def test_openai_gets_no_pattern_that_it_cannot_read(wire: str, pattern: str) -> None:
    found, (note,) = written(wire, {"type": "string", "pattern": pattern, "title": "T"})
    assert found == {"type": "string", "title": "T"}
    assert note.startswith("schema_mended: ") and "pattern" in note
    assert ("lookaround" in note) == (pattern in LOOKING)


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
@pytest.mark.parametrize("pattern", [*LOOKING, *UNREADABLE])
def test_others_take_it(wire: str, pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert written(wire, schema) == (schema, [])


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("pattern", READABLE)
def test_what_can_be_read_stays(wire: str, pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert written(wire, schema) == (schema, [])


@pytest.mark.parametrize("wire", OPENAIS)
def test_it_is_left_out_wherever_it_stands(wire: str) -> None:
    bad = {"type": "string", "pattern": LOOKING[0]}
    schema: dict[str, Any] = {
        "anyOf": [{"type": "array", "items": bad}, {"not": bad}],
        "patternProperties": {r"^\p{L}": bad, "^x": bad},
        "properties": {"pattern": {"type": "string"}},
        "enum": [{"pattern": LOOKING[0]}],
    }
    plain = {"type": "string"}
    found, notes = written(wire, schema)
    assert len(notes) == 1 and found == {
        "anyOf": [{"type": "array", "items": plain}, {"not": plain}],
        "patternProperties": {"^x": plain},
        "properties": {"pattern": {"type": "string"}},
        "enum": [{"pattern": LOOKING[0]}],
    }
    assert schema["anyOf"][0]["items"] is bad and "pattern" in bad


@pytest.mark.parametrize("wire", OPENAIS)
def test_openai_gets_no_id_that_is_no_address(wire: str) -> None:
    found, (note,) = written(wire, {"type": "string", "$id": "Parameters Schema"})
    assert found == {"type": "string"} and "$id" in note
    fine = {"type": "string", "$id": "https://example.com/a?b=%20#c"}
    assert written(wire, fine) == (fine, [])
    property_of_that_name = {"type": "object", "properties": {"$id": {"type": "string"}}}
    assert written(wire, property_of_that_name) == (property_of_that_name, [])


@pytest.mark.parametrize("wire", OPENAIS)
def test_a_tool_stays_strict_without_its_pattern(wire: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": LOOKING[0]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    rendered = PROVIDERS[wire].render(ASKED, tools=[{"name": "f", "parameters": schema, "strict": True}])
    assert '"strict": true' in json.dumps(rendered.payload) and "(?!" not in json.dumps(rendered.payload)
    assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.laws
@given(st.text("(?!=<>p)[]{}\\^$a1,-|*+", max_size=12), st.text(" a/:%0#é", max_size=6))
def test_no_wire_finds_a_fault_in_any_pattern(pattern: str, address: str) -> None:
    given_tool = tool({"type": "string", "pattern": pattern, "$id": address})
    for wire in OPENAIS:
        transcript, sent = Transcript(ASKED), set[str]()
        for _ in range(2):
            rendered = PROVIDERS[wire].render(transcript.view, tools=[given_tool])
            assert PROVIDERS[wire].check(rendered.payload) == []
            sent.add(json.dumps(schemas_in(rendered.payload)))
            transcript.append(Message("user", "more"))
        assert len(sent) == 1
