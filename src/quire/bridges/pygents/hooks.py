"""Declaring hooks."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from quire.bridges.pygents.declared import (
    AgentHook,
    ContextPoolHook,
    ContextQueueHook,
    DeclaredHook,
    HookType,
    ToolHook,
    TurnHook,
)
from quire.bridges.pygents.registry import HookRegistry
from quire.errors import InvalidValue, WrongType

__all__ = [
    "AgentHook",
    "ContextPoolHook",
    "ContextQueueHook",
    "DeclaredHook",
    "HookType",
    "ToolHook",
    "TurnHook",
    "hook",
]


def hook(
    type: HookType | Iterable[HookType], lock: bool = False, **fixed: Any
) -> Callable[[Callable[..., Any]], DeclaredHook]:
    """Declare a function as a hook of one type or of several, known by its name from then on.

    With `lock` it runs once at a time. `fixed` are keywords for every call; one that is a function is called
    for its value each time.
    """
    types = _checked(type)

    def declared(function: Callable[..., Any]) -> DeclaredHook:
        made = DeclaredHook(function, types, fixed, lock)
        HookRegistry.register(made)
        return made

    return declared


def _checked(given: object) -> tuple[HookType, ...]:
    if isinstance(given, HookType):
        return (given,)
    # A text is several texts too, and none of them is a type.
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise WrongType("a hook has a type, such as ContextPoolHook.AFTER_ADD, or a list of types")
    types = tuple(cast(Iterable[object], given))
    if not types:
        raise InvalidValue("a hook has at least one type")
    return tuple(kind for one in types for kind in _checked(one))
