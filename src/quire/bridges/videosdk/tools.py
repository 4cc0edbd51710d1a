"""Tools are given by name, or as what a framework makes of them: an object or a definition with a name."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from quire.errors import WrongType


def names_of(tools: Iterable[object]) -> tuple[str, ...]:
    """The names of tools, in their order."""
    if isinstance(tools, str) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools are a list of names or of tools, not {type(tools).__name__}")
    return tuple(_name_of(tool) for tool in tools)


def _name_of(tool: object) -> str:
    if isinstance(tool, str):
        return tool
    kind = type(tool).__name__
    name = _named(cast(Mapping[str, Any], tool)) if isinstance(tool, Mapping) else _called(tool)
    if not isinstance(name, str) or not name:
        raise WrongType(f"a tool is a name or has one; this {kind} has none")
    return name


def _named(definition: Mapping[str, Any]) -> object:
    inner = definition.get("function")
    return (
        cast(Mapping[str, Any], inner).get("name") if isinstance(inner, Mapping) else definition.get("name")
    )


def _called(tool: object) -> object:
    """What a tool is called: a decorated function has it in `_tool_info`, others say it themselves."""
    info = getattr(tool, "_tool_info", None) or getattr(tool, "tool_info", None)
    return getattr(info, "name", None) or getattr(tool, "name", None) or getattr(tool, "__name__", None)
