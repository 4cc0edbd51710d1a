"""Stubs: any schema becomes Python that the checker accepts, and says what it can of it."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_monty import Monty, MontyError, MontyTypingError

from quire.programs.stubs import Declared, stubs_of

NAMES = st.one_of(
    st.sampled_from(["a", "b", "class", "str", "list", "Any", "Output", "TypedDict", "__x", "_y", "odd key"]),
    st.text(max_size=6),
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.floats(allow_nan=False))
SINGLE = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "odd"])


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(NAMES, inner, max_size=3)
    required = st.lists(NAMES, max_size=3)
    described = {"type": st.just("object"), "properties": properties, "required": required}
    return st.one_of(
        st.fixed_dictionaries(described, optional={"additionalProperties": st.one_of(st.booleans(), inner)}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, max_size=2)}),
    )


PLAIN = st.one_of(
    st.just({}),
    st.booleans(),
    st.fixed_dictionaries({"type": SINGLE}, optional={"description": st.text(max_size=20)}),
    st.fixed_dictionaries({"type": st.lists(SINGLE, max_size=3)}),
    st.fixed_dictionaries({"enum": st.lists(VALUES, max_size=4)}),
    st.fixed_dictionaries({"const": VALUES}),
    st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/none", "elsewhere.json"])}),
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(PLAIN, _larger, max_leaves=8)


def _object(properties: Any, required: Any, inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "$defs": {"A": inner}}


OBJECTS: st.SearchStrategy[dict[str, Any]] = st.builds(
    _object,
    st.dictionaries(NAMES, SCHEMAS, max_size=3),
    st.lists(NAMES, max_size=3),
    SCHEMAS,
)
FUNCTIONS = st.lists(
    st.builds(Declared, NAMES, st.text(max_size=30), OBJECTS, st.one_of(st.none(), OBJECTS)), max_size=3
)


ONLY_IN_STUBS = ("empty-body", "invalid-return-type", "invalid-parameter-default")
"""Three dots for a body or for a value are taken in stubs alone."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Monty]:
    with Monty() as pool:
        yield pool


def complaints(workers: Monty, text: str) -> list[str]:
    """What the checker says of the text itself, taken as a program."""
    with workers.checkout(type_check=True, type_check_format="json") as session:
        try:
            session.feed_start(text)
        except MontyTypingError as error:
            rows = json.loads(error.display())
            return [str(row["message"]) for row in rows if row["code"] not in ONLY_IN_STUBS]
        except MontyError:  # what the sandbox cannot run it may still check
            return []
    return []


@pytest.mark.laws
@given(
    functions=FUNCTIONS,
    inputs=st.one_of(st.none(), OBJECTS),
    output=st.one_of(st.none(), OBJECTS, SCHEMAS.filter(lambda x: isinstance(x, dict))),
)
def test_any_schema_becomes_python_that_the_checker_accepts(
    workers: Monty, functions: list[Declared], inputs: Any, output: Any
) -> None:
    text = stubs_of(functions, inputs, output)
    ast.parse(text)
    assert complaints(workers, text) == []


def test_objects_enums_unions_and_lists_are_said() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "filter": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["a", "b"]},
                    "deep": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["kind"],
            },
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["limit"],
    }
    text = stubs_of(
        [Declared("search", "Find things.", parameters, {"type": "array", "items": {"type": "string"}})]
    )
    assert "async def search(limit: int | None, filter: SearchFilter = ...) -> list[str]:" in text
    assert '"""Find things."""' in text
    assert (
        "class SearchFilter(TypedDict):\n    kind: Literal['a', 'b']\n    deep: NotRequired[list[int]]"
        in text
    )


def test_inputs_are_variables_and_the_answer_has_a_name() -> None:
    inputs = {"type": "object", "properties": {"problem": {"type": "string"}, "from": {"type": "integer"}}}
    text = stubs_of([], inputs, {"type": "object", "properties": {"odd key": {}, "n": {"type": "number"}}})
    assert "problem: str\nfrom_: int" in text
    assert "Output = TypedDict(\"Output\", {'odd key': NotRequired[Any], 'n': NotRequired[float]})" in text
    assert "Output = int" in stubs_of([], None, {"type": "integer"})


def test_definitions_are_followed_and_circles_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]}
    text = stubs_of([], None, {"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert "class Output(TypedDict):\n    next: Any" in text


def test_a_description_cannot_break_out_of_its_quotes() -> None:
    text = stubs_of([Declared("f", 'x"""\nimport os\n\\"', {})])
    assert [type(node) for node in ast.parse(text).body] == [ast.ImportFrom, ast.Assign, ast.AsyncFunctionDef]
