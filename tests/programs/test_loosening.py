"""A program as it is looked at again: the same program, with a call of ours around what it made itself."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from quire.programs.sandbox.loosening import LOOSE, LOOSE_RECORD
from quire.programs.sandbox.source import declaring

STUBS = "class Output(TypedDict):\n    é: int\nasync def put(row: Output) -> None: ...\n"
EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "'é'", "f()", "g(1)", "a['b']", "a['c']", "f'{f()}é'"]),
    lambda inner: (
        st.builds("{}, {}".format, inner, inner).map("({})".format)
        | st.builds("[{},\n {}]".format, inner, inner)
        | st.builds("{{'é': {}, 'b': {}}}".format, inner, inner)
        | st.builds("dict(a={}, b={})".format, inner, inner)
        | st.builds("dict({}, a={})".format, inner, inner)
        | st.builds("{} | {{'é': {}}}".format, inner, inner)
        | st.builds("{{one: {} for one in {}}}".format, inner, inner)
        | st.builds("put({})".format, inner)
    ),
    max_leaves=6,
)
STATEMENTS = st.sampled_from(
    [
        "é = {}, {}",
        "a, b = {}, {}",
        "a[{}, {}] = 1",
        "a[{}:2, {}] = 1",
        "for é in {}, {}: pass",
        "def h(): return {}, {}",
        "output = [{}, {}]",
        "é = 'é'; {}; {}",
    ]
)


class _Bare(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call without the one of ours around it."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name == LOOSE:
                return inner
            case ast.Call(ast.Name(id=name), [ast.Starred(ast.Tuple([inner]))]) if name == LOOSE_RECORD:
                return inner
            case _:
                return node


@given(st.lists(st.builds(str.format, STATEMENTS, EXPRESSIONS, EXPRESSIONS), min_size=1, max_size=3))
def test_nothing_else_of_it_is_changed_and_all_lines_stay(statements: list[str]) -> None:
    code = "\n".join([*statements, "a"])
    first, _ = declaring(code, STUBS)
    again, _ = declaring(code, STUBS, ())
    assert ast.dump(_Bare().visit(ast.parse(again))) == ast.dump(ast.parse(first))
    assert again.count("\n") == first.count("\n")
