"""A program as it is looked at again: the same program, with a call of ours around what it made itself."""

import ast

from hypothesis import given, strategies as st

from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.loose_spread import LOOSE_GIVEN
from quire.programs.sandbox.marking import Faulty, Place
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
        | st.builds("put(** {})".format, inner)
        | st.builds("put(row={}, **{{'c': 'é', 'b': {}}},\n **({}))".format, inner, inner, inner)
        | st.builds("sorted({}, key=h)".format, inner)
        | st.builds("a.setdefault('é', {})".format, inner)
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
        "def k(): return {}, {}",
        "output = [{}, {}]",
        "é = 'é'; {}; {}",
    ]
)


class _Bare(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call without the one of ours around it, and without arguments of ours."""
        node.keywords = [one for one in node.keywords if not _is_ours(one)]
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(id=name), [ast.Starred(ast.Tuple([inner]))]) if name.startswith(LOOSE):
                return inner
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name.startswith(LOOSE):
                return inner
            case _:
                return node


def _is_ours(argument: ast.keyword) -> bool:
    match argument.value:
        case ast.Call(func=ast.Name(id=name)):
            return name == LOOSE_GIVEN
        case _:
            return False


def _place_of(text: str, node: ast.expr | ast.keyword) -> Place:
    """The checker counts characters, and the tree bytes."""
    lines, last = text.split("\n"), node.end_lineno or node.lineno
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    end = len(lines[last - 1].encode()[: node.end_col_offset].decode())
    return Place(node.lineno, start + 1, last, end + 1)


@given(st.lists(st.builds(str.format, STATEMENTS, EXPRESSIONS, EXPRESSIONS), min_size=1, max_size=3))
def test_nothing_else_of_it_is_changed_and_all_lines_stay(statements: list[str]) -> None:
    code = "\n".join(["def h(a: dict): pass", *statements, "a"])
    first, _ = declaring(code, STUBS)
    calls = [node for node in ast.walk(ast.parse(first)) if isinstance(node, ast.Call)]
    spread = [one for call in calls for one in call.keywords if one.arg is None]
    refused, unmatched = ([_place_of(first, one) for one in several] for several in (spread, calls))
    again, _ = declaring(code, STUBS, Faulty(refused, unmatched))
    assert ast.dump(_Bare().visit(ast.parse(again))) == ast.dump(ast.parse(first))
    assert again.count("\n") == first.count("\n")
