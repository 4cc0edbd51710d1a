"""Python text that declares what a program may use: its functions, its inputs, and the type of its answer.

The same text is read by a model and by the type checker.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple, cast

from quire.programs.schema_types import Types, comment, commented, described, form_of
from quire.programs.values import legal_name

_LONGEST_DESCRIPTION = 2_000
_LONGEST_DEFAULT = 60
_LARGEST_SHOWN = 10**18


class Declared(NamedTuple):
    """A function as a program sees it; schemas of JSON, and None for one that returns anything."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    returns: Mapping[str, Any] | None = None


def stubs_of(
    functions: Sequence[Declared],
    inputs: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> str:
    """Declarations of the functions, of a variable for each input, and of `Output`."""
    given = _properties(inputs)
    names = _legal_names([*(one.name for one in functions), *given])
    types = Types({*names})
    answer = _output(types, output)
    calls = [_function(types, name, one) for name, one in zip(names, functions, strict=False)]
    variables = [
        f"{name}: {types.of(schema, name, inputs)}{comment(schema)}"
        for name, schema in zip(names[len(functions) :], given.values(), strict=True)
    ]
    parts = [types.header, *types.definitions, answer, *calls, "\n".join(variables)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _legal_names(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(legal_name(name, found))
    return found


def _output(types: Types, schema: Mapping[str, Any] | None) -> str:
    said = types.word("Any") if schema is None else types.of(schema, "Output", schema)
    return "" if said == "Output" else f"Output = {said}{commented(form_of(schema))}"


def _function(types: Types, name: str, declared: Declared) -> str:
    returns = types.word("Any")
    if declared.returns is not None:
        returns = types.of(declared.returns, f"{name}_result", declared.returns)
    parameters = ", ".join(_parameters(types, name, declared.parameters))
    return f"async def {name}({parameters}) -> {returns}:\n    {_docstring(_told(declared))}\n    ..."


def _told(declared: Declared) -> str:
    """What a function does, and what is said of its parameters: those that have no legal name too."""
    properties = _properties(declared.parameters)
    rows = [f"    {name}: {told}" for name, one in properties.items() if (told := described(one))]
    given, form = ["Args:", *rows] if rows else [], form_of(declared.returns)
    given += [f"Returns: {form}"] if form else []
    description = declared.description[:_LONGEST_DESCRIPTION].strip()
    return "\n".join([description, "", *given, ""]) if given else description


def _parameters(types: Types, function: str, schema: Mapping[str, Any]) -> list[str]:
    """What a function takes: what it must be given comes first, as Python has it."""
    required, properties = schema.get("required"), _properties(schema)
    needed: list[Any] = [*cast("Sequence[Any]", required)] if isinstance(required, list | tuple) else []
    legal = [name for name in properties if _is_legal(name)]
    said = {name: types.of(properties[name], f"{function}_{name}", schema) for name in legal}
    found = [f"{name}: {said[name]}" for name in legal if name in needed]
    found += [f"{name}: {said[name]} = {_default(properties[name])}" for name in legal if name not in needed]
    if len(legal) < len(properties) or schema.get("additionalProperties"):
        found.append(f"**others: {types.word('Any')}")
    return found


def _default(schema: Any) -> str:
    """A default as Python text; three dots where there is none that a line has room for."""
    value: Any = ...
    if isinstance(schema, Mapping):
        value = cast("Mapping[str, Any]", schema).get("default", ...)
    match value:
        case [] | ():
            return "[]"
        case {} if not value:
            return "{}"
        case None | bool():
            return repr(value)
        case str() if len(value) <= _LONGEST_DEFAULT:
            return repr(value)
        case int() | float() if abs(value) < _LARGEST_SHOWN:
            return repr(value)
        case _:
            return "..."


def _is_legal(name: str) -> bool:
    """Whether a parameter can have a name, just as it is written."""
    stays = unicodedata.normalize("NFKC", name) == name
    return name.isidentifier() and not iskeyword(name) and stays and name != "others" and name[:2] != "__"


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {str(name): one for name, one in cast("Mapping[str, Any]", found).items()}


def _docstring(description: str) -> str:
    """A description between quotes, whatever is in it."""
    text = description.lstrip().encode("utf-8", "replace").decode()
    clean = "".join(sign for sign in text if sign.isprintable() or sign == "\n")
    escaped = clean.replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n    ")
    escaped = escaped.replace("\n    \n", "\n\n")
    return f'"""{escaped} """' if escaped.endswith('"') else f'"""{escaped}"""'
