"""JSON Schema of tool parameters and of answers: reading it, and writing it as a wire takes it.

A schema is code. One that is not valid JSON Schema (draft 2020-12) is refused with a path. Keywords that a
wire refuses are removed, and named in `Form.removed`. Every function returns a new schema.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.items import MAX_DEPTH
from quire.providers import rules
from quire.providers.check.core import type_of
from quire.providers.check.schema import children, schema_errors, subschemas
from quire.providers.names import Names
from quire.providers.values import Json, entries_in, fields_in, nests_deeper

_TYPED = frozenset(("type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"))

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def copy(schema: Mapping[str, Any]) -> Json:
    """A deep copy of a schema that was read."""
    return cast("Json", _decode(_encode(schema)))


def is_open(schema: Json) -> bool:
    """Whether a schema is that of an object which may have properties that it does not name."""
    is_object = _allows(schema, "object") or "properties" in schema
    return is_object and schema.get("additionalProperties") is not False


def is_plain_object(schema: Json) -> bool:
    """Whether the top of a schema is one object, as tools and answers must be on every wire."""
    return schema.get("type") == "object" and rules.OPENAI_TOP_KEYWORDS.isdisjoint(schema)


def _allows(schema: Json, kind: str) -> bool:
    return schema.get("type") == kind or kind in entries_in(schema.get("type"))


# --- reading ---------------------------------------------------------------------------------------------


def read_schema(given: Any, path: str) -> Json:
    """A valid schema whose pointers lead somewhere, and whose top does not point elsewhere."""
    if not isinstance(given, dict):
        raise WrongType(f"{path}: a schema is an object, this is {type_of(given)}")
    text = _encode(given)
    if nests_deeper(text.decode(), MAX_DEPTH):
        raise InvalidValue(f"{path}: nests deeper than {MAX_DEPTH} levels")
    schema: Json = _decode(text)
    for _, inner in subschemas(schema):
        _modernize(inner)
    for place, error in schema_errors(schema, path):
        raise InvalidValue(f"{place}: {error}")
    if "$ref" in schema:  # pydantic and msgspec write a named schema that way
        pointer = schema.pop("$ref")
        schema = {**fields_in(_target(schema, pointer, path)), **schema}
        if "$ref" in schema:
            raise InvalidValue(f"{path}.$ref: leads to another pointer")
    _check_pointers(schema, path)
    return schema


def read_parameters(given: Any, path: str) -> tuple[Json, tuple[str, ...]]:
    """The schema of a tool's parameters, one object, and the keywords removed from its top for that."""
    if given is None or given is True:
        return {"type": "object", "properties": {}}, ()
    schema = read_schema(given, path)
    if "type" in schema and not _allows(schema, "object"):
        raise InvalidValue(f"{path}.type: the parameters of a tool are an object")
    removed = [key for key in schema if key in rules.OPENAI_TOP_KEYWORDS]
    if removed and "properties" not in schema:
        raise InvalidValue(f"{path}.{removed[0]}: the parameters of a tool are one object with `properties`")
    for key in removed:
        del schema[key]
    _check_pointers(schema, path)
    return {"properties": {}, **schema, "type": "object"}, tuple(f"{key} at its top" for key in removed)


def _modernize(schema: Json) -> None:
    """Write in the words of draft 2020-12 what public clients and servers write in others.

    These are types in capitals and `nullable` (Gemini's API reference), and arrays that do not say what they
    hold (vscode#244467).
    """
    for name in ("$schema", "$id"):  # names of a draft and of a document, which no wire reads
        schema.pop(name, None)
    is_nullable, kind = schema.pop("nullable", False), schema.get("type")
    if isinstance(kind, str):
        kind = kind.lower() if kind.isupper() else kind
        schema["type"] = [kind, "null"] if is_nullable is True and kind != "null" else kind
    if _allows(schema, "array"):
        schema.setdefault("items", {})


def _check_pointers(schema: Json, path: str) -> None:
    for place, inner in subschemas(schema, path):
        if "$ref" in inner:
            _target(schema, inner["$ref"], place)


def _target(root: Json, pointer: str, place: str) -> Any:
    """The schema that a pointer leads to."""
    if pointer != "#" and not pointer.startswith("#/"):
        raise InvalidValue(f"{place}.$ref: a pointer must lead into the schema itself")
    found: Any = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        entries = entries_in(found)
        index = int(key) if key.isdecimal() and len(key) < 10 else len(entries)
        found = entries[index] if index < len(entries) else fields_in(found).get(key)
    if not isinstance(found, dict | bool):
        raise InvalidValue(f"{place}.$ref: the pointer leads to no schema")
    return cast("Any", found)


def is_recursive(schema: Json) -> bool:
    """Whether a schema contains itself, or one that does, by way of pointers.

    Goes depth first: a schema that is entered again before all that it holds was walked contains itself.
    """
    entered, done = set[int](), set[int]()
    left = [(schema, False)]
    while left:
        one, is_walked = left.pop()
        if is_walked:
            done.add(id(one))
        elif id(one) not in done:
            if id(one) in entered:
                return True
            entered.add(id(one))
            inner = [child for _, child in children(one)]
            inner += [_target(schema, one["$ref"], "")] if "$ref" in one else []
            left += [(one, True), *((fields_in(child), False) for child in inner if isinstance(child, dict))]
    return False


# --- writing ---------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A schema for one wire."""

    schema: Json
    strict: bool = False
    removed: tuple[str, ...] = ()
    """The keywords that the wire lacks."""
    refusal: str = ""
    """Why the strict mode of the wire cannot take the schema, if it was asked for."""


def schema_for(wire: str, schema: Mapping[str, Any], strict: bool | None = False) -> Form:
    """A schema as a wire takes it, in its strict mode if that is asked for and can be had.

    In strict mode, objects that do not say whether they take other properties are closed, and limits that the
    mode lacks, such as `maxLength`, are removed. A schema whose meaning would change is not strict.
    """
    made = copy(schema)
    plain = Form(made, removed=_remove_lacking(made, wire, None))
    if not strict:
        return plain
    mode = rules.STRICT_MODES.get(wire.removesuffix("-responses"))
    if mode is None:
        return plain._replace(refusal="the service, which has no strict tools")
    made = copy(schema)
    removed = _remove_lacking(made, wire, mode)
    _close_objects(made)
    refusal = _strict_refusal(made, mode)
    return plain._replace(refusal=refusal) if refusal else Form(made, True, removed)


def _remove_lacking(schema: Json, wire: str, mode: rules.StrictMode | None) -> tuple[str, ...]:
    """Remove the keywords that a wire lacks and that limit or describe a value, and return their names."""
    removed: dict[str, None] = {}
    for _, inner in subschemas(schema):
        for key in [key for key, value in inner.items() if _lacks(wire, mode, key, value)]:
            del inner[key]
            removed[key] = None
    return tuple(removed)


def _lacks(wire: str, mode: rules.StrictMode | None, key: str, value: Any) -> bool:
    if key == "pattern" and wire.startswith("openai"):
        return rules.OPENAI_PATTERN_REFUSED.search(value) is not None
    if mode is None:
        return False
    if key == "format":
        return value not in mode.formats
    return key not in mode.keywords and key not in rules.STRUCTURAL_KEYWORDS


def _close_objects(schema: Json) -> None:
    schemas = [inner for _, inner in subschemas(schema)]
    closes = not any("allOf" in inner for inner in schemas)  # a member may name what another one does not
    for inner in schemas:
        if "oneOf" in inner and "anyOf" not in inner:
            inner["anyOf"] = inner.pop("oneOf")
        if closes and inner.get("properties"):
            inner.setdefault("additionalProperties", False)


def _strict_refusal(schema: Json, mode: rules.StrictMode) -> str:
    """The first place in a schema that a strict mode refuses; empty if there is none."""
    optional = unions = 0
    for place, inner in subschemas(schema, "the schema"):
        if not _is_strict(inner, mode):
            return place
        optional += len(_optional(inner))
        unions += "anyOf" in inner or isinstance(inner.get("type"), list)
    if optional > (mode.optional or optional) or unions > (mode.unions or unions):
        return "the number of its optional properties, or of its unions"
    return "recursion" if mode.finite and is_recursive(schema) else ""


def _is_strict(schema: Json, mode: rules.StrictMode) -> bool:
    values = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items")]
    is_typed = not _TYPED.isdisjoint(schema) and not any(isinstance(value, bool) for value in values)
    if not is_typed or is_open(schema) or not mode.keywords.issuperset(schema):
        return False
    is_complete = not _optional(schema) and ("$ref" not in schema or len(schema) == 1)
    return is_complete or not mode.complete


def _optional(schema: Json) -> set[str]:
    return fields_in(schema.get("properties")).keys() - {*entries_in(schema.get("required"))}


# --- names of properties ---------------------------------------------------------------------------------


def property_aliases(schema: Json) -> dict[str, str]:
    """Names that Anthropic takes, for the properties at the top whose own names it refuses.

    An alias depends on the names alone, so that a tool is the same at every turn.
    """
    names = Names(rules.PROPERTY_NAMES)
    properties = fields_in(schema.get("properties"))
    for name in sorted(properties, key=lambda name: not rules.PROPERTY_NAMES.takes(name)):
        names.give(name)
    return {own: alias for own, alias in names.given.items() if own != alias}


def with_aliases(schema: Json, aliases: Mapping[str, str], path: str) -> Json:
    """A schema with aliases for properties at its top; what else names them is refused."""
    made = {**schema, "properties": renamed(schema["properties"], aliases)}
    if "required" in made:
        made["required"] = [aliases.get(name, name) for name in made["required"]]
    for key in rules.CONDITIONS:
        if key in schema:
            raise InvalidValue(f"{path}.{key}: may name properties that have other names here")
    for place, inner in subschemas(made, path):
        if inner.get("$ref") == "#":
            raise InvalidValue(f"{place}.$ref: points to the whole schema, whose properties are renamed")
    _check_pointers(made, path)
    return made


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """An object with other names for some of its fields, in the same order."""
    return {names.get(name, name): value for name, value in fields.items()}
