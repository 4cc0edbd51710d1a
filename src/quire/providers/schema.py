"""JSON Schemas of tool parameters and of answers: reads them, and writes them for each wire.

Reading refuses a schema that is not valid JSON Schema (draft 2020-12), with the path of the fault. Writing
removes keywords that the wire refuses, and lists them in `Form.removed`. Every function returns a new schema.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.items import MAX_DEPTH
from quire.providers import rules
from quire.providers.check.core import type_of
from quire.providers.check.schema import children, schema_errors, subschemas
from quire.providers.names import WireNames
from quire.providers.values import Json, entries_in, fields_in, nests_deeper

_TYPE_KEYWORDS = frozenset(("type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"))

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def copy(schema: Mapping[str, Any]) -> Json:
    """A deep copy of a schema from `read_schema`, or of any other JSON object."""
    return cast("Json", _decode(_encode(schema)))


def is_open(schema: Json) -> bool:
    """Whether a schema describes an object that may have properties beyond those that it names."""
    is_object = _allows(schema, "object") or "properties" in schema
    return is_object and schema.get("additionalProperties") is not False


def is_plain_object(schema: Json) -> bool:
    """Whether the top of a schema describes a single object, as every wire demands of tools and answers."""
    return schema.get("type") == "object" and rules.OPENAI_TOP_KEYWORDS.isdisjoint(schema)


def _allows(schema: Json, kind: str) -> bool:
    return schema.get("type") == kind or kind in entries_in(schema.get("type"))


# --- reading ---------------------------------------------------------------------------------------------


def read_schema(value: Any, path: str) -> Json:
    """A copy of a schema, checked: it is valid, each `$ref` has a target, and the top has no `$ref`."""
    if not isinstance(value, dict):
        raise WrongType(f"{path}: a schema must be an object, this is {type_of(value)}")
    text = _encode(value)
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
            raise InvalidValue(f"{path}.$ref: must not lead to another pointer")
    _check_pointers(schema, path)
    return schema


def read_parameters(value: Any, path: str) -> tuple[Json, tuple[str, ...]]:
    """The schema of a tool's parameters, a single object, and the keywords that were removed from its top."""
    if value is None or value is True:
        return {"type": "object", "properties": {}}, ()
    schema = read_schema(value, path)
    if "type" in schema and not _allows(schema, "object"):
        raise InvalidValue(f"{path}.type: the parameters of a tool must be an object")
    removed = [key for key in schema if key in rules.OPENAI_TOP_KEYWORDS]
    if removed and "properties" not in schema:
        raise InvalidValue(f"{path}.{removed[0]}: parameters of a tool must be one object with `properties`")
    for key in removed:
        del schema[key]
    _check_pointers(schema, path)
    return {"properties": {}, **schema, "type": "object"}, tuple(f"{key} at its top" for key in removed)


def _modernize(schema: Json) -> None:
    """Replace what clients and servers write in other dialects by the words of draft 2020-12.

    These are types in capitals and `nullable` (Gemini's API reference), and arrays without `items`
    (vscode#244467).
    """
    for name in ("$schema", "$id"):  # no wire reads them
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
    """The schema that a `$ref` points to."""
    if pointer != "#" and not pointer.startswith("#/"):
        raise InvalidValue(f"{place}.$ref: a pointer must lead into the schema itself")
    target: Any = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        entries = entries_in(target)
        index = int(key) if key.isdecimal() and len(key) < 10 else len(entries)
        target = entries[index] if index < len(entries) else fields_in(target).get(key)
    if not isinstance(target, dict | bool):
        raise InvalidValue(f"{place}.$ref: the pointer leads to no schema")
    return cast("Any", target)


def is_recursive(schema: Json) -> bool:
    """Whether a schema, or a schema inside it, contains itself by `$ref`.

    The search is depth first: a schema that is reached again before its children are done contains itself.
    """
    entered, done = set[int](), set[int]()
    pending = [(schema, False)]
    while pending:
        current, are_children_done = pending.pop()
        if are_children_done:
            done.add(id(current))
        elif id(current) not in done:
            if id(current) in entered:
                return True
            entered.add(id(current))
            inner = [child for _, child in children(current)]
            inner += [_target(schema, current["$ref"], "")] if "$ref" in current else []
            pending.append((current, True))
            pending += [(fields_in(child), False) for child in inner if isinstance(child, dict)]
    return False


# --- writing ---------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A schema in the form that one wire accepts."""

    schema: Json
    strict: bool = False
    removed: tuple[str, ...] = ()
    """The keywords that were removed because the wire refuses them."""
    refusal: str = ""
    """If strict mode was requested but is not possible: the reason."""


def schema_for(wire: str, schema: Mapping[str, Any], strict: bool | None = False) -> Form:
    """A schema in the form that a wire accepts; strict if that is requested and possible.

    Strict mode closes objects without `additionalProperties`, and removes limits that the mode does not know,
    such as `maxLength`. If this would change which values the schema describes, the result is not strict.
    """
    plain_schema = copy(schema)
    plain = Form(plain_schema, removed=_remove_unsupported(plain_schema, wire, None))
    if not strict:
        return plain
    mode = rules.STRICT_MODES.get(wire.removesuffix("-responses"))
    if mode is None:
        return plain._replace(refusal="the service, which has no strict tools")
    strict_schema = copy(schema)
    removed = _remove_unsupported(strict_schema, wire, mode)
    _close_objects(strict_schema)
    refusal = _strict_refusal(strict_schema, mode)
    return plain._replace(refusal=refusal) if refusal else Form(strict_schema, True, removed)


def _remove_unsupported(schema: Json, wire: str, mode: rules.StrictMode | None) -> tuple[str, ...]:
    """Remove unsupported keywords that only limit or describe a value, and return their names."""
    removed: dict[str, None] = {}
    for _, inner in subschemas(schema):
        for key in [key for key, value in inner.items() if _is_unsupported(wire, mode, key, value)]:
            del inner[key]
            removed[key] = None
    return tuple(removed)


def _is_unsupported(wire: str, mode: rules.StrictMode | None, key: str, value: Any) -> bool:
    if key == "pattern" and wire.startswith("openai"):
        return rules.OPENAI_PATTERN_REFUSED.search(value) is not None
    if mode is None:
        return False
    if key == "format":
        return value not in mode.formats
    return key not in mode.keywords and key not in rules.STRUCTURAL_KEYWORDS


def _close_objects(schema: Json) -> None:
    schemas = [inner for _, inner in subschemas(schema)]
    can_close = not any("allOf" in inner for inner in schemas)  # its members may name different properties
    for inner in schemas:
        if "oneOf" in inner and "anyOf" not in inner:
            inner["anyOf"] = inner.pop("oneOf")
        if can_close and inner.get("properties"):
            inner.setdefault("additionalProperties", False)


def _strict_refusal(schema: Json, mode: rules.StrictMode) -> str:
    """Why a strict mode refuses a schema: the path of the first fault, or a reason; empty if it does not."""
    optional_count = union_count = 0
    for place, inner in subschemas(schema, "the schema"):
        if not _is_strict(inner, mode):
            return place
        optional_count += len(_optional_names(inner))
        union_count += "anyOf" in inner or isinstance(inner.get("type"), list)
    if (mode.optional and optional_count > mode.optional) or (mode.unions and union_count > mode.unions):
        return "the number of its optional properties, or of its unions"
    return "recursion" if mode.finite and is_recursive(schema) else ""


def _is_strict(schema: Json, mode: rules.StrictMode) -> bool:
    values = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items")]
    is_typed = not _TYPE_KEYWORDS.isdisjoint(schema) and not any(isinstance(value, bool) for value in values)
    if not is_typed or is_open(schema) or not mode.keywords.issuperset(schema):
        return False
    is_complete = not _optional_names(schema) and ("$ref" not in schema or len(schema) == 1)
    return is_complete or not mode.complete


def _optional_names(schema: Json) -> set[str]:
    return fields_in(schema.get("properties")).keys() - {*entries_in(schema.get("required"))}


# --- names of properties ---------------------------------------------------------------------------------


def property_aliases(schema: Json) -> dict[str, str]:
    """Aliases for the properties at the top whose own names Anthropic refuses, by own name.

    An alias depends only on the property names, so that a tool is the same in every turn.
    """
    names = WireNames(rules.PROPERTY_NAMES)
    properties = fields_in(schema.get("properties"))
    for name in sorted(properties, key=lambda name: not rules.PROPERTY_NAMES.accepts(name)):
        names.wire_name(name)
    return {own: alias for own, alias in names.by_own_name.items() if own != alias}


def with_aliases(schema: Json, aliases: Mapping[str, str], path: str) -> Json:
    """A schema with aliases for properties at its top; refused if another keyword may name the properties."""
    renamed = {**schema, "properties": rename_fields(schema["properties"], aliases)}
    if "required" in renamed:
        renamed["required"] = [aliases.get(name, name) for name in renamed["required"]]
    for key in rules.CONDITIONS:
        if key in schema:
            raise InvalidValue(f"{path}.{key}: must be left out: Anthropic refuses some property names")
    for place, inner in subschemas(renamed, path):
        if inner.get("$ref") == "#":
            raise InvalidValue(f"{place}.$ref: points to the whole schema, whose properties are renamed")
    _check_pointers(renamed, path)
    return renamed


def rename_fields(fields: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """A copy of an object in which `names` gives some fields new names, in the same order."""
    return {names.get(name, name): value for name, value in fields.items()}
