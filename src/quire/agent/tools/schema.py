"""JSON schemas of Python annotations, and JSON of models read as values of annotated types.

msgspec writes the schemas and reads the values; pydantic does both for annotations with its models or fields.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from inspect import cleandoc
from math import isfinite
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard, Union, cast, get_args, get_origin

import msgspec

from quire.errors import WrongType, cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

Json = dict[str, Any]

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

_MAX_EXCERPT = 30
"""Characters before and after an error in JSON that are quoted."""

_REFERENCE = "#/$defs/"
_ENUM_TYPES: dict[type, str] = {str: "string", int: "integer", bool: "boolean"}


class Misfit(ValueError):
    """A value that does not fit its type; the text tells the model where and why."""


def schema_of(annotation: Any) -> Json:
    """The JSON schema of an annotation, or `WrongType`. Only recursive types are in `$defs`."""
    return dict(_type(annotation).schema)


def read_as(annotation: Any, value: Any) -> Any:
    """Read a JSON value as a value of an annotated type, or raise `Misfit`; "3" is accepted for 3."""
    return _type(annotation).read(value)


class Documented(NamedTuple):
    """A parsed docstring: a description, and the descriptions of parameters or attributes by name."""

    description: str = ""
    parameters: Mapping[str, str] = {}


def documented(docstring: str | None) -> Documented:
    """Parse a docstring in the style of Google, NumPy or Sphinx."""
    if not docstring:
        return Documented()
    import docstring_parser  # slow to import (10 ms), and often not needed

    try:
        parsed = docstring_parser.parse(cleandoc(docstring))
    except docstring_parser.ParseError:
        return Documented(cleandoc(docstring))
    parameters = {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
    described = {name: text for name, text in parameters.items() if text}
    return Documented((parsed.description or "").strip(), described)


class Fields:
    """Named fields of annotated types, such as the parameters of a function; defaults may be left out."""

    def __init__(self, annotations: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> None:
        self._types: dict[str, _Type] = {}
        self._defaults = dict(defaults or {})
        for name, annotation in annotations.items():
            try:
                self._types[name] = _type(annotation)
            except WrongType as fault:
                raise WrongType(f"{cut(name)!r}: {fault}") from None

    def schema(self, descriptions: Mapping[str, str] | None = None) -> Json:
        """The schema of an object with these fields; `descriptions` by name replace others."""
        properties: Json = {}
        definitions: Json = {}
        for name, field_type in self._types.items():
            properties[name] = dict(field_type.schema)
            if described := (descriptions or {}).get(name):
                properties[name]["description"] = described
            if name in self._defaults:
                properties[name] |= _default(self._defaults[name])
            for title, definition in properties[name].pop("$defs", {}).items():
                if definitions.setdefault(title, definition) != definition:
                    raise WrongType(f"two types are called {cut(title)!r}")
        required = [name for name in properties if name not in self._defaults]
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
            **({"$defs": definitions} if definitions else {}),
        }

    def read(self, values: Mapping[str, Any], noun: str = "field") -> Json:
        """Read the values by their types and add the defaults; `Misfit` if one does not fit."""
        for name in values:
            if name not in self._types:
                known = ", ".join(self._types) or "none"
                raise Misfit(f"there is no {noun} {cut(str(name))!r}; there is {known}")
        read = dict(self._defaults)
        for name, field_type in self._types.items():
            if name in values:
                read[name] = field_type.read(values[name], name)
            elif name not in read:
                raise Misfit(f"the {noun} {name!r} is missing")
        return read


def _default(value: Any) -> Json:
    """The `default` keyword of a schema; nothing if JSON cannot express the value."""
    if isinstance(value, float) and not isfinite(value):
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value, order="deterministic"))}
    except (TypeError, ValueError, RecursionError):
        return {}


class _Type(NamedTuple):
    """A type for msgspec, or a pydantic adapter, with its schema."""

    kind: Any
    schema: Json

    def read(self, value: Any, path: str = "") -> Any:
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            with suppress(Exception):  # a parameter of type `str` takes the text as it is
                return self._convert(value, strict=True)
            value = _decode_text(value)
        self._refuse_unknown(value, self.schema, path)
        with suppress(Exception):  # a class may raise any error for its fields
            return self._convert(value, strict=True)
        try:
            return self._convert(value, strict=False)
        except Exception as fault:
            raise Misfit(_fault_text(fault, path)) from None

    def _convert(self, value: Any, *, strict: bool) -> Any:
        if hasattr(self.kind, "validate_python"):
            return self.kind.validate_python(value)
        return msgspec.convert(value, self.kind, strict=strict, dec_hook=_decode, str_keys=True)

    def _refuse_unknown(self, value: Any, schema: Any, path: str) -> None:
        """Refuse unknown fields, which msgspec would ignore."""
        if not _is_object(schema) or not isinstance(value, dict | list):
            return
        if "$ref" in schema:
            schema = self.schema["$defs"][schema["$ref"].removeprefix(_REFERENCE)]
        others = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
        if len(others) == 1:  # an optional value
            self._refuse_unknown(value, others[0], path)
        elif _is_array(value):
            for index, inner in enumerate(value):
                self._refuse_unknown(inner, schema.get("items"), f"{path}[{index}]")
        elif _is_object(value):
            known, additional = schema.get("properties", {}), schema.get("additionalProperties")
            for name, inner in value.items():
                if name not in known and additional is False:
                    error = f"there is no field {cut(str(name))!r}; there is {', '.join(known)}"
                    raise Misfit(_with_path(path, error))
                self._refuse_unknown(inner, known.get(name, additional), f"{path}.{name}")


def _decode_text(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def _fault_text(fault: Any, path: str) -> str:
    """A fault as text for a model: `lines[0].x: expected int, got str`."""
    if isinstance(fault, msgspec.ValidationError):
        why, _, inner = str(fault).partition(" - at `")
        why = why if why.startswith("\n") else why.replace("`", "")
        is_key = inner.startswith("key` in ")
        place = f"{path}{inner.partition('$')[2].removesuffix('`')}"
        return _with_path(place, f"{'a key: ' if is_key else ''}{why[:1].lower()}{cut(why[1:])}")
    if hasattr(fault, "errors"):  # of pydantic
        return "; ".join(_with_path(path + _steps(one["loc"]), cut(one["msg"])) for one in fault.errors())
    return _with_path(path, f"{type(fault).__name__}: {cut(str(fault))}")


def _steps(location: tuple[Any, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)


def _with_path(path: str, why: str) -> str:
    return f"{cut(path.removeprefix('.'))}: {why}" if path else why


def _type(annotation: Any) -> _Type:
    spelling = repr(annotation)  # `int | str` equals `str | int`, so the cache also needs the spelling
    try:
        hash(annotation)
    except TypeError:
        if isinstance(annotation, dict | list):
            raise WrongType("a type is expected, such as a dataclass, not a schema") from None
        return _cached_type.__wrapped__(annotation, spelling)
    return _cached_type(annotation, spelling)


@lru_cache(maxsize=512)
def _cached_type(annotation: Any, _spelling: str) -> _Type:
    if isinstance(annotation, str):
        raise NameError(f"name {annotation!r} is not defined")
    if _names_pydantic(annotation):
        return _pydantic_type(annotation)
    kind = _for_msgspec(annotation)
    try:
        (schema,), definitions = msgspec.json.schema_components(
            (kind,), schema_hook=_custom_schema, ref_template=f"{_REFERENCE}{{name}}"
        )
    except TypeError as fault:
        why = "JSON has no such type" if "custom type" in str(fault) else str(fault).partition(" - type")[0]
        spelled = cut(getattr(annotation, "__qualname__", str(annotation)))
        raise WrongType(
            f"there is no JSON schema for {spelled}: {cut(why)}. "
            "Use a dataclass, a tagged msgspec Struct, a pydantic model, or an enumeration of strings"
        ) from None
    return _Type(kind, _SchemaWriter(dict(definitions), closes=True).write(schema))


def _for_msgspec(annotation: Any) -> Any:
    """An annotation for msgspec: a text in `Annotated` becomes a description, and dates get a format."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is object:
        return Any
    if annotation is datetime:
        return Annotated[datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]
    if origin is Annotated:
        notes = [msgspec.Meta(description=note) if isinstance(note, str) else note for note in args[1:]]
        return Annotated[(_for_msgspec(args[0]), *notes)]
    if not args or origin is Literal:
        return annotation
    kinds = tuple(map(_for_msgspec, args))
    if origin in (Union, UnionType):
        return Union[kinds]  # noqa: UP007
    return annotation if kinds == args or not isinstance(origin, type) else cast(Any, origin)[kinds]


def _custom_schema(kind: Any) -> Json:
    if PurePath in getattr(kind, "__mro__", ()):
        return {"type": "string"}
    raise NotImplementedError


def _decode(kind: type[Any], value: Any) -> Any:
    """Read a value of a type that msgspec does not know."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise ValueError("expected a path, as text")
    return kind(value)


def _names_pydantic(annotation: Any) -> bool:
    """Whether an annotation names a model or a field of pydantic's."""
    notes = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
    is_field = any(type(note).__module__.startswith("pydantic.") for note in notes)
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    return is_field or hasattr(annotation, "model_validate_json") or any(map(_names_pydantic, inner))


def _pydantic_type(annotation: Any) -> _Type:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter[Any](annotation)
        return _Type(adapter, _SchemaWriter({}, closes=False).write(adapter.json_schema()))
    except PydanticUserError as fault:
        raise WrongType(f"there is no JSON schema for {cut(str(annotation))}: {cut(str(fault))}") from None


class _SchemaWriter:
    """Rewrites a schema of msgspec or pydantic: definitions are inlined and titles removed.

    With `closes`, objects allow no further properties.
    """

    def __init__(self, definitions: Json, *, closes: bool) -> None:
        self._definitions, self._closes = definitions, closes
        self._being_written: list[str] = []
        self._recursive: Json = {}

    def write(self, schema: Json) -> Json:
        written: Json = self._write(schema)
        return {**written, "$defs": self._recursive} if self._recursive else written

    def _write(self, schema: Any) -> Any:
        if not _is_object(schema):
            return schema
        written = dict(schema)
        self._definitions |= written.pop("$defs", {})
        reference = str(written.pop("$ref", "")).removeprefix(_REFERENCE)
        if reference:
            return {**self._definition(reference), **written}
        for key in ("title", "discriminator", "uniqueItems"):
            written.pop(key, None)
        if "properties" in written:
            written = self._write_object(written)
        for key in ("items", "additionalProperties", "not"):
            if key in written:
                written[key] = self._write(written[key])
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if key in written:
                written[key] = [self._write(choice) for choice in written[key]]
        if written.get("prefixItems"):  # some providers want `items` of every array
            different = {json.dumps(choice): choice for choice in written["prefixItems"]}
            written["items"] = {"anyOf": list(different.values())}
        elif written.get("type") == "array":
            written.setdefault("items", {})
        elif written.get("type") == "object" and "properties" not in written:
            written.setdefault("additionalProperties", True)
        return _typed_enum(written) if "enum" in written else written

    def _definition(self, name: str) -> Json:
        """A definition to inline, or a reference if it is recursive."""
        if name in self._being_written or name in self._recursive:
            self._recursive.setdefault(name, {})
            return {"$ref": f"{_REFERENCE}{name}"}
        self._being_written.append(name)
        written = self._write(self._definitions[name])
        self._being_written.remove(name)
        if name not in self._recursive:
            return cast(Json, written)
        self._recursive[name] = written
        return {"$ref": f"{_REFERENCE}{name}"}

    def _write_object(self, schema: Json) -> Json:
        docs = documented(schema.pop("description", None))
        properties = {name: self._write(field) for name, field in schema["properties"].items()}
        for name in properties.keys() & docs.parameters.keys():
            properties[name]["description"] = docs.parameters[name]
        return {
            **schema,
            "properties": properties,
            **({"additionalProperties": False} if self._closes else {}),
            **({"description": docs.description} if docs.description else {}),
        }


def _is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _typed_enum(schema: Json) -> Json:
    """An enumeration with its type, and `null` outside it, as providers require."""
    others: list[object] = [value for value in schema["enum"] if value is not None]
    types = {_ENUM_TYPES.get(type(value)) for value in others}
    written = {**schema, **({"type": types.pop()} if len(types) == 1 else {}), "enum": others}
    return written if len(others) == len(schema["enum"]) else {"anyOf": [written, {"type": "null"}]}


# JSON as a model writes it


def read_json(arguments: str | Mapping[str, Any]) -> Json:
    """Read arguments, which are a JSON object; an empty text has none."""
    value = read_value(arguments) if isinstance(arguments, str) else arguments
    if value is not None and not isinstance(value, Mapping):
        raise Misfit(f"the arguments must be a JSON object, not {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value or {}))


def read_value(text: str) -> Any:
    """Read a JSON value of bounded size and depth, without duplicate names in an object."""
    if len(text) > MAX_ARGUMENTS:
        raise Misfit(f"the arguments have {len(text):,} characters; {MAX_ARGUMENTS:,} are allowed")
    if nests_deeper(text, MAX_DEPTH):
        raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    value = _decode_json(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):  # some models encode twice
        return _decode_json(value)
    return value


def _decode_json(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as fault:
        at = fault.pos
        before, after = text[max(at - _MAX_EXCERPT, 0) : at], text[at : at + _MAX_EXCERPT]
        error = f"{fault.msg[:1].lower()}{fault.msg[1:]} at line {fault.lineno}, column {fault.colno}"
        place = f"here: {before}⟨here⟩{after}" if after else f"at the end of {before!r}"
        raise Misfit(f"the arguments are not JSON: {error}, {place}") from None
    except Misfit:
        raise
    except (RecursionError, ValueError) as fault:  # a number of thousands of digits
        raise Misfit(f"the arguments are not JSON: {cut(str(fault))}") from None


def _unique_fields(pairs: list[tuple[str, Any]]) -> Json:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise Misfit(f"{cut(next(name for name in names if names.count(name) > 1))!r} is given twice")
    return fields


def _refuse_constant(word: str) -> Any:
    raise Misfit(f"the arguments are not JSON: {word} is not a JSON number")


# Accepts line breaks inside texts, which are unambiguous. Made once: making it takes longer than reading.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique_fields, parse_constant=_refuse_constant)
