"""Tool definitions, read from any provider's shape, to be written in another's."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, cast

from quire.errors import InvalidValue
from quire.tokens.counter import Definition
from quire.tokens.schemas import read_definition, single_definitions

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


class Tool(NamedTuple):
    """A tool as a model is told of it; `native` is a provider's own tool, to be passed as it is."""

    name: str
    description: str
    schema: Mapping[str, Any]
    strict: bool | None = None
    native: Mapping[str, Any] | None = None


def read_tools(definitions: Iterable[Definition]) -> list[Tool]:
    """The tools in the order of their names, so that the order they were given in changes nothing."""
    tools = sorted((_tool(tool) for tool in single_definitions(definitions)), key=lambda tool: tool.name)
    for one, other in pairwise(tools):
        if one.name == other.name:
            raise InvalidValue(f"two tools are called {one.name!r}")
    return tools


def _tool(definition: Definition) -> Tool:
    if not definition:
        raise InvalidValue("a tool's definition is empty")
    if _is_native(definition):
        return Tool(_native_name(definition), "", {}, native=definition)
    name, description, schema = read_definition(definition)
    inner = definition.get("function")
    strict = (inner if isinstance(inner, Mapping) else definition).get("strict")  # pyright: ignore
    return Tool(name, description, schema or EMPTY, strict if isinstance(strict, bool) else None)


def _is_native(definition: Definition) -> bool:
    """Whether it is a tool that a provider brings, such as a search, and not a function of ours."""
    if "name" not in definition and "function" not in definition:
        return True
    kind = definition.get("type")
    if kind == "custom":
        # Anthropic's name for a function, which has a schema; OpenAI's for a tool that takes any text.
        return not any(key in definition for key in ("function", "parameters", "input_schema"))
    return kind not in (None, "function")


def _native_name(definition: Definition) -> str:
    inner = definition.get("custom")
    named = cast("Definition", inner) if isinstance(inner, Mapping) else definition
    # Of tools on servers there may be several of one type.
    name = named.get("name") or definition.get("server_label") or definition.get("type")
    return str(name or next(iter(definition)))
