"""Tool definitions, read from any provider's shape, to be written in another's."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import InvalidValue, cut
from quire.providers.json_values import Json, exact_copy, fields_in
from quire.providers.parameters import parameters_of
from quire.providers.patterns import Vetted
from quire.providers.properties import Narrow
from quire.providers.strictness import Refusals
from quire.tokens import Definition, read_definition, single_definitions

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")
_READ = frozenset(("name", "description", "strict", "type", "function", *_SCHEMAS))


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Any]).decode


class Tool(NamedTuple):
    """A tool as a model is told of it; `native` is a provider's own tool, to be passed as it is."""

    name: str
    description: str
    schema: Mapping[str, Any]
    strict: bool | None = None
    native: Mapping[str, Any] | None = None
    lost: str = ""
    """What the schema said that no wire takes, or that is said in other words now, if anything."""
    beside: Mapping[str, Any] = {}
    """Whatever else was said of it, by the names that its own wire has."""
    wire: str | None = None
    """Whose way of defining a tool it was, where that can be told."""
    exact: bytes = b""
    """The definition as JSON: what tells `0` from `False`, which Python takes for the same."""
    refusals: Refusals = Refusals()
    """Why it cannot be strict on a wire, where it cannot."""
    narrow: Narrow | None = None
    """The schema for a wire that takes none but plain names of parameters, where that is another."""
    vetted: Vetted | None = None
    """The schema for a wire that reads patterns and ids, where that is another."""


class Reading(NamedTuple):
    """Tools, and the definitions that they were read from, as values and as JSON."""

    tools: list[Tool]
    given: list[Any]
    exact: bytes


def reading(definitions: Sequence[Definition], before: Reading | None) -> Reading:
    """The tools of a turn; those of an earlier one, if the definitions are the same to the letter.

    That they are equal is not enough, for `0` is equal to `False`; nor is the same JSON, for it has a list
    where there was a set, which is refused.
    """
    exact = _exact(definitions)
    if before is not None and exact and exact == before.exact and before.given == [*definitions]:
        return before
    return Reading(read_tools(definitions), _decode(exact) if exact else [], exact)


def _exact(definitions: Sequence[Definition]) -> bytes:
    """Definitions as JSON; nothing of what is no list, or cannot be written so."""
    try:
        return _encode(definitions) if isinstance(definitions, list | tuple) else b""
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


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
    inner = fields_in(copied.get("function")) or copied
    name, description, _ = read_definition(inner)
    if not name:
        raise InvalidValue("a tool's name is empty")
    given: Any = next((inner[key] for key in _SCHEMAS if inner.get(key) is not None), None)
    schema, lost, mended, refusals, narrow, vetted = parameters_of(given)
    strict = inner.get("strict")
    if strict is True and lost:
        strict, lost = False, f"{lost}; it is strict no more"
    if mended:
        lost = f"{lost}; it has {mended}" if lost else f"has {mended}"
    beside: Json = {}
    if not (copied.keys() <= _READ and inner.keys() <= _READ):
        said = {**copied, **inner}.items()
        beside = {key: value for key, value in said if value is not None and key not in _READ}
    strictly = strict if isinstance(strict, bool) else None
    wire = _wire(copied)
    return Tool(
        name, description, schema, strictly, None, lost, beside, wire, exact, refusals, narrow, vetted
    )


def _wire(definition: Json) -> str | None:
    if definition.get("function") is not None:
        return "openai"
    if definition.get("input_schema") is not None:
        return "anthropic"
    if definition.get("type") == "function":
        return "openai-responses"
    return "gemini" if any(definition.get(key) is not None for key in _SCHEMAS[3:]) else None


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
