"""Tokens of tool definitions. Definitions are read in the shapes providers take, and never validated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from quire.errors import WrongType
from quire.items import Message
from quire.tokens.asking import believed, checked_counter, count_by
from quire.tokens.counter import Counter, CountsTools, Definition

_PROPERTIES = 3
_PROPERTY = 3
_CHOICES = -3
_CHOICE = 3
"""What OpenAI's rewriting of a schema adds, by its published recipe."""

_DEEPEST = 32
"""Schemas nested further are cut off there: no provider takes them, and a schema may hold itself."""

_DECLARED = ("function_declarations", "functionDeclarations")
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")

_OF_FUNCTIONS = frozenset(("name", "function", "description", *_SCHEMA_KEYS))


def schema_tokens(tools: Sequence[Definition], counter: Counter) -> int:
    """Tokens that tool definitions add to a request; where a counter knows no tools, those of their JSON."""
    if isinstance(counter, CountsTools) and not isinstance(counter, type):
        return believed(counter.count_tools(tools), counter, "count_tools")
    checked_counter(counter)
    texts = [_json(tool) for tool in single_definitions(tools)]
    return sum(count_by(counter, Message(role="system", content=text)) for text in texts)


def answer_tokens(schema: Mapping[str, Any] | None, counter: Counter) -> int:
    """Tokens that the schema of an answer adds to a request: a model reads it as it is written."""
    if not schema:
        return 0
    return count_by(checked_counter(counter), Message(role="system", content=_json(schema)))


def single_definitions(tools: Iterable[Definition]) -> list[Definition]:
    """The tools one by one. Gemini has many functions in an entry, and may have tools of its own beside."""
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools are a list of definitions, not {type(cast(object, tools)).__name__}")
    return [single for tool in tools for single in _singles(tool)]


def _singles(tool: Definition) -> list[Definition]:
    if not isinstance(tool, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a tool definition is a mapping, not {type(tool).__name__}")
    declared = [one for name in _DECLARED if name in tool for one in single_definitions(tool[name])]
    if not declared:
        return [tool]
    own = {name: value for name, value in tool.items() if name not in _DECLARED}
    return [*declared, own] if own else declared


def definition_tokens(tool: Definition, measure: Callable[[str], int], typed: bool) -> int:
    """Tokens of one definition without its framing; of a provider's own tool those of what names it."""
    if tool and _OF_FUNCTIONS.isdisjoint(tool):
        return measure(_json(tool))
    name, description, schema = read_definition(tool)
    if not typed:
        return measure(_json({"name": name, "description": description, "parameters": schema}))
    return measure(f"{name}:{description.removesuffix('.')}") + _typed(schema, measure, 0)


def read_definition(tool: Definition) -> tuple[str, str, Mapping[str, Any]]:
    """The name, the description and the schema of one definition, whichever provider's shape it has.

    The description is empty, and so is the schema, where there is none; a name there must be.
    """
    inner = _mapping(tool.get("function")) or tool
    name = inner.get("name")
    if not isinstance(name, str):
        raise WrongType("a tool definition needs a name, as text")
    schemas = [_mapping(inner[key]) for key in _SCHEMA_KEYS if key in inner]
    return name, str(inner.get("description") or ""), schemas[0] if schemas else {}


def _typed(schema: Mapping[str, Any], measure: Callable[[str], int], depth: int) -> int:
    properties = _mapping(schema.get("properties"))
    if not properties or depth > _DEEPEST:
        return 0
    return _PROPERTIES + sum(
        _property(name, _mapping(inner), measure, depth) for name, inner in properties.items()
    )


def _property(name: str, schema: Mapping[str, Any], measure: Callable[[str], int], depth: int) -> int:
    kind = schema.get("type", "")
    line = f"{name}:{kind if isinstance(kind, str) else _json(kind)}:{_description(schema)}"
    tokens = _PROPERTY + measure(line) + _choices(schema.get("enum"), measure)
    for nested in (schema, _mapping(schema.get("items")), *_alternatives(schema)):
        tokens += _typed(nested, measure, depth + 1)
    return tokens


def _description(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or "").removesuffix(".")


def _choices(choices: Any, measure: Callable[[str], int]) -> int:
    if not isinstance(choices, list | tuple):
        return 0
    texts = [str(choice) for choice in cast("Sequence[object]", choices)]
    return _CHOICES + sum(_CHOICE + measure(text) for text in texts)


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for key in ("anyOf", "oneOf", "allOf"):
        several = schema.get(key)
        if isinstance(several, list | tuple):
            found.extend(_mapping(one) for one in cast("Sequence[object]", several))
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)
