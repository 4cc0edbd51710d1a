"""Stubs: any schema becomes Python that the checker accepts, exact or loose."""

import ast
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_monty import Monty, MontyError, MontyTypingError

from quire.programs.stubs import Declared, stubs_of
from quire.programs.values import legal_name

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
    _object, st.dictionaries(NAMES, SCHEMAS, max_size=3), st.lists(NAMES, max_size=3), SCHEMAS
)
LEGAL = NAMES.map(lambda name: legal_name(f"f{name}"))
FUNCTIONS = st.lists(
    st.builds(Declared, LEGAL, st.text(max_size=30), OBJECTS, st.one_of(st.none(), OBJECTS)),
    max_size=3,
    unique_by=lambda declared: declared.name,
)
INPUTS = st.builds(
    _object, st.dictionaries(NAMES.map(legal_name), SCHEMAS, max_size=3), st.just([]), SCHEMAS
).filter(lambda schema: not any(name.startswith("f") for name in schema["properties"]))
ONLY_IN_STUBS = ("empty-body", "invalid-return-type", "invalid-parameter-default")
"""Three dots for a body or for a value are allowed in stubs alone."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Monty]:
    with Monty() as pool:
        yield pool


def complaints(workers: Monty, text: str) -> list[str]:
    """The diagnostics of the text itself, checked as a program."""
    with workers.checkout(type_check=True, type_check_format="json") as session:
        try:
            session.feed_start(text)
        except MontyTypingError as error:
            rows = json.loads(error.display())
            return [str(row["message"]) for row in rows if row["code"] not in ONLY_IN_STUBS]
        except MontyError:  # the checker accepts more than the interpreter runs
            return []
    return []


@pytest.mark.laws
@given(
    functions=FUNCTIONS,
    inputs=st.one_of(st.none(), INPUTS),
    output=st.one_of(st.none(), OBJECTS, SCHEMAS.filter(lambda one: isinstance(one, dict))),
    loose=st.booleans(),
)
def test_any_schema_becomes_python_that_the_checker_accepts(
    workers: Monty, functions: list[Declared], inputs: Any, output: Any, loose: bool
) -> None:
    text = stubs_of(functions, inputs, output, loose=loose)
    ast.parse(text)
    assert complaints(workers, text) == []


def test_a_description_cannot_break_out_of_its_quotes() -> None:
    text = stubs_of([Declared("f", 'x"""\nimport os\n\\"', {})])
    (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.AsyncFunctionDef)]
    assert ast.get_docstring(function) is not None and len(function.body) == 2
