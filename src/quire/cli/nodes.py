"""The node that a file of a user defines, for the commands that run it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from quire.errors import InvalidValue
from quire.node import Node


def node_in(text: str) -> tuple[Node, ModuleType]:
    """The node of `file.py` or `file.py:name`, and the module that was run for it."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):  # the text names no variable
        path, name = text, "node"
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InvalidValue(f"there is no Python file at {path}")
    module = module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))  # as `python file.py` does
    try:
        spec.loader.exec_module(module)
    except Exception as fault:
        frames = extract_tb(fault.__traceback__)
        lines = [f", line {frame.lineno}" for frame in frames if frame.filename == spec.origin]
        raise InvalidValue(f"{path}{''.join(lines[-1:])}: {type(fault).__name__}: {fault}") from fault
    node = getattr(module, name, None)
    if not isinstance(node, Node):
        raise InvalidValue(f"{path} has no variable {name!r} that is a Node")
    return node, module
