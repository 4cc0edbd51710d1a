"""Tool definitions, read from any provider's shape, to be written in another's."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, cast

from quire.errors import InvalidValue, cut
from quire.providers.json_values import exact_copy
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
    mended: bool = False
    """Whether the schema said what no schema can: properties that are no object."""
    exact: bytes = b""
    """The definition as JSON: what tells `0` from `False`, which Python takes for the same."""


def read_tools(definitions: Iterable[Definition]) -> list[Tool]:
    """The tools in the order of their names, so that the order they were given in changes nothing.

    They are copies: who changes a definition later changes nothing that was rendered before.
    """
    tools = sorted((_tool(tool) for tool in single_definitions(definitions)), key=_order)
    refuse_same_names([tool for tool in tools if tool.native is None])
    return tools


def refuse_same_names(tools: Iterable[Tool]) -> None:
    """Raise if two of the tools that go into one request are called alike.

    Those of different services may be, since each wire leaves the other's out.
    """
    for one, other in pairwise(tools):
        if one.name == other.name:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")


def _order(tool: Tool) -> tuple[str, bytes]:
    return tool.name, tool.exact


def _tool(definition: Definition) -> Tool:
    if not definition:
        raise InvalidValue("a tool's definition is empty")
    try:
        copied, exact = exact_copy(definition)
    except InvalidValue as fault:
        raise InvalidValue(f"the definition of {_called(definition)} is not JSON: {fault}") from None
    if _is_native(copied):
        return Tool(_native_name(copied), "", {}, native=copied, exact=exact)
    name, description, schema = read_definition(copied)
    if not name:
        raise InvalidValue("a tool's name is empty")
    schema, flawed = _with_properties(schema or EMPTY)
    return Tool(name, description, schema, _strict(copied), mended=flawed, exact=exact)


def _with_properties(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    flawed = "properties" in schema and not isinstance(schema["properties"], Mapping)
    return ({**schema, "properties": {}} if flawed else schema), flawed


def _strict(definition: Mapping[str, Any]) -> bool | None:
    inner = definition.get("function")
    strict: Any = (inner if isinstance(inner, Mapping) else definition).get("strict")  # pyright: ignore
    return strict if isinstance(strict, bool) else None


def _called(definition: Definition) -> str:
    inner = definition.get("function")
    name = (cast("Definition", inner) if isinstance(inner, Mapping) else definition).get("name")
    return f"the tool {cut(name)!r}" if isinstance(name, str) else "a tool"


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
