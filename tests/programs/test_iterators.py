"""What Python goes through once: the next of it can be taken, though the sandbox makes a list of it."""

import ast
import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.programs import ProgramFault, Sandbox, Task
from quire.programs.sandbox.source import answering
from tests.programs.coding import calculator, coder_of, run, solving

NEXT = {
    "of an expression": ("next((n for n in ns if n > 1), None)", 2),
    "of one that comes to an end": ("next((n for n in ns if n > 9), None)", None),
    "without a default": ("next(n for n in ns)", 1),
    "in a text": ("f'{next((n for n in ns if n > 1), 0)} é {sum(n for n in ns)}'", "2 é 6"),
    "of pairs": ("next(enumerate(ns))", [0, 1]),
    "of rows": ("next(zip(ns, ns))", [1, 1]),
    "of what is left": ("next(filter(lambda n: n > 1, ns))", 2),
    "from behind": ("next(reversed(ns))", 3),
    "of what was made": ("next(map(lambda n: n + 1, ns))", 2),
    "of one within another": ("next((m for m in (n + 1 for n in ns) if m > 2), 0)", 3),
}
NAMED = """pairs = (
    n
    for n in ns
)
first = next(pairs)
output = [first, next(pairs), list(pairs), list(pairs), next(iter([9]))]"""
ATOMS = st.sampled_from(
    ["n", "(n for n in ns)", "sum(n for n in ns)", "zip(ns, ns)", "f'{n}é'", "[next(it)]"]
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds("({} for é in {})".format, inner, inner)
        | st.builds("enumerate({})".format, inner)
        | st.builds("é({},\n  {})".format, inner, inner)
    ),
    max_leaves=6,
)


def value_of(code: str, **inputs: Any) -> Any:
    return asyncio.run(Sandbox(workers=1).run(code, inputs=inputs)).value


@pytest.mark.parametrize("case", NEXT.values(), ids=NEXT)
def test_the_next_can_be_taken(case: tuple[str, Any]) -> None:
    expression, expected = case
    assert value_of(f"output = {expression}", ns=[1, 2, 3]) == expected
    assert value_of(expression, ns=[1, 2, 3]) == expected, "as the last expression too"


def test_what_has_a_name_is_gone_through_once_and_lines_stay_where_they_are() -> None:
    assert value_of(NAMED, ns=[1, 2, 3]) == [1, 2, [3], [], 9]
    with pytest.raises(ProgramFault) as raised:
        value_of(f"{NAMED}\noutput = 1 // 0", ns=[1, 2, 3])
    assert raised.value.line == NAMED.count("\n") + 2


def test_names_of_the_programs_own_are_left_alone() -> None:
    own = "def zip(*rows):\n    return {'rows': len(rows)}\n"
    assert value_of(f"{own}it = iter([1])\noutput = [zip(1, 2)['rows'], next(it)]") == [2, 1]


@pytest.mark.parametrize(
    "code",
    [
        "n = 0\nfor iter in range(3):\n    n += iter\noutput = next(v for v in [n])",
        "def first(iter):\n    return next((v for v in iter if v), 0)\noutput = first([0, 3])",
        "iter = lambda several: 5\noutput = next(v for v in [3])",
    ],
)
def test_a_program_may_have_the_name_that_iterators_are_made_by(code: str) -> None:
    assert value_of(code) == 3


def test_it_may_be_given_that_name_too() -> None:
    assert value_of("output = next(v for v in ns if v > iter)", ns=[1, 2, 3], iter=2) == 3


def test_a_list_grows_by_what_is_gone_through_once() -> None:
    grown = "several = [0]\nseveral += (n for n in ns)\nseveral += zip(ns)\n"
    code = f"{grown}output = [len(several), next(iter(ns))]"
    assert value_of(code, ns=[1, 2, 3]) == [7, 1]


def test_what_is_handed_over_is_still_a_list() -> None:
    async def count(several: list[int]) -> int:
        return len(several)

    code = "n = await count(x for x in [1, 2])\nm = next(iter([3]))\noutput = filter(None, [n, m, 0])"
    assert asyncio.run(Sandbox(workers=1).run(code, functions={"count": count})).value == [2, 3]


@given(EXPRESSIONS)
def test_nothing_else_of_a_program_is_changed(expression: str) -> None:
    written = ast.parse(answering(f"next\né = {expression}\noutput = é", 10))
    plain = ast.parse(f"next\né = {expression}")
    assert ast.dump(_Bare().visit(written.body[2])) == ast.dump(plain.body[1])


class _Bare(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call without the one of ours around it."""
        self.generic_visit(node)
        return node.args[0] if isinstance(node.func, ast.Name) and node.func.id == "_quire_iter" else node


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\n{}await asyncio.gather(c, return_exceptions=True)",
        "import asyncio as aio\n{}await aio.gather(c, **options)",
        "from asyncio import gather\n{}await gather(c, return_exceptions=False)",
    ],
)
def test_keywords_of_gather_are_refused_before_anything_is_run(code: str) -> None:
    async def work() -> None:
        ahead = "c = calculator(1, 2)\noptions = {}\nr = "
        with pytest.raises(ProgramFault, match="takes no keywords here") as raised:
            await coder_of().run(
                solving(), code.replace("{}", ahead) + "\noutput = {'result': ''}", problem=""
            )
        assert raised.value.kind == "missing" and raised.value.line == 4

    run(work)


def test_a_gather_of_ones_own_takes_what_it_likes() -> None:
    async def work() -> None:
        own = "async def gather(call, times=1):\n    return await call\n"
        code = f"{own}output = (await gather(calculator(1, 2), times=2))['result']"
        task = Task("add", output=int, tools=[calculator])
        assert (await coder_of(code, rounds=1).answer(task, input="")).value == 3

    run(work)
