"""Errors that a program raises itself, and those that pass its handlers: whose they are, and where from."""

import ast

_Making = ast.Call | ast.Raise


def is_own_error(name: str, tree: ast.Module, line: int | None) -> bool:
    """Whether an error that a program died of at a line is one that the program made, or may be.

    What it raises again may be the sandbox's. That is taken for its own where it makes such errors, too.
    """
    if line is not None and _is_made_at(line, name, tree):
        return True
    makes_such = any(_made_by(node) == name for node in ast.walk(tree) if isinstance(node, _Making))
    is_hidden = line is None or bool(_raising_at(line, tree)) or bool(_trying_at(line, tree))
    return makes_such and is_hidden


def lines_passed(name: str, tree: ast.Module, line: int) -> range:
    """Where an error may have come from that is told by a line of a handler; none where it is told rightly.

    One that leaves a handler, or that none took, is told by the last line that it passed there.
    """
    trying = _trying_at(line, tree)
    if not trying or _is_made_at(line, name, tree):
        return range(0)
    inner = max(trying, key=lambda node: node.lineno)
    match inner.handlers:
        case [ast.ExceptHandler(type=None | ast.Name(id="Exception" | "BaseException"), body=body) as only]:
            own = range(body[0].lineno, _lines_of(only).stop)
            return own if line in own else _lines_of(inner)
        case _:
            return _lines_of(inner)


def _trying_at(line: int, tree: ast.Module) -> list[ast.Try]:
    """The statements that have a line in what they do where something failed, or at last."""
    trying = (node for node in ast.walk(tree) if isinstance(node, ast.Try))
    return [node for node in trying if any(line in lines for lines in _lines_after(node))]


def _lines_after(node: ast.Try) -> list[range]:
    return [*map(_lines_of, node.handlers), *map(_lines_of, node.finalbody)]


def _raising_at(line: int, tree: ast.Module) -> list[ast.Raise]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Raise) and line in _lines_of(node)]


def _is_made_at(line: int, name: str, tree: ast.Module) -> bool:
    """Whether an error of a name is made and raised at a line, or one whose type no text shows."""
    return any(_is_any(node.exc) or _made_by(node) == name for node in _raising_at(line, tree))


def _is_any(raised: ast.expr | None) -> bool:
    match raised:
        case ast.Call(func=ast.Name() | ast.Attribute()) | ast.Name() | ast.Attribute() | None:
            return False
        case _:
            return True


def _made_by(node: ast.AST | None) -> str:
    """The name of what makes an error, where it is called or raised."""
    match node:
        case ast.Raise(exc=made):
            return _made_by(made)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _lines_of(node: ast.stmt | ast.ExceptHandler) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
