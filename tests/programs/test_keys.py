"""Keys that are no texts: each becomes one text, the same by every way that a dict takes."""

import json
from typing import Any, Literal, TypedDict

from hypothesis import given, strategies as st

from quire.agent import tool
from quire.programs import Task
from quire.programs.kinds import Kind
from quire.programs.values import as_text, plain
from tests.programs.coding import coder_of, run

FINITE = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.one_of(st.text(), st.integers(-3, 3), st.integers(), FINITE, st.booleans(), st.none())
VALUES = st.recursive(
    st.one_of(KEYS), lambda inner: st.one_of(st.lists(inner), st.dictionaries(KEYS, inner)), max_leaves=20
)


@given(VALUES)
def test_a_dict_is_the_same_by_every_way(value: Any) -> None:
    expected = json.dumps(json.loads(json.dumps(value)))
    assert json.dumps(plain(value)) == expected
    assert json.dumps(json.loads(as_text(value))) == json.dumps(json.loads(as_text(json.loads(expected))))


def test_a_program_gives_a_tool_the_keys_that_it_has() -> None:
    saved = list[Any]()

    @tool
    async def save(counts: dict[int, float], named: dict[str, float], rest: Any) -> str:
        """Save counts."""
        saved.append((counts, named, rest))
        return "saved"

    async def work() -> None:
        code = "counts = {n: n * 1.5 for n in range(3)}\noutput = await save(counts, counts, [counts])"
        task = Task("count", input={"n": int}, output=str, tools=[save])
        assert (await coder_of().run(task, code, n=1)).value == "saved"

    run(work)
    named = {"0": 0.0, "1": 1.5, "2": 3.0}
    assert saved == [({0: 0.0, 1: 1.5, 2: 3.0}, named, [named])]


def test_a_program_is_given_a_dict_whatever_its_keys_are() -> None:
    @tool
    async def chosen() -> dict[bool, int]:
        """Which were chosen."""
        return {True: 1, False: 2}

    async def work() -> None:
        task = Task("choose", input={"n": int}, output=Any, tools=[chosen])
        answer = await coder_of().run(task, "output = await chosen()", n=1)
        assert answer.value == {"true": 1, "false": 2}

    run(work)


class Numbered(TypedDict):
    """What is known by a number."""

    kind: Literal[1]


class Known(TypedDict):
    """What is known by being true."""

    kind: Literal[True]


def test_a_record_is_known_by_a_number_or_by_a_truth() -> None:
    either = Kind(Numbered | Known)
    assert either.of({"kind": 1}).type is Numbered and either.of({"kind": 1.0}).type is Numbered
    assert either.of({"kind": True}).type is Known
