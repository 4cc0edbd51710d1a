"""Answers of models in programs: read in a fence or without, held to a schema, always on the record."""

from typing import Any

import pytest

from quire.models import Scripted
from quire.programs.fitting import fitted
from tests.programs.coding import coder_of, run, said, solving

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CLOSED = {**OBJECT, "additionalProperties": False}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}


FITTING: list[tuple[str, Any, Any]] = [
    ('```json\n{"a": 1}\n```', OBJECT, {"a": 1}),
    ("```\n[1]\n```\n", {"type": "array"}, [1]),
    ('{"a": 1, "b": 2}', OBJECT, {"a": 1, "b": 2}),
    ("1.0", {"type": "integer"}, 1.0),
    ("3", {"type": "number"}, 3),
    ("null", {"type": ["string", "null"]}, None),
    ('"x"', {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]}, "x"),
    ("[[], [[]]]", TREE, [[], [[]]]),
    ("[1, 2]", {"items": {"type": "integer", "minimum": 1}, "maxItems": 2}, [1, 2]),
    ("7", {"pattern": "(a+)+$", "format": "what no one knows"}, 7),
    ("7", True, 7),
]


@pytest.mark.parametrize(("words", "schema", "value"), FITTING)
def test_what_fits_is_read(words: str, schema: Any, value: Any) -> None:
    assert fitted(words, schema) == value


@pytest.mark.parametrize(
    ("words", "schema", "fault"),
    [
        ("not JSON", OBJECT, "no JSON"),
        ("```json\nnot JSON\n```", OBJECT, "no JSON"),
        ("[1]", OBJECT, "object"),
        ('{"b": 1}', OBJECT, "'a' is missing"),
        ('{"a": "1"}', OBJECT, "a: "),
        ('{"a": true}', OBJECT, "a: "),
        ('{"a": 1, "b": 2}', CLOSED, "'b'"),
        ('"y"', {"enum": ["x"]}, "one of"),
        ("true", {"const": 1}, "one of"),
        ("[[], [1]]", TREE, "[1][0]"),
        ("0", {"minimum": 1}, "1"),
        ("1", {"exclusiveMinimum": 1}, "1"),
        ('"abc"', {"maxLength": 2}, "2"),
        ("[]", {"minItems": 1}, "1"),
        ('"x"', {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "none of"),
        ("1", {"oneOf": [{"type": "integer"}, {"type": "number"}]}, "2 of"),
        ("1", {"allOf": [{"type": "integer"}, {"minimum": 2}]}, "2"),
        ("1", {"$ref": "#/$defs/nowhere"}, "nowhere"),
        ("1", False, "nothing"),
    ],
)
def test_what_does_not_fit_is_told(words: str, schema: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=r"the model's answer") as raised:
        fitted(words, schema)
    assert fault in str(raised.value)


def test_a_schema_that_never_ends_is_given_up() -> None:
    endless = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    with pytest.raises(ValueError, match="too involved"):
        fitted("1", endless)


def test_an_answer_that_cannot_be_read_is_in_main_all_the_same() -> None:
    async def work() -> None:
        small = Scripted(["not JSON", '{"b": 1}', '```json\n{"a": 4}\n```'], name="small")
        coder = coder_of(
            "output = ''\nfor n in range(3):\n    try:\n"
            f"        found = await llm(str(n), output_schema={OBJECT})\n"
            "        output += str(found['a'])\n    except ValueError:\n        output += 'no '"
        )
        answer = await coder.answer(solving(models=[small], output=str), problem="?")
        assert answer.value == "no no 4"
        assert [text for _, text in said(coder.session)][1:-1] == [
            *("0", "not JSON", "1", '{"b": 1}', "2", '```json\n{"a": 4}\n```'),
        ]

    run(work)
