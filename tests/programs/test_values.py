"""Values of programs: JSON forms, arguments by name, and schemas that programs give to models."""

from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from quire.programs.values import as_text, by_name, check_schema, encodable, plain, read_answer


class Point(NamedTuple):
    """A place."""

    x: int
    y: int


def test_a_value_has_one_plain_form() -> None:
    value = {"p": [Point(1, 2)], 1: date(2026, 1, 2), None: Decimal("1.50"), "s": (1, {2})}
    assert plain(value) == {"p": [{"x": 1, "y": 2}], "1": "2026-01-02", "null": "1.50", "s": [1, [2]]}
    assert as_text("ä\ud800") == '"ä\ufffd"'
    assert encodable(["\ud800", 2**80]) == ["\ufffd", 2**80]


def test_arguments_by_place_come_in_the_order_of_the_stub() -> None:
    parameters: dict[str, Any] = {"properties": {"a": {}, "b": {}}, "required": ["b"]}
    assert by_name(parameters, (1,), {"a": 2}) == {"b": 1, "a": 2}
    for args, given in (((1, 2, 3), {}), ((1,), {"b": 2})):
        with pytest.raises(TypeError):
            by_name(parameters, args, given)


@pytest.mark.parametrize("wrong", [5, {"type": "str"}, {"answer": "int"}, {"description": "x" * 100_001}])
def test_a_schema_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="output_schema"):
        check_schema(wrong)


def test_an_answer_is_read_by_a_schema_of_a_program() -> None:
    price = {"type": "object", "properties": {"usd": {"type": "number", "minimum": 0}}, "required": ["usd"]}
    schema = {"type": "array", "items": {"$ref": "#/$defs/Price"}, "$defs": {"Price": price}}
    assert check_schema(schema) == schema
    assert read_answer('```json\n[{"usd": 1.5}]\n```', schema) == [{"usd": 1.5}]
    for words in ("none", "[{}]", '[{"usd": -1}]'):
        with pytest.raises(ValueError, match="does not fit"):
            read_answer(words, schema)


def test_a_schema_cannot_make_a_comparison_last() -> None:
    bomb: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(ValueError, match="too involved"):
        read_answer("1", {"$ref": "#/$defs/d0", "$defs": {**bomb, "d40": {"type": "string"}}})
    assert read_answer(f'"{"a" * 40}!"', {"type": "string", "pattern": "(a+)+$"})
    with pytest.raises(ValueError, match="too long"):
        read_answer('["' + "x" * 9_000_000 + '"]', {"type": "array", "items": {"type": "string"}})
