"""Answers of models to programs, by the schemas that the programs give."""

from typing import Any

import pytest

from quire.programs.schemas import read_answer

SCHEMA: dict[str, Any] = {
    "$defs": {"size": {"type": ["integer", "null"], "minimum": 1}},
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/size"},
        "b": {"oneOf": [{"const": "x"}, {"type": "array", "maxItems": 1, "items": {"type": "number"}}]},
        "c": {"enum": ["p", 1], "not": {}},
        "d": {"type": "object", "additionalProperties": False, "required": ["e"]},
        "f": {"type": "string", "pattern": "(a+)+$"},
        "g": {"minLength": 2},
    },
    "required": ["a"],
}
MISFITS = {
    '{"a": 0}': r"it\['a'\] breaks minimum, 1",
    '{"a": true}': r"it\['a'\] is of type bool, not integer or null",
    '{"a": 1, "b": [1, 2]}': r"it\['b'\] fits none of oneOf",
    '{"a": 1, "d": {"e": 1}}': r"it\['d'\]\['e'\] is not allowed",
    '{"a": 1, "g": "x"}': r"it\['g'\] breaks minLength, 2",
}


@pytest.mark.parametrize(("text", "fault"), MISFITS.items())
def test_an_answer_that_does_not_fit_is_an_error(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"does not fit its schema: {fault}"):
        read_answer(text, SCHEMA)


def test_a_schema_cannot_make_a_comparison_last() -> None:
    bomb: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(ValueError, match="cannot be checked"):
        read_answer("1", {"$ref": "#/$defs/d0", "$defs": {**bomb, "d40": {"type": "string"}}})
    with pytest.raises(ValueError, match="refers to itself"):
        read_answer("1", {"$ref": "#"})
    assert read_answer('{"a": 1, "f": "' + "a" * 40 + '!"}', SCHEMA)  # patterns are not compared
