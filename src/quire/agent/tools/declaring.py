"""Making tools: the decorator, and the tools that an agent is given."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack, cast, overload

from quire.agent.tools.options import Chosen, Options
from quire.agent.tools.tool import Tool
from quire.errors import InvalidValue, WrongType, cut
from quire.providers import read_tools
from quire.tokens import Definition


@overload
def tool(function: Callable[..., Any], /, **chosen: Unpack[Chosen]) -> Tool: ...
@overload
def tool(**chosen: Unpack[Chosen]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **chosen: Unpack[Chosen]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, `@tool(timeout=5)` or `tool(function, name="other")`.

    The schema comes from its signature, the descriptions from its docstring. See `Options` for the rest.
    """
    # Annotations in quotes may name what is local to where the function is declared.
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names = {} if caller.f_locals is caller.f_globals else dict(caller.f_locals)
    options = Options(**chosen)
    return partial(_made, options, names) if function is None else _made(options, names, function)


class Toolset(NamedTuple):
    """Tools by their names, and the definitions of all, those that a provider runs itself included."""

    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]


def tools_of(values: Iterable[Tool | Callable[..., Any] | Definition]) -> Toolset:
    """Tools, plain functions and definitions of tools that run elsewhere, each under a name of its own."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools are a list, not {type(cast(object, values)).__name__}")
    tools: dict[str, Tool] = {}
    definitions: list[Definition] = []
    for value in values:
        if isinstance(value, Mapping):
            definitions.append(value)  # pyright: ignore[reportUnknownArgumentType]
            continue
        one = value if isinstance(value, Tool) else _made(Options(), {}, value)
        if one.name in tools:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")
        tools[one.name] = one
    every = (*(one.definition for one in tools.values()), *definitions)
    _refuse_same_names(every)
    return Toolset(MappingProxyType(tools), every)


def _refuse_same_names(definitions: Iterable[Definition]) -> None:
    """Refuse names that are there twice, also those of tools that a provider runs."""
    names: set[str] = set()
    for one in read_tools(definitions):
        if one.name in names:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")
        names.add(one.name)


def _made(options: Options, names: Mapping[str, Any], function: Any) -> Tool:
    if isinstance(function, Tool):
        raise InvalidValue(f"{cut(function.name)!r} is a tool already")
    if not callable(function) and not isinstance(function, classmethod):
        raise WrongType(f"a tool is a function, not {type(function).__name__}")
    return Tool(function, options, names)  # pyright: ignore
