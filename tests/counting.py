"""What tests count: tokens by items, calls of functions, and what an object holds."""

import gc
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType

from quire.items import Item


class Items:
    """Counts items."""

    key = "items"

    def count(self, item: Item) -> int:
        return 1

    def total(self, counted: int) -> int:
        return counted


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called for some work, those of C included."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def held_by(root: object) -> tuple[int, list[object]]:
    """How many references are held from an object on, and the objects."""
    references, found = 0, {id(root): root}
    for one in (row := [root]):
        inner = [x for x in gc.get_referents(one) if not isinstance(x, type | ModuleType | FunctionType)]
        new = {id(x): x for x in inner if id(x) not in found}
        references += len(inner)
        found |= new
        row += new.values()
    return references, row
