"""Stubs: Python text that declares the variables, functions and types of a program.

A task has two stubs with the same names. The model sees the exact stubs. The type checker reads loose stubs:
values that a program sends (arguments, its answer) have exact types; values that it receives (inputs, results
of functions) have their keys, with `Any` as values. So a correct program passes, whatever its tools return.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple, cast
from unicodedata import normalize

from quire.errors import cut
from quire.programs.values import STUB_NAMES

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_FORMATS = {
    "date": "ISO date",
    "date-time": "ISO date and time",
    "time": "ISO time",
    "duration": "ISO duration",
}
_MAX_DEPTH = 12
_MAX_RECORDS = 100
_MAX_LITERALS = 50
_MAX_COMMENT = 200
_MAX_DESCRIPTION = 2_000
_MAX_DEFAULT = 60
_TYPING = ("Any", "Literal", "NotRequired", "TypedDict")
_HEADER = f"from typing import {', '.join(_TYPING)}"

_STUB = re.compile(r"^(?:class |async def )?(\w+)(?: = |[(:])", re.MULTILINE)
"""A name that stubs declare."""


def names_in(stubs: str) -> list[str]:
    """The names at the top level of stubs."""
    return [*_TYPING, *_STUB.findall(stubs)]


class Declared(NamedTuple):
    """A function of a program, with JSON schemas; `returns` is None if it may return any value."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    returns: Mapping[str, Any] | None = None


def stubs_of(
    functions: Sequence[Declared],
    inputs: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    *,
    loose: bool = False,
) -> str:
    """Declarations of the functions, of a variable for each input, and of `Output`. All names are legal.

    `inputs` is the schema of an object whose properties become variables. With `loose`, values that a program
    receives are `Any`.
    """
    input_schemas = _properties(inputs)
    types = _Types([*(function.name for function in functions), *input_schemas], loose=loose)
    answer = _output(types, output)
    calls = [_function(types, function) for function in functions]
    variables = [
        f"{name}: {types.received(schema, name, inputs)}{_comment(schema)}"
        for name, schema in input_schemas.items()
    ]
    parts = [_HEADER, *types.definitions, answer, *calls, "\n".join(variables)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(types: "_Types", schema: Mapping[str, Any] | None) -> str:
    written = "Any" if schema is None else types.sent(schema, "Output", schema)
    note = _format(schema)
    return "" if written == "Output" else f"Output = {written}" + (f"  # {note}" if note else "")


def _function(types: "_Types", declared: Declared) -> str:
    name = declared.name
    returns = "Any"
    if declared.returns is not None:
        returns = types.received(declared.returns, f"{name}_result", declared.returns)
    parameters = ", ".join(_parameters(types, name, declared.parameters))
    return f"async def {name}({parameters}) -> {returns}:\n    {_docstring(declared)}\n    ..."


def _parameters(types: "_Types", function: str, schema: Mapping[str, Any]) -> list[str]:
    """The parameters of a function, required ones first. Illegal names go into `**others`."""
    properties, required = _properties(schema), _required(schema)
    legal = [name for name in properties if _is_parameter(name)]
    written = {name: types.sent(properties[name], f"{function}_{name}", schema) for name in legal}
    parameters = [f"{name}: {written[name]}" for name in legal if name in required]
    defaults = {name: _default(properties[name]) for name in legal if name not in required}
    parameters += [f"{name}: {written[name]} = {default}" for name, default in defaults.items()]
    if len(legal) < len(properties) or schema.get("additionalProperties"):
        parameters.append("**others: Any")
    return parameters


def _is_parameter(name: str) -> bool:
    is_stable = normalize("NFKC", name) == name
    return name.isidentifier() and not iskeyword(name) and is_stable and name != "others" and name[:2] != "__"


def _default(schema: Any) -> str:
    """A default as Python text; `...` if there is none, or if it is too long for a line."""
    fields = cast("Mapping[str, Any]", schema if isinstance(schema, Mapping) else {})
    value: Any = fields.get("default", ...)
    is_empty = value in ([], {})
    is_plain = value is None or isinstance(value, bool | int | float | str)
    text = repr(value) if is_empty or is_plain else "..."
    return text if len(text) <= _MAX_DEFAULT else "..."


def _docstring(declared: Declared) -> str:
    """The docstring of a function: its description, its parameters and the format of its result."""
    properties = _properties(declared.parameters)
    rows = [f"    {name}: {text}" for name, value in properties.items() if (text := _described(value))]
    notes = ["Args:", *rows] if rows else []
    notes += [f"Returns: {text}"] if (text := _format(declared.returns)) else []
    description = declared.description[:_MAX_DESCRIPTION].strip()
    text = "\n".join([description, "", *notes, ""]) if notes else description
    clean = "".join(sign for sign in _encodable(text) if sign.isprintable() or sign == "\n")
    escaped = clean.lstrip().replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n    ")
    escaped = escaped.replace("\n    \n", "\n\n")
    return f'"""{escaped} """' if escaped.endswith('"') else f'"""{escaped}"""'


class _Types:
    """The types of one set of stubs: `TypedDict` for objects, `Literal` for enums, unions and lists."""

    def __init__(self, reserved: Iterable[str], *, loose: bool) -> None:
        self._used = {*reserved, *STUB_NAMES}
        self._is_loose = loose
        self._references: dict[str, str] = {}
        self._root: Any = None
        self.definitions: list[str] = []

    def sent(self, schema: Any, hint: str, root: Any) -> str:
        """The type of a value that a program sends. `hint` names its records; `root` has its references."""
        return self._start(schema, hint, root, loose=False)

    def received(self, schema: Any, hint: str, root: Any) -> str:
        """The type of a value that a program receives."""
        return self._start(schema, hint, root, loose=self._is_loose)

    def _start(self, schema: Any, hint: str, root: Any, *, loose: bool) -> str:
        self._root, self._references = root, {}
        return self._type(schema, hint, _MAX_DEPTH, loose)

    def _type(self, schema: Any, hint: str, depth: int, loose: bool) -> str:
        if not isinstance(schema, Mapping) or not depth:
            return "Any"
        fields = cast("Mapping[str, Any]", schema)
        if isinstance(fields.get("$ref"), str):
            return self._reference(fields["$ref"], hint, depth, loose)
        if "const" in fields or isinstance(fields.get("enum"), list):
            return "Any" if loose else _literal([fields["const"]] if "const" in fields else fields["enum"])
        for keyword in ("anyOf", "oneOf"):
            if isinstance(fields.get(keyword), list):
                return self._union(fields[keyword], hint, depth, loose)
        if isinstance(fields.get("allOf"), list) and len(fields["allOf"]) == 1:
            return self._type(fields["allOf"][0], hint, depth - 1, loose)
        kind = fields.get("type")
        if isinstance(kind, list):
            kinds = [{**fields, "type": member} for member in cast("Iterable[Any]", kind)]
            return self._union(kinds, hint, depth, loose)
        return self._single(kind, fields, hint, depth, loose)

    def _single(self, kind: Any, schema: Mapping[str, Any], hint: str, depth: int, loose: bool) -> str:
        if isinstance(kind, str) and kind in _SCALARS:
            return "Any" if loose else _SCALARS[kind]
        if kind == "array":
            return f"list[{self._type(schema.get('items'), f'{hint}_item', depth - 1, loose)}]"
        if kind == "object" or (kind is None and isinstance(schema.get("properties"), Mapping)):
            return self._object(schema, hint, depth, loose)
        return "Any"

    def _union(self, schemas: Sequence[Any], hint: str, depth: int, loose: bool) -> str:
        inner = "Output_case" if hint == "Output" else hint
        if loose:  # the run finds out whether a value is None, and which of several types it has
            schemas = [member for member in schemas if member != {"type": "null"}]
        members = list(dict.fromkeys(self._type(member, inner, depth - 1, loose) for member in schemas))
        if not members or "Any" in members or (loose and len(members) > 1):
            return "Any"
        return " | ".join(members)

    def _object(self, schema: Mapping[str, Any], hint: str, depth: int, loose: bool) -> str:
        properties, more = _properties(schema), schema.get("additionalProperties")
        if not properties or more or len(self.definitions) > _MAX_RECORDS:
            values = None if properties else more
            return f"dict[str, {self._type(values, f'{hint}_value', depth - 1, loose)}]"
        name, required = self._new_name(hint), _required(schema)
        kinds = {key: self._type(part, f"{name}_{key}", depth - 1, loose) for key, part in properties.items()}
        kinds = {key: kind if key in required else f"NotRequired[{kind}]" for key, kind in kinds.items()}
        self.definitions.append(self._record(name, kinds, properties))
        return name

    def _record(self, name: str, kinds: Mapping[str, str], schemas: Mapping[str, Any]) -> str:
        if all(map(self._is_field, kinds)):
            rows = (f"    {key}: {kind}{_comment(schemas[key])}" for key, kind in kinds.items())
            return "\n".join([f"class {name}(TypedDict):", *rows])
        rows = (f"    {key!r}: {kind},{_comment(schemas[key])}\n" for key, kind in kinds.items())
        return f'{name} = TypedDict("{name}", {{\n{"".join(rows)}}})'

    def _is_field(self, key: str) -> bool:
        """Whether a class can declare the key: it must not hide a type, nor start with `__`."""
        is_name = key.isidentifier() and key.isascii() and not iskeyword(key)
        return is_name and not key.startswith("__") and key not in self._used

    def _reference(self, reference: str, hint: str, depth: int, loose: bool) -> str:
        if reference not in self._references:
            self._references[reference] = "Any"  # for references inside the definition to itself
            schema: Any = self._root
            for part in reference.removeprefix("#").split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                schema = cast("Mapping[str, Any]", schema).get(key) if isinstance(schema, Mapping) else None
            name = hint if hint == "Output" else reference.rpartition("/")[2]
            self._references[reference] = self._type(schema, name, depth - 1, loose)
        return self._references[reference]

    def _new_name(self, hint: str) -> str:
        if hint == "Output" and not any(re.match(r"(class )?Output\b", text) for text in self.definitions):
            return "Output"
        words = re.findall("[A-Za-z0-9]+", hint)[-4:]
        name = "".join(word[:1].upper() + word[1:20] for word in words) or "Record"
        name = name if name[0].isalpha() and not iskeyword(name) else f"Record{name}"
        number, unused_name = 2, name
        while unused_name in self._used:
            unused_name, number = f"{name}{number}", number + 1
        self._used.add(unused_name)
        return unused_name


def _literal(values: list[Any]) -> str:
    is_plain = all(value is None or isinstance(value, bool | int | str) for value in values)
    if not values or not is_plain or len(values) > _MAX_LITERALS:
        return "Any"
    return f"Literal[{', '.join(dict.fromkeys(map(repr, values)))}]"


def _described(schema: Any) -> str:
    """The format and the description of a schema, on one short line; empty if it has neither."""
    text = cast("Mapping[str, Any]", schema).get("description") if isinstance(schema, Mapping) else None
    line = " ".join(_encodable(text).split()) if isinstance(text, str) else ""
    line = "".join(character for character in line if character.isprintable())
    return ": ".join(filter(None, [_format(schema), cut(line, _MAX_COMMENT)]))


def _format(schema: Any, depth: int = _MAX_DEPTH) -> str:
    """The format of a date or time, also within a list, a dict or a union; empty for other values."""
    if not isinstance(schema, Mapping) or not depth:
        return ""
    fields = cast("Mapping[str, Any]", schema)
    union: Any = fields.get("anyOf")
    parts: list[Any] = [fields.get("items"), fields.get("additionalProperties")]
    parts += union if isinstance(union, list) else ()
    formats = (_FORMATS.get(str(fields.get("format")), ""), *(_format(part, depth - 1) for part in parts))
    return next(filter(None, formats), "")


def _comment(schema: Any) -> str:
    text = _described(schema)
    return f"  # {text}" if text else ""


def _properties(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict((schema or {}).get("properties", {}))


def _required(schema: Mapping[str, Any]) -> Sequence[str]:
    return cast("Sequence[str]", schema.get("required", ()))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
