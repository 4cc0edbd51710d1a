"""Lists of hooks: checked when given, saved by type and name, found again."""

from collections.abc import Iterable
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.dicts import read_hook_names
from quire.bridges.pygents.registry import HookRegistry
from quire.errors import Damaged, WrongType


class Inherited(Enum):
    """Stands for hooks that are not given, because `None` and `[]` mean none."""

    HOOKS = "the hooks of the parent"


def checked_hooks(hooks: Iterable[DeclaredHook] | None) -> tuple[DeclaredHook, ...]:
    """Hooks that carry their types, each once."""
    if not isinstance(hooks, Iterable | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"hooks are given as a list, not {type(hooks).__name__}")
    found = tuple(hooks or ())
    for one in found:
        if not isinstance(one, DeclaredHook):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a hook carries its type, from @hook: {type(one).__name__} does not")
    return tuple(dict.fromkeys(found))


def inherited_hooks(
    hooks: Iterable[DeclaredHook] | Inherited | None, parents: Iterable[DeclaredHook]
) -> Iterable[DeclaredHook] | None:
    """The hooks of a branch: those that are given, or its parent's."""
    return parents if isinstance(hooks, Inherited) else hooks


def saved_names(hooks: Iterable[DeclaredHook]) -> dict[str, list[str]]:
    """The names of hooks by type."""
    names: dict[str, dict[str, None]] = {}
    for one in hooks:
        for kind in one.types:
            names.setdefault(kind.value, {})[one.name] = None
    return {kind: list(listed) for kind, listed in names.items()}


def saved_hooks_of(data: object) -> list[DeclaredHook]:
    """The hooks that were saved by type and name, each once, in an order that every type had."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for names in read_hook_names(data):
        for name in names:
            order.add(name)
        for before, after in pairwise(names):
            order.add(after, before)
    try:
        return [HookRegistry.get(name) for name in order.static_order()]
    except CycleError:
        raise Damaged("hooks are listed in orders that contradict each other", "$.hooks") from None
