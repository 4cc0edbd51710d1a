"""Answers of models in programs: read in a fence or without, held to a schema, always on the record."""

import json
import threading
from time import perf_counter
from typing import Any

import pytest

from quire.models import Scripted
from quire.programs import Task, calling
from quire.programs.fitting import Steps, fitted
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


ENDLESS: dict[str, Any] = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}
"""Definitions that take for ever, one within the other."""


def test_what_a_run_may_take_is_taken_once_and_long_answers_pay_for_themselves() -> None:
    steps, times = Steps(), list[float]()
    for _ in range(2):
        begun = perf_counter()
        with pytest.raises(ValueError, match="too involved"):
            fitted("1", {"$defs": ENDLESS, "$ref": "#/$defs/a0"}, steps)
        times.append(perf_counter() - begun)
    assert times[1] < times[0] / 5
    rows = [{"a": number} for number in range(5_000)]
    either = {"items": {"anyOf": [{"type": "null"}, OBJECT]}}
    assert fitted(str(rows).replace("'", '"'), either, steps) == rows


def test_long_lists_of_values_cost_no_more_than_short_ones() -> None:
    codes = [f"C{number:04d}" for number in range(1_000)]
    labels, one = {"items": {"enum": codes}}, {"enum": codes}
    steps, rows = Steps(), codes * 5
    assert fitted(json.dumps(rows), labels, steps) == rows
    assert all(fitted('"C0999"', one, steps) == "C0999" for _ in range(300))
    with pytest.raises(ValueError, match="one of"):
        fitted(json.dumps([*rows, "C1000"]), labels, steps)


@pytest.mark.parametrize(("words", "listed"), [("true", 1), ("1", True), ("0", False), ("false", 0)])
def test_a_number_is_no_truth(words: str, listed: Any) -> None:
    for schema in ({"enum": [listed]}, {"const": listed}, {"items": {"enum": ["x", listed]}}):
        with pytest.raises(ValueError, match="one of"):
            fitted(f"[{words}]" if "items" in schema else words, schema)


def test_an_answer_is_looked_at_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[threading.Thread]()

    def noted(*given: Any) -> Any:
        threads.append(threading.current_thread())
        return fitted(*given)

    async def work() -> None:
        code = f"found = await llm('?', output_schema={OBJECT})\noutput = str(found['a'])"
        task = solving(models=[Scripted(['{"a": 1}'])], output=str)
        assert (await coder_of().run(task, code, problem="?")).value == "1"
        assert len(threads) == 1 and threads[0] is not threading.current_thread()

    monkeypatch.setattr(calling, "fitted", noted)
    run(work)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ("{'type': 'str'}", "'str'"),
        ("{'answer': 'int'}", "'answer'"),
        ("{'title': 'str', 'price': 'float'}", "'price'"),
        ("{'type': 'object', 'properties': {'a': 'int'}}", "properties.a"),
        ("{'type': 'object', 'required': True}", "required"),
        ("{'enum': ['x' * 1000] * 200}", "longer"),
    ],
)
def test_what_is_no_schema_is_told_before_a_model_is_asked(schema: str, fault: str) -> None:
    async def work() -> None:
        model = Scripted(["1"])
        asking = f"try:\n    await llm('?', output_schema={schema})\n"
        code = f"{asking}except TypeError as fault:\n    output = str(fault)"
        found = await coder_of().run(solving(models=[model], output=str), code, problem="?")
        assert "output_schema" in found.value and fault in found.value and model.requests == []

    run(work)


@pytest.mark.parametrize("schema", ["{}", "{'title': 'A number'}", "{'type': 'integer', 'unit': 'EUR'}"])
def test_a_schema_may_say_little_and_have_keys_of_its_own(schema: str) -> None:
    async def work() -> None:
        code = f"found = await llm('?', output_schema={schema})\noutput = str(found)"
        task = solving(models=[Scripted(["1"])], output=str)
        assert (await coder_of().run(task, code, problem="?")).value == "1"

    run(work)


@pytest.mark.parametrize("options", [{"output": {"type": "string"}}, {"input": {"a": {"type": "string"}}}])
def test_a_task_has_types_and_no_schemas(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="no JSON schema"):
        Task("answer", **options)


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
