"""Python annotations as JSON schemas, and JSON values as Python values.

`schema_of` writes the schema of an annotation for a model. `read_as` reads what a model sent in two steps.
`fit` compares the value with the schema: it finds every fault with its path, and accepts mistakes that do no
harm, such as "3" for 3. Then msgspec makes the value, or pydantic where the type is one of its models.
"""

import json
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from inspect import cleandoc
from math import isfinite
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, inspect as mi

from quire.agent.tools.arguments import Json, Misfit, called, fit, plain
from quire.errors import WrongType, cut

_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_SCALARS: dict[type[mi.Type], Json] = {
    mi.AnyType: {},
    mi.NoneType: {"type": "null"},
    mi.BoolType: {"type": "boolean"},
    mi.IntType: {"type": "integer"},
    mi.FloatType: {"type": "number"},
    mi.StrType: {"type": "string"},
    mi.BytesType: {"type": "string", "contentEncoding": "base64"},
    mi.ByteArrayType: {"type": "string", "contentEncoding": "base64"},
    mi.DateTimeType: {"type": "string", "format": "date-time"},
    mi.DateType: {"type": "string", "format": "date"},
    mi.TimeType: {"type": "string", "format": "time"},
    mi.TimeDeltaType: {"type": "string", "format": "duration"},
    mi.UUIDType: {"type": "string", "format": "uuid"},
    mi.DecimalType: {
        "type": "string",
        "format": "decimal",
        "description": "A decimal number, such as 12.50.",
    },
}
_ENUM_TYPES = {str: "string", int: "integer", bool: "boolean"}
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_MSGSPEC_PATH = re.compile(r"(?P<why>.*) - at `(?:key` in `)?\$(?P<path>.*)`", re.DOTALL)


def schema_of(annotation: Any) -> Json:
    """The JSON schema of an annotation, or `WrongType`. Only recursive types stand in `$defs`."""
    return dict(_type(annotation).schema)


def read_as(annotation: Any, value: Any) -> Any:
    """A JSON value as a value of an annotated type, or a `Misfit` with all its faults."""
    return _type(annotation).read(value)


def hints_of(function_or_class: Any, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The annotations by name, resolved; `names` are known beside those of the module.

    A name that is not defined is a `NameError`.
    """
    try:
        try:
            return get_type_hints(function_or_class, include_extras=True)
        except NameError:
            return get_type_hints(function_or_class, localns=dict(names or {}), include_extras=True)
    except (AttributeError, SyntaxError, TypeError) as fault:
        raise WrongType(f"the annotations cannot be read: {fault}") from None


class Documented(NamedTuple):
    """What a docstring says: a description, and the descriptions of parameters or attributes by name."""

    description: str = ""
    parameters: Mapping[str, str] = {}


def documented(docstring: str | None) -> Documented:
    """A docstring in the style of Google, NumPy or Sphinx."""
    if not docstring:
        return Documented()
    import docstring_parser  # it takes 10 ms, and no description may be needed

    try:
        parsed = docstring_parser.parse(docstring)
    except docstring_parser.ParseError:
        return Documented(cleandoc(docstring))
    described = {
        one.arg_name.lstrip("*"): " ".join(one.description.split())
        for one in parsed.params
        if one.description
    }
    return Documented((parsed.description or "").strip(), described)


class Fields:
    """Values by name, each of an annotated type, such as the arguments of a function.

    Those with a default may be left out. `rest` is the annotation of values under any other name.
    """

    def __init__(
        self, annotations: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, rest: Any = None
    ) -> None:
        self._types = {name: _type(annotation) for name, annotation in annotations.items()}
        self._defaults = dict(defaults or {})
        self._rest = None if rest is None else _type(rest)
        self._reading = self._combined(lambda one: one.reading)

    def schema(self, descriptions: Mapping[str, str] | None = None) -> Json:
        """The schema of an object with these fields; `descriptions` by name stand above others."""
        written = self._combined(lambda one: one.schema)
        for name, field in written["properties"].items():
            if described := (descriptions or {}).get(name):
                field["description"] = described
            if name in self._defaults:
                field |= default_of(self._defaults[name])
        return written

    def read(self, given: Mapping[str, Any], noun: str = "field") -> Json:
        """The values by their types, with defaults for those left out; or a `Misfit` with all faults."""
        fitted = fit(given, self._reading, noun=noun)
        read, faults = dict(self._defaults), list[str]()
        for name, value in fitted.items():
            try:
                read[name] = (self._types.get(name) or cast(_Type, self._rest)).convert(value)
            except Misfit as fault:
                faults += fault.inside(f".{cut(name)}").faults
        if faults:
            raise Misfit(faults)
        return read

    def _combined(self, schema_in: "Callable[[_Type], Json]") -> Json:
        properties = {name: dict(schema_in(one)) for name, one in self._types.items()}
        rest = None if self._rest is None else dict(schema_in(self._rest))
        definitions: Json = {}
        for one in (*properties.values(), rest or {}):
            for name, definition in one.pop("$defs", {}).items():
                if definitions.setdefault(name, definition) != definition:
                    raise WrongType(f"two recursive types are called {cut(name)!r}")
        written = object_schema(properties, (name for name in properties if name not in self._defaults))
        if rest is not None:
            written["additionalProperties"] = rest or True
        return {**written, "$defs": definitions} if definitions else written


class _Type(NamedTuple):
    """An annotation, prepared for msgspec, and its schemas: for models, and for `fit`."""

    kind: Any
    schema: Json
    reading: Json

    def read(self, value: Any, *, lenient: bool = True) -> Any:
        return self.convert(fit(value, self.reading, lenient=lenient))

    def convert(self, value: Any) -> Any:
        """A value that fits the schema, made by msgspec."""
        try:
            return msgspec.convert(value, self.kind, dec_hook=_decode, str_keys=True)
        except msgspec.ValidationError as fault:
            raise _misfit(fault) from None
        except Exception as fault:  # a class may refuse its fields by any error
            raise Misfit(f"{type(fault).__name__}: {cut(str(fault))}") from None


def _type(annotation: Any) -> _Type:
    # `int | str` equals `str | int`, so the cache also needs the spelling.
    make = _cached_type if isinstance(annotation, Hashable) else _made_type
    return make(annotation, repr(annotation))


def _made_type(annotation: Any, _spelling: str) -> _Type:
    if isinstance(annotation, str):
        raise NameError(f"name {annotation!r} is not defined")
    if isinstance(annotation, Mapping | list):
        raise WrongType(f"a type is expected, such as a dataclass, not a {type(annotation).__name__}")
    kind = _prepared(annotation)
    try:
        found = mi.type_info(kind)
    except TypeError as fault:
        kind = _adapted(annotation, str(fault))
        found = mi.type_info(kind)
    return _Type(kind, _Writer(found, is_shown=True).whole(), _Writer(found, is_shown=False).whole())


_cached_type = lru_cache(maxsize=512)(_made_type)


# What msgspec does not know: descriptions and bounds of others, unions of records, paths, pydantic's models.


class _StandIn(type):
    """The type of classes that stand for an annotation: msgspec accepts any value for them."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return True


class _OneOf(metaclass=_StandIn):
    """Stands for a union that msgspec does not take."""

    members: tuple[Any, ...]


class _Adapted(metaclass=_StandIn):
    """Stands for an annotation that pydantic reads."""

    adapter: Any
    schema: Json


def _prepared(annotation: Any) -> Any:
    """An annotation as msgspec takes it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _prepared_annotated(annotation, args[0], _flat(args[1:]))
    if origin in (Union, UnionType):
        members = tuple(map(_prepared, args))
        try:
            mi.type_info(Union[members])  # noqa: UP007
        except TypeError:
            return _StandIn("OneOf", (_OneOf,), {"members": members})
        return Union[members]  # noqa: UP007
    if not args or origin is Literal or not isinstance(origin, type):
        return annotation
    prepared = tuple(map(_prepared, args))
    return annotation if prepared == args else origin[prepared]  # type: ignore[index]


def _prepared_annotated(annotation: Any, inner: Any, notes: list[Any]) -> Any:
    if any(type(note).__module__.startswith("pydantic.functional_") for note in notes):
        return _adapted(annotation, "it is validated by pydantic")
    bounds = {name: bound for note in notes for name in _BOUNDS if (bound := _bound(note, name)) is not None}
    extra = {key: words for note in notes for key, words in _words_of(note).items()}
    return Annotated[_prepared(inner), Meta(**bounds, extra_json_schema=extra or None)]


def _flat(notes: Iterable[Any]) -> list[Any]:
    """Notes of `Annotated`, those inside a field of pydantic's too."""
    return [one for note in notes for one in (note, *_metadata(note))]


def _metadata(note: Any) -> Iterable[Any]:
    return getattr(note, "metadata", ()) if type(note).__name__ == "FieldInfo" else ()


def _bound(note: Any, name: str) -> Any:
    bound = getattr(note, name, None)
    if name == "pattern":
        return getattr(bound, "pattern", bound)
    return bound if isinstance(bound, int | float) else None


def _words_of(note: Any) -> Json:
    """What a note of `Annotated` adds to a schema: a text describes, others have the attributes of `Meta`."""
    if isinstance(note, str):
        return {"description": note}
    found = {name: getattr(note, name, None) for name in ("description", "title", "examples")}
    found["description"] = found["description"] or getattr(note, "documentation", None)
    words = {name: value for name, value in found.items() if isinstance(value, str | list)}
    for name in ("extra_json_schema", "json_schema_extra"):
        if isinstance(extra := getattr(note, name, None), dict):
            words.update(extra)
    return words


def _adapted(annotation: Any, why: str) -> Any:
    """A stand-in for an annotation that pydantic reads, where the program has imported pydantic."""
    pydantic = sys.modules.get("pydantic")
    try:
        adapter = pydantic.TypeAdapter(annotation)  # type: ignore[union-attr]
        schema = adapter.json_schema()
    except Exception:  # pydantic is not there, or refuses the type in one of many ways
        raise WrongType(f"there is no JSON schema for {_spelled(annotation)}: {cut(why)}") from None
    return _StandIn("Adapted", (_Adapted,), {"adapter": adapter, "schema": schema})


def _spelled(annotation: Any) -> str:
    return cut(annotation.__qualname__ if isinstance(annotation, type) else str(annotation))


def _is_model(kind: Any) -> bool:
    return all(callable(getattr(kind, verb, None)) for verb in ("model_json_schema", "model_validate_json"))


def _decode(kind: type[Any], value: Any) -> Any:
    """Read a value of a type that msgspec does not know."""
    if issubclass(kind, _OneOf):
        return _first_that_fits(kind.members, value)
    if not issubclass(kind, _Adapted) and isinstance(value, kind):
        return value
    if issubclass(kind, PurePath):
        if not isinstance(value, str) or "\0" in value:
            raise Misfit(f"expected a path, as text, got {called(value)}")
        return kind(value)
    reader = (
        kind if issubclass(kind, _Adapted) or _is_model(kind) else _adapted(kind, "it is no type of JSON")
    )
    validate = reader.adapter.validate_json if issubclass(reader, _Adapted) else reader.model_validate_json
    try:
        return validate(json.dumps(value, default=plain))
    except ValueError as fault:
        raise _of_pydantic(fault) from None


def _first_that_fits(members: tuple[Any, ...], value: Any) -> Any:
    faults: list[tuple[str, ...]] = []
    for lenient in (False, True):
        for member in members:
            try:
                return _type(member).read(value, lenient=lenient)
            except Misfit as fault:
                faults.append(fault.faults)
    raise Misfit(min(faults, key=len))


def _of_pydantic(fault: ValueError) -> Misfit:
    errors = getattr(fault, "errors", None)
    if not callable(errors):
        return Misfit(cut(str(fault)))
    return Misfit(_at(_path(one["loc"]), str(one["msg"])) for one in cast("list[Json]", errors()))


def _path(steps: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _at(path: str, why: str) -> str:
    return f"{path.removeprefix('.')}: {why}" if path else why


def _misfit(fault: msgspec.ValidationError) -> Misfit:
    """A fault that msgspec found, with its path."""
    found = _MSGSPEC_PATH.fullmatch(str(fault))
    path, why = (found["path"], found["why"]) if found else ("", str(fault))
    if isinstance(fault.__cause__, Misfit):
        return fault.__cause__.inside(path)
    return Misfit(_at(path, cut(why[:1].lower() + why[1:])))


class _Writer:
    """Writes the schema of one annotation; what stands in `$defs` is recursive.

    With `is_shown` it is the schema for a model. Otherwise it is for `fit`: types that msgspec does not
    know are left open there, because their own reader decides.
    """

    def __init__(self, found: mi.Type, *, is_shown: bool) -> None:
        self._found = found
        self._is_shown = is_shown
        self._open: list[Hashable] = []
        self._recursive: dict[Hashable, str] = {}
        self._definitions: dict[str, Json] = {}

    def whole(self) -> Json:
        written = self._write(self._found)
        return {**written, "$defs": self._definitions} if self._definitions else written

    def _write(self, found: mi.Type) -> Json:
        scalar = _SCALARS.get(type(found))
        if scalar is not None:
            return {**scalar, **_bounds_of(found, "Length")}
        match found:
            case mi.Metadata():
                return {**self._write(found.type), **(found.extra_json_schema or {})}
            case mi.ListType() | mi.SetType() | mi.FrozenSetType() | mi.VarTupleType() | mi.CollectionType():
                items = self._write(found.item_type)
                return {"type": "array", "items": items, **_bounds_of(found, "Items")}
            case mi.TupleType():
                return _row([self._write(one) for one in found.item_types], len(found.item_types))
            case mi.DictType():
                values = self._write(found.value_type) or True
                return {"type": "object", "additionalProperties": values, **_bounds_of(found, "Properties")}
            case mi.UnionType():
                return _any_of([self._write(one) for one in found.types])
            case mi.LiteralType():
                return _choice(found.values)
            case mi.EnumType():
                return _choice([member.value for member in found.cls])
            case mi.CustomType():
                return self._custom(found.cls)
            case mi.StructType() | mi.DataclassType() | mi.TypedDictType() | mi.NamedTupleType():
                return self._placed(found.cls, _spelled(found.cls), lambda: self._record(found))
            case _:
                raise WrongType(f"there is no JSON schema for {type(found).__name__}")

    def _record(self, found: Any) -> Json:
        kind = get_origin(found.cls) or found.cls
        told = documented(_own_docstring(kind))
        hints = _class_hints(kind)
        fields = found.fields
        if isinstance(found, mi.TypedDictType):  # msgspec sorts them by name
            fields = sorted(fields, key=lambda field: [*hints].index(field.name))
        properties: Json = {}
        if getattr(found, "tag_field", None):
            properties[found.tag_field] = _choice([found.tag])
        for field in fields:
            written = self._write(field.type) | _annotated_words(hints.get(field.name))
            if field.name in told.parameters:
                written["description"] = told.parameters[field.name]
            if field.default is not NODEFAULT:
                written |= default_of(field.default)
            properties[field.encode_name] = written
        required = [field.encode_name for field in fields if field.required]
        is_row = isinstance(found, mi.NamedTupleType) or getattr(found, "array_like", False)
        if is_row and not self._is_shown:  # a model sees an object; msgspec reads an array
            places = [{**one, "title": name} for name, one in properties.items()]
            size = {"minItems": len(required), "maxItems": len(places)}
            return {"type": "array", "prefixItems": places, "items": False, **size}
        if getattr(found, "tag_field", None):
            required.insert(0, found.tag_field)
        return object_schema(properties, required) | (
            {"description": told.description} if told.description else {}
        )

    def _custom(self, kind: type[Any]) -> Json:
        if not self._is_shown:
            return {}
        if issubclass(kind, _OneOf):
            return _any_of([self._write(mi.type_info(member)) for member in kind.members])
        if issubclass(kind, PurePath):
            return {"type": "string"}
        if issubclass(kind, _Adapted):
            return self._foreign(kind.schema, "")
        if _is_model(kind):
            return self._foreign(cast(Any, kind).model_json_schema(), kind.__name__)
        return self._write(mi.type_info(_adapted(kind, "it is no type of JSON")))

    def _foreign(self, whole: Json, name: str) -> Json:
        """A schema that pydantic wrote, with the definitions that it refers to in their places."""
        definitions = cast("dict[str, Json]", whole.get("$defs", {}))

        def inlined(schema: Any, name: str) -> Any:
            if not isinstance(schema, dict):
                return schema
            written = dict(cast(Json, schema))
            target = str(written.pop("$ref", "")).removeprefix("#/$defs/")
            if written.get("title") in (name, name.replace("_", " ").title()):
                del written["title"]  # it says what the name says
            for key, value in written.items():
                if key in _MAPS:
                    written[key] = {one: inlined(inner, one) for one, inner in value.items()}
                elif key in _LISTS:
                    written[key] = [inlined(one, "") for one in value]
                elif key in ("items", "additionalProperties", "not"):
                    written[key] = inlined(value, "")
            if not target:
                return written
            place = (id(whole), target)
            return self._placed(place, target, lambda: inlined(definitions[target], target)) | written

        return cast(Json, inlined({key: one for key, one in whole.items() if key != "$defs"}, name))

    def _placed(self, key: Hashable, name: str, write: Callable[[], Json]) -> Json:
        """The schema of a type with a name, or a reference to it where the type is recursive."""
        if key in self._open or self._recursive.get(key) in self._definitions:
            return {"$ref": f"#/$defs/{self._recursive.setdefault(key, self._free(name))}"}
        self._open.append(key)
        written = write()
        self._open.remove(key)
        if key not in self._recursive:
            return written
        self._definitions[self._recursive[key]] = written
        return {"$ref": f"#/$defs/{self._recursive[key]}"}

    def _free(self, name: str) -> str:
        name = re.sub(r"\W", "_", name.rpartition(".")[2])
        taken = set(self._recursive.values())
        numbered = (name, *(f"{name}{number}" for number in range(2, len(taken) + 3)))
        return next(one for one in numbered if one not in taken)


def object_schema(properties: Json, required: Iterable[str]) -> Json:
    """The schema of an object that has these properties and no others."""
    needed = list(required)
    written: Json = {"type": "object", "properties": properties}
    return {**written, **({"required": needed} if needed else {}), "additionalProperties": False}


def default_of(value: Any) -> Json:
    """`default` as it stands in a schema; nothing where JSON cannot express it."""
    if isinstance(value, float) and not isfinite(value):
        return {}
    try:
        written = msgspec.json.encode(value, order="deterministic")  # also of sets
    except (TypeError, ValueError, RecursionError):
        return {}
    return {"default": msgspec.json.decode(written)}


def _row(items: list[Json], least: int) -> Json:
    """An array with a schema for each place; `items` too, because some providers want it of every array."""
    different = _distinct(items)
    size = {"minItems": least, "maxItems": len(items)}
    if len(different) <= 1:
        return {"type": "array", "items": different[0] if different else {}, **size}
    return {"type": "array", "prefixItems": items, "items": {"anyOf": different}, **size}


def _any_of(members: list[Json]) -> Json:
    different = _distinct(members)
    return different[0] if len(different) == 1 else {"anyOf": different}


def _distinct(schemas: list[Json]) -> list[Json]:
    return [one for index, one in enumerate(schemas) if one not in schemas[:index]]


def _choice(values: Iterable[Any]) -> Json:
    options = [value.value if isinstance(value, Enum) else value for value in values]
    others = [value for value in options if value is not None]
    types = {_ENUM_TYPES.get(type(value)) for value in others}
    written: Json = {"type": types.pop()} if len(types) == 1 else {}
    written["enum"] = others
    return written if len(others) == len(options) else _any_of([written, {"type": "null"}][not others :])


def _bounds_of(found: Any, noun: str) -> Json:
    written: Json = {}
    for name in _BOUNDS:
        if (bound := getattr(found, name, None)) is not None:
            written[_KEYWORDS.get(name) or f"{name[:3]}{noun}"] = bound
    return written


def _own_docstring(kind: Any) -> str | None:
    """The docstring of a class; dataclasses and named tuples without one are given their signature."""
    words = kind.__dict__.get("__doc__")
    is_made = not isinstance(words, str) or words.startswith((f"{kind.__name__}(", "dict("))
    return None if is_made else words


def _class_hints(kind: Any) -> dict[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        return dict.fromkeys(getattr(kind, "__annotations__", {}), Any)


def _annotated_words(hint: Any) -> Json:
    """What `Annotated` says of a field."""
    notes = _flat(get_args(hint)[1:]) if get_origin(hint) is Annotated else ()
    return {key: words for note in notes for key, words in _words_of(note).items()}
