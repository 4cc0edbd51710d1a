"""JSON Schema of tool parameters and of answers: reading it, and changing it to what a wire takes.

A schema is code. One that is not valid JSON Schema (draft 2020-12) is refused with a path. Three forms are
translated, because public servers and clients emit them: the spelling of Google's clients, tuples of draft-07
(modelcontextprotocol/typescript-sdk#745), and arrays that do not say what they hold (vscode#244467).
Every function returns a new schema.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.providers import rules
from quire.providers.check.core import Fields, Findings, type_of
from quire.providers.check.schema import ANTHROPIC_STRICT, OPENAI_STRICT, check_strict, schema_errors
from quire.providers.names import Names
from quire.providers.values import Json, entries_in, fields_in

_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"),
)
_COMBINED = ("allOf", "anyOf", "oneOf")
_TYPED = frozenset(("type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"))
_TOP_REFUSED = frozenset(rules.OPENAI_TOP_KEYWORDS.accepted)
_COMPOSED = frozenset(("anyOf", "oneOf", "allOf", "const", "$ref"))
_VALUES = ("const", "default", "example")  # null elsewhere is what clients of Go and Google write for nothing
_LEFT_OUT = ("$schema", "$id")  # names of a draft and of a document, which no wire reads
_NULL = {"type": "null"}
_DEEPEST = 50

KEYWORDS = frozenset((*_BY_NAME, *_LISTED, *_SINGLE, *rules.SCHEMA_COUNTS, *rules.SCHEMA_LIMITS))
"""The keywords that say something about a value; titles, descriptions and examples do not."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def copy(schema: Mapping[str, Any]) -> Json:
    """A deep copy of a schema that was read."""
    return cast("Json", _decode(_encode(schema)))


def subschemas(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """A schema and all schemas within it that are objects, with their paths."""
    yield path, schema
    for key in _BY_NAME:
        for name, inner in fields_in(schema.get(key)).items():
            if isinstance(inner, dict):
                yield from subschemas(inner, f"{path}.{key}.{name}")  # pyright: ignore[reportUnknownArgumentType]
    for key in _LISTED:
        for index, inner in enumerate(entries_in(schema.get(key))):
            if isinstance(inner, dict):
                yield from subschemas(inner, f"{path}.{key}[{index}]")  # pyright: ignore[reportUnknownArgumentType]
    for key in _SINGLE:
        if isinstance(schema.get(key), dict):
            yield from subschemas(schema[key], f"{path}.{key}")


def is_open(schema: Json) -> bool:
    """Whether a schema is that of an object which may have properties that it does not name."""
    kind = schema.get("type")
    is_object = kind == "object" or "object" in entries_in(kind) or "properties" in schema
    return is_object and schema.get("additionalProperties") is not False


def is_plain_object(schema: Json) -> bool:
    """Whether the top of a schema is one object, as tools and answers must be on every wire."""
    return schema.get("type") == "object" and _TOP_REFUSED.isdisjoint(schema)


# --- reading ---------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """A schema as it is sent, and what was changed in it, in a few words each."""

    schema: Json
    changes: tuple[str, ...] = ()


def read_schema(given: Any, path: str) -> Read:
    """Any schema in the words of draft 2020-12, where its top points elsewhere with that in its place."""
    changes: dict[str, None] = {}
    schema = _translated(given, path, changes, _DEEPEST)
    if isinstance(schema, bool):
        raise WrongType(f"{path} must be an object, is a boolean")
    error = next(schema_errors(schema, path), None)
    if error is not None:
        raise InvalidValue(f"{error[0]}: {error[1]}")
    schema = _followed(schema, path)
    _check_refs(schema, path)
    return Read(schema, tuple(changes))


def read_object(given: Any, path: str) -> Read:
    """The schema of a tool's parameters: an object at the top, which alone every wire takes.

    A union at the top becomes one object with the properties of all its members (zereight/gitlab-mcp#558).
    """
    if given is None or given is True:
        return Read({"type": "object", "properties": {}})
    if isinstance(given, dict):  # parameters are never null, whatever `nullable` says
        given = {key: value for key, value in cast("Json", given).items() if key != "nullable"}
    schema, changes = read_schema(given, path)
    kind = schema.get("type", "object")
    if kind != "object" and "object" not in entries_in(kind):
        raise InvalidValue(f"{path}.type: the parameters of a tool are an object")
    removed = sorted(_TOP_REFUSED.intersection(schema))
    if removed:
        schema = _merged(schema)
        _check_refs(schema, path)
    made: Json = {"properties": {}, **schema, "type": "object"}
    return Read(made, (*changes, *(f"{keyword} at its top was left out" for keyword in removed)))


def _translated(given: Any, path: str, changes: dict[str, None], levels: int) -> Any:
    if isinstance(given, bool):
        return given
    if not isinstance(given, dict):
        raise WrongType(f"{path}: a schema is an object or a boolean, this is {type_of(given)}")
    if not levels:
        raise InvalidValue(f"{path}: schemas nest deeper than {_DEEPEST} levels")
    schema = {
        rules.GOOGLE_KEYWORDS.get(key, key): value
        for key, value in cast("Json", given).items()
        if (value is not None or key in _VALUES) and key not in _LEFT_OUT
    }
    _translate_values(schema)
    if isinstance(schema.get("items"), list):
        changes["a tuple is written as prefixItems"] = None
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    _replace_inner(schema, path, lambda inner, at: _translated(inner, at, changes, levels - 1))
    kind = schema.get("type")
    if (kind == "array" or "array" in entries_in(kind)) and "items" not in schema:
        changes["an array without items takes any"] = None
        schema["items"] = {}
    return _nullable(schema)


def _translate_values(schema: Json) -> None:
    """Types in capitals and counts as text, as Google's clients write them."""
    kind = schema.get("type")
    if isinstance(kind, list):
        schema["type"] = [_lowered(one) for one in entries_in(kind)]
    elif kind == "TYPE_UNSPECIFIED":
        del schema["type"]
    elif kind is not None:
        schema["type"] = _lowered(kind)
    for key in rules.SCHEMA_COUNTS:
        if isinstance(schema.get(key), str) and schema[key].isdecimal():
            schema[key] = int(schema[key])


def _lowered(kind: Any) -> Any:
    return kind.lower() if isinstance(kind, str) and kind.isupper() else kind


def _replace_inner(schema: Json, path: str, replace: Callable[[Any, str], Any]) -> None:
    """Replace each schema that stands directly within another; values of other kinds are left alone."""
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, dict):
            named = fields_in(value).items()
            schema[key] = {name: replace(inner, f"{path}.{key}.{name}") for name, inner in named}
        elif key in _LISTED and isinstance(value, list):
            listed = enumerate(entries_in(value))
            schema[key] = [replace(inner, f"{path}.{key}[{index}]") for index, inner in listed]
        elif key in _SINGLE:
            schema[key] = replace(value, f"{path}.{key}")


def _nullable(schema: Json) -> Json:
    """A schema without `nullable`, which is OpenAPI's word for a union with null."""
    is_nullable = isinstance(schema.get("nullable"), bool) and schema.pop("nullable")
    if not is_nullable or _TYPED.isdisjoint(schema):
        return schema
    kinds = entries_in(schema.get("type")) or [schema.get("type")]
    if kinds == [None] and isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    if kinds == [None] or not _COMPOSED.isdisjoint(schema):
        return {"anyOf": [schema, _NULL]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}


def _followed(schema: Json, path: str) -> Json:
    """A schema whose top does not point elsewhere; zod-to-json-schema gives a named schema that way."""
    entered: set[str] = set()
    while "$ref" in schema:
        pointer = schema["$ref"]
        if pointer == "#" or pointer in entered:
            raise InvalidValue(f"{path}.$ref: the schema is nothing but a pointer to itself")
        entered.add(pointer)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**fields_in(_target(schema, pointer, path)), **beside}
    return schema


def _check_refs(schema: Json, path: str) -> None:
    for place, inner in subschemas(schema, path):
        if "$ref" in inner:
            _target(schema, inner["$ref"], place)


def _target(root: Json, pointer: str, place: str) -> Any:
    """The schema that a pointer leads to."""
    if pointer != "#" and not pointer.startswith("#/"):
        raise InvalidValue(f"{place}.$ref: a pointer must lead into the schema itself")
    found: Any = root
    for step in unquote(pointer).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            entries = entries_in(found)  # pyright: ignore[reportUnknownArgumentType]
            found = entries[int(key)] if key.isdecimal() and int(key) < len(entries) else None
        else:
            found = fields_in(found).get(key)
    if not isinstance(found, dict | bool):
        raise InvalidValue(f"{place}.$ref: the pointer leads to no schema")
    return cast("Any", found)


def is_recursive(schema: Json) -> bool:
    """Whether a schema contains itself, or one that does, by way of pointers."""
    done: set[str] = set()

    def leads_back(inner: Any, entered: frozenset[str]) -> bool:
        pointers = {one["$ref"] for _, one in subschemas(fields_in(inner)) if "$ref" in one}
        if pointers & entered:
            return True
        fresh = pointers - done
        done.update(fresh)
        return any(leads_back(_target(schema, one, ""), entered | {one}) for one in sorted(fresh))

    return leads_back(schema, frozenset("#"))


# --- unions at the top -----------------------------------------------------------------------------------


def _merged(schema: Json) -> Json:
    """One object in place of the objects that are combined at the top of a schema.

    A property that several of them have in different ways may be any of these. It is required where all
    members of a union require it, or any member of an `allOf`.
    """
    plain = {key: value for key, value in schema.items() if key not in _TOP_REFUSED}
    found: dict[str, list[Any]] = {name: [one] for name, one in _properties(plain).items()}
    required = dict.fromkeys(entries_in(plain.get("required")))
    for key in _COMBINED:
        members = [_member(one, schema) for one in entries_in(schema.get(key))]
        objects = [one for one in members if one.get("type", "object") == "object"]
        for one in objects:
            for name, inner in _properties(one).items():
                if inner not in found.setdefault(name, []):
                    found[name].append(inner)
        needed = [entries_in(one.get("required")) for one in objects]
        holds = any if key == "allOf" else all
        required |= {name: None for name in found if needed and holds(name in names for names in needed)}
    plain["properties"] = {
        name: ones[0] if len(ones) == 1 else {"anyOf": ones} for name, ones in found.items()
    }
    return {**plain, "required": [*required]} if required else plain


def _properties(schema: Json) -> Json:
    return fields_in(schema.get("properties"))


def _member(schema: Any, root: Json) -> Json:
    inner = fields_in(schema)
    return fields_in(_target(root, inner["$ref"], "")) if "$ref" in inner else inner


# --- strict schemas --------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A schema for one wire, the keywords left out of it, and why its strict mode refuses it, if it does."""

    schema: Json
    removed: tuple[str, ...] = ()
    refusal: str = ""


def wire_schema(schema: Mapping[str, Any], wire: str) -> Form:
    """A schema without the keywords that a wire refuses in every schema."""
    made = copy(schema)
    return Form(made, _remove([one for _, one in subschemas(made)], rules.SCHEMA_REFUSED[wire]))


def strict_schema(schema: Mapping[str, Any], wire: str) -> Form:
    """A schema as the strict mode of a wire takes it, as far as that can be had.

    Objects that do not say whether they take other properties are closed. Limits that the mode does not have,
    such as `maxLength`, are left out. What would change the meaning is a refusal: optional properties on
    OpenAI's wires, open objects, values of any type.
    """
    made = copy(schema)
    inner = [one for _, one in subschemas(made)]
    removed = _remove(inner, rules.STRICT_REFUSED[wire])
    closes = not any("allOf" in one for one in inner)  # a member may name what another one does not
    for one in inner:
        if wire == "anthropic" and "oneOf" in one and "anyOf" not in one:
            one["anyOf"] = one.pop("oneOf")
        if closes and one.get("properties"):
            one.setdefault("additionalProperties", False)
    return Form(made, removed, _refusal(made, wire))


def _remove(schemas: list[Json], is_refused: Callable[[str, Any], bool]) -> tuple[str, ...]:
    """Remove refused keywords, and return their names."""
    removed: dict[str, None] = {}
    for schema in schemas:
        for key in [key for key, value in schema.items() if is_refused(key, value)]:
            del schema[key]
            removed[key] = None
    return tuple(removed)


def _refusal(schema: Json, wire: str) -> str:
    """The first thing in a schema that the strict mode of a wire refuses; empty if there is none."""
    for place, inner in subschemas(schema, "schema"):
        values = [*inner.get("properties", {}).values(), *inner.get("anyOf", ()), inner.get("items")]
        if _TYPED.isdisjoint(inner) or any(isinstance(one, bool) for one in values):
            return f"a value of any type at {place}"
    tool = Fields(Findings(wire), "", {"strict": True, "schema": schema})
    check_strict(tool, "schema", ANTHROPIC_STRICT if wire == "anthropic" else OPENAI_STRICT)
    return "; ".join(f"{fault.text} at {fault.place}" for fault in tool.findings.faults[:1])


class StrictBudget:
    """How much one request to Anthropic may have of strict schemas; more is refused altogether."""

    def __init__(self) -> None:
        self._left = list(rules.ANTHROPIC_STRICT_COUNTS.accepted.values())

    def take(self, schema: Json) -> bool:
        """Take what a strict schema needs; whether there was enough."""
        inner = [one for _, one in subschemas(schema)]
        unions = sum("anyOf" in one or isinstance(one.get("type"), list) for one in inner)
        left = [
            has - needs
            for has, needs in zip(self._left, (1, sum(map(_optional, inner)), unions), strict=True)
        ]
        if min(left) < 0:
            return False
        self._left = left
        return True


def _optional(schema: Json) -> int:
    return len(fields_in(schema.get("properties")).keys() - {*entries_in(schema.get("required"))})


# --- names of properties ---------------------------------------------------------------------------------


def property_aliases(schema: Json) -> dict[str, str]:
    """Names that Anthropic takes, for the properties at the top whose own names it refuses.

    An alias depends on the names alone, so that a tool is the same at every turn.
    """
    names = Names(rules.PROPERTY_NAMES, unique=False)
    for name in sorted(_properties(schema), key=lambda name: not rules.PROPERTY_NAMES.takes(name)):
        names.give(name)
    return {own: alias for alias, own in names.originals().items()}


def with_aliases(schema: Json, aliases: Mapping[str, str], path: str) -> Read:
    """A schema with other names for the properties at its top, and without conditions that name them."""
    removed = [key for key in rules.CONDITIONS if key in schema]
    made = {key: value for key, value in schema.items() if key not in removed}
    made["properties"] = renamed(made["properties"], aliases)
    for key in ("required", "propertyOrdering"):
        if key in made:
            made[key] = [aliases.get(name, name) for name in made[key]]
    for place, inner in subschemas(made, path):
        if inner.get("$ref") == "#":
            raise InvalidValue(f"{place}.$ref: points to the whole schema, whose properties are renamed")
    _check_refs(made, path)
    return Read(made, tuple(f"{keyword} names properties" for keyword in removed))


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    """An object with other names for some of its fields, in the same order."""
    return {names.get(name, name): value for name, value in fields.items()}
