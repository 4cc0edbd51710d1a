"""What the names of a program stand for, where its text shows that for certain."""

import ast
from collections import Counter
from collections.abc import Iterator

from quire.programs.sandbox.lacked import TYPES

FUNCTION = "function"
PATH = "pathlib.Path"
PATTERN = "re.Pattern"
_MADE_BY = {"pathlib.Path": PATH, "re.compile": PATTERN}
_PATHS_OF_PATHS = ("cwd", "joinpath", "with_name", "with_stem", "with_suffix")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Known:
    """The names of one program. `bound` is how often it binds each: what may be another is not known."""

    def __init__(self, nodes: list[ast.AST], bound: Counter[str]) -> None:
        imported = [one for node in nodes for one in _imported_as(node)]
        times = Counter(name for name, _ in imported)
        self._paths = {name: path for name, path in imported if bound[name] == times[name]}
        self._paths |= {name: name for name in TYPES if "." not in name and name not in bound}
        functions = (node.name for node in nodes if isinstance(node, _FUNCTIONS))
        self._kinds = {name: FUNCTION for name in functions if bound[name] == 1}
        assigned = [node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
        for node in sorted(assigned, key=lambda one: one.lineno):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    if bound[name] == 1 and node.value is not None:
                        self._kinds[name] = self.kind_of(node.value)
                case _:
                    pass

    def path_of(self, node: ast.expr) -> str:
        """What a name or an attribute stands for, where it was imported or is Python's own."""
        match node:
            case ast.Name(id=name):
                return self._paths.get(name, "")
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._paths:
                return f"{self._paths[name]}.{attr}"
            case _:
                return ""

    def kind_of(self, node: ast.expr) -> str:
        """Whether this is a path, a pattern, or a function of the program's own; nothing for all others."""
        match node:
            case ast.Name(id=name):
                return self._kinds.get(name, "")
            case ast.Lambda():
                return FUNCTION
            case ast.Call(func=made_by) if self.path_of(made_by) in _MADE_BY:
                return _MADE_BY[self.path_of(made_by)]
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _PATHS_OF_PATHS:
                return PATH if self.is_path(inner) else ""
            case ast.Attribute(value=inner, attr="parent") | ast.BinOp(left=inner, op=ast.Div()):
                return PATH if self.is_path(inner) else ""
            case _:
                return ""

    def is_path(self, node: ast.expr) -> bool:
        """Whether this is a path, or what paths are made of."""
        return PATH in (self.path_of(node), self.kind_of(node))


def imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that a statement imports, with what it imports by them."""
    match node:
        case ast.Import(names=names):
            for one in names:
                yield one.asname or one.name.partition(".")[0], one.name
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from ((one.asname or one.name, f"{module}.{one.name}") for one in names)
        case _:
            pass


def _imported_as(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that a statement imports, with what they stand for: `import os.path` names `os`."""
    for name, path in imports(node):
        is_part = isinstance(node, ast.Import) and path.startswith(f"{name}.")
        yield name, name if is_part else path
