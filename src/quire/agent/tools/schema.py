"""Python annotations as JSON schemas, and JSON values as values of annotated types, by msgspec.

Models of pydantic write their own schemas and read their own values.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from inspect import cleandoc
from math import isfinite
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from quire.agent.tools.arguments import Json, Misfit, is_array, is_object
from quire.errors import WrongType, cut

_REFERENCE = "#/$defs/"
_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_ENUM_TYPES: dict[type, str] = {str: "string", int: "integer", bool: "boolean"}
_PATH = re.compile(r"(?P<why>.*) - at `(?P<key>key` in `)?\$(?P<path>.*)`", re.DOTALL)


def schema_of(annotation: Any) -> Json:
    """The JSON schema of an annotation, or `WrongType`. Only recursive types stand in `$defs`."""
    return dict(_type(annotation).schema)


def read_as(annotation: Any, value: Any) -> Any:
    """A JSON value as a value of an annotated type, or a `Misfit`; "3" for 3 and the like are accepted."""
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
        parsed = docstring_parser.parse(cleandoc(docstring))
    except docstring_parser.ParseError:
        return Documented(cleandoc(docstring))
    described = {one.arg_name.lstrip("*"): one.description for one in parsed.params}
    words = {name: " ".join(text.split()) for name, text in described.items() if text}
    return Documented((parsed.description or "").strip(), words)


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

    def schema(self, descriptions: Mapping[str, str] | None = None) -> Json:
        """The schema of an object with these fields; `descriptions` by name stand above others."""
        properties: Json = {}
        definitions: Json = {}
        for name, one in self._types.items():
            properties[name] = dict(one.schema)
            if described := (descriptions or {}).get(name):
                properties[name]["description"] = described
            if name in self._defaults:
                properties[name] |= _default(self._defaults[name])
        rest = None if self._rest is None else dict(self._rest.schema)
        for schema in (*properties.values(), rest or {}):
            for name, definition in schema.pop("$defs", {}).items():
                if definitions.setdefault(name, definition) != definition:
                    raise WrongType(f"two types are called {cut(name)!r}")
        required = [name for name in properties if name not in self._defaults]
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False if rest is None else rest or True,
            **({"$defs": definitions} if definitions else {}),
        }

    def read(self, given: Mapping[str, Any], noun: str = "field") -> Json:
        """The values by their types, with defaults for those left out; or a `Misfit`."""
        for name in given:
            if name not in self._types and self._rest is None:
                known = ", ".join(self._types) or "none"
                raise Misfit(f"there is no {noun} {cut(str(name))!r}; there is {known}")
        read = dict(self._defaults)
        for name in (*self._types, *(name for name in given if name not in self._types)):
            if name in given:
                read[name] = (self._types.get(name) or cast(_Type, self._rest)).read(given[name], f".{name}")
            elif name not in read:
                raise Misfit(f"the {noun} {name!r} is missing")
        return read


class _Type(NamedTuple):
    """An annotation as msgspec takes it, and its schema."""

    kind: Any
    schema: Json

    def read(self, value: Any, path: str = "") -> Any:
        try:
            read = msgspec.convert(value, self.kind, dec_hook=_decode, str_keys=True)
            return self._checked(read, value, path)
        except Misfit:
            raise
        except Exception:  # a class may refuse its fields by any error: the lenient reading says which
            if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):  # an array or an object as text
                value = _unpacked(value)
        try:
            read = msgspec.convert(value, self.kind, strict=False, dec_hook=_decode, str_keys=True)
            return self._checked(read, value, path)
        except Misfit:
            raise
        except msgspec.ValidationError as fault:
            raise Misfit(_words_of(str(fault), path)) from None
        except Exception as fault:
            raise Misfit(_at(path, f"{type(fault).__name__}: {cut(str(fault))}")) from None

    def _checked(self, read: Any, value: Any, path: str) -> Any:
        """What was read, if the value has no unknown fields, which msgspec would ignore."""
        definitions = self.schema.get("$defs", {})
        waiting: list[tuple[Any, Any, str]] = [(value, self.schema, path)]
        while waiting:
            one, schema, place = waiting.pop()
            schema = _without_null(schema)
            if not is_object(schema):
                continue
            if "$ref" in schema:
                schema = definitions[schema["$ref"].removeprefix(_REFERENCE)]
            if is_array(one):
                waiting += (
                    (inner, schema.get("items"), f"{place}[{index}]") for index, inner in enumerate(one)
                )
            elif is_object(one):
                known: Json = schema.get("properties", {})
                others: Any = schema.get("additionalProperties")
                unknown = [name for name in one if name not in known]
                if unknown and others is False:
                    raise Misfit(
                        _at(place, f"there is no field {cut(str(unknown[0]))!r}; there is {', '.join(known)}")
                    )
                waiting += (
                    (inner, known.get(name, others), f"{place}.{name}") for name, inner in one.items()
                )
        return read


def _without_null(schema: Any) -> Any:
    """The schema of an optional value, without `null`."""
    branches = schema.get("anyOf", ()) if is_object(schema) else ()
    others = [one for one in branches if one != {"type": "null"}]
    return others[0] if len(others) == 1 else schema


def _unpacked(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def _words_of(fault: str, path: str) -> str:
    """A fault that msgspec found, in words for a model: `lines[0].x: expected int, got str`."""
    found = _PATH.fullmatch(fault)
    why, inner = (found["why"], found["path"]) if found else (fault, "")
    why = why.replace("`", "") if "`" in why and not why.startswith("\n") else why
    key = "a key: " if found and found["key"] else ""
    return _at(f"{path}{inner}", f"{key}{why[:1].lower()}{cut(why[1:])}")


def _at(path: str, why: str) -> str:
    return f"{cut(path.removeprefix('.'))}: {why}" if path else why


def _type(annotation: Any) -> _Type:
    spelling = repr(annotation)  # `int | str` equals `str | int`, so the cache also needs the spelling
    try:
        hash(annotation)
    except TypeError:
        if is_object(annotation) or is_array(annotation):
            raise WrongType("a type is expected, such as a dataclass, and no schema") from None
        return _cached_type.__wrapped__(annotation, spelling)
    return _cached_type(annotation, spelling)


@lru_cache(maxsize=512)
def _cached_type(annotation: Any, _spelling: str) -> _Type:
    if isinstance(annotation, str):
        raise NameError(f"name {annotation!r} is not defined")
    kind = _prepared(annotation)
    try:
        (schema,), definitions = msgspec.json.schema_components(
            (kind,), schema_hook=_custom_schema, ref_template=f"{_REFERENCE}{{name}}"
        )
    except TypeError as fault:
        why = "it is no type of JSON" if "custom type" in str(fault) else str(fault).partition(" - type")[0]
        raise WrongType(
            f"there is no JSON schema for {_spelled(annotation)}: {cut(why)}. "
            "Use a dataclass, a tagged msgspec Struct, a model of pydantic, or an enumeration of strings"
        ) from None
    return _Type(kind, _Writer(dict(definitions), dict(_classes(annotation, set()))).whole(schema))


def _spelled(annotation: Any) -> str:
    return cut(annotation.__qualname__ if isinstance(annotation, type) else str(annotation))


# What msgspec does not know: descriptions and bounds of others, paths, and models of pydantic.


def _prepared(annotation: Any) -> Any:
    """An annotation as msgspec takes it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is object:
        return Any
    if annotation is datetime:
        return Annotated[datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]
    if origin is Annotated:
        notes = _flat(args[1:])
        if any(type(note).__module__.startswith("pydantic.functional_") for note in notes):
            raise WrongType("a validator of pydantic belongs into a model of pydantic")
        bounds = {
            name: bound for note in notes for name in _BOUNDS if (bound := _bound(note, name)) is not None
        }
        return Annotated[_prepared(args[0]), msgspec.Meta(**bounds, extra_json_schema=_said(notes) or None)]
    if not args or origin is Literal:
        return annotation
    prepared = tuple(map(_prepared, args))
    if origin in (Union, UnionType):
        is_foreign = any(map(_has_model, args)) and len([one for one in args if one is not NoneType]) > 1
        return _adapted(annotation) if is_foreign else Union[prepared]  # noqa: UP007
    return annotation if prepared == args or not isinstance(origin, type) else cast(Any, origin)[prepared]


class _Adapted(type):
    """The type of classes that stand for a union with models of pydantic: any value is an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return True


def _adapted(annotation: Any) -> Any:
    from pydantic import TypeAdapter

    adapter = TypeAdapter[Any](annotation)
    schema, read = staticmethod(adapter.json_schema), staticmethod(adapter.validate_json)
    return _Adapted("Union", (), {"model_json_schema": schema, "model_validate_json": read})


def _has_model(annotation: Any) -> bool:
    return hasattr(annotation, "model_validate_json") or any(map(_has_model, get_args(annotation)))


def _flat(notes: Iterable[Any]) -> list[Any]:
    """Notes of `Annotated`, those inside a field of pydantic's too."""
    inner = [getattr(note, "metadata", ()) if type(note).__name__ == "FieldInfo" else () for note in notes]
    return [*notes, *(one for row in inner for one in row)]


def _bound(note: Any, name: str) -> Any:
    bound = getattr(note, name, None)
    return bound if isinstance(bound, int | float) or name == "pattern" else None


def _said(notes: Iterable[Any]) -> Json:
    """What notes of `Annotated` add to a schema: a text describes, others have the attributes of `Meta`."""
    said: Json = {}
    for note in notes:
        if isinstance(note, str):
            said["description"] = note
        for name in ("description", "examples"):
            if isinstance(value := getattr(note, name, None), str | list):
                said[name] = value
        for name in ("extra_json_schema", "json_schema_extra"):
            if isinstance(extra := getattr(note, name, None), dict):
                said |= cast(Json, extra)
    return said


def _custom_schema(kind: Any) -> Json:
    if PurePath in getattr(kind, "__mro__", ()):
        return {"type": "string"}
    if not hasattr(kind, "model_validate_json"):
        raise NotImplementedError
    schema = cast(Json, kind.model_json_schema())
    for one in (schema, *schema.get("$defs", {}).values()):
        one.setdefault("additionalProperties", True)  # the model itself says what it does with others
    return schema


def _decode(kind: type[Any], value: Any) -> Any:
    """Read a value of a type that msgspec does not know."""
    if not isinstance(kind, _Adapted) and isinstance(value, kind):
        return value
    if issubclass(kind, PurePath):
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("expected a path, as text")
        return kind(value)
    try:
        return cast(Any, kind).model_validate_json(json.dumps(value, default=_dumped))
    except (ValueError, AttributeError) as fault:
        told = cast(Any, fault)
        found: list[Json] = told.errors() if hasattr(told, "errors") else [{"loc": (), "msg": str(fault)}]
        raise ValueError("; ".join(_at(_path(one["loc"]), one["msg"]) for one in found)) from None


def _path(steps: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _dumped(value: Any) -> Any:
    return value.model_dump(mode="json")


def _classes(annotation: Any, seen: set[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The annotations of classes with fields, by the names of the classes."""
    origin = get_origin(annotation) or annotation
    for inner in () if origin is Literal else get_args(annotation):
        yield from _classes(inner, seen)
    if isinstance(origin, type) and origin not in seen and getattr(origin, "__annotations__", None):
        seen.add(origin)
        try:
            hints = get_type_hints(origin, include_extras=True)
        except (NameError, TypeError):
            return
        yield origin.__name__, hints
        for hint in hints.values():
            yield from _classes(hint, seen)


class _Writer:
    """Rewrites a schema of msgspec's or pydantic's: definitions in their places, and no titles."""

    def __init__(self, definitions: Json, classes: Mapping[str, dict[str, Any]]) -> None:
        self._definitions, self._classes = definitions, classes
        self._open: list[str] = []
        self._recursive: Json = {}

    def whole(self, schema: Json) -> Json:
        written: Json = self._write(schema)
        return {**written, "$defs": self._recursive} if self._recursive else written

    def _write(self, schema: Any) -> Any:
        if not is_object(schema):
            return schema
        written = dict(schema)
        self._definitions |= written.pop("$defs", {})
        reference = str(written.pop("$ref", "")).removeprefix(_REFERENCE)
        if reference:
            return {**self._definition(reference), **written}
        title = str(written.pop("title", ""))
        written.pop("discriminator", None)
        written.pop("uniqueItems", None)
        if "properties" in written:
            written = self._record(written, self._classes.get(title, {}))
        for key in ("items", "additionalProperties", "not"):
            if key in written:
                written[key] = self._write(written[key])
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if key in written:
                written[key] = [self._write(one) for one in written[key]]
        if written.get("prefixItems"):  # some providers want `items` of every array
            written["items"] = {"anyOf": [*{json.dumps(one): one for one in written["prefixItems"]}.values()]}
        elif written.get("type") == "array":
            written.setdefault("items", {})
        elif written.get("type") == "object":
            written.setdefault("additionalProperties", True)
        return _choice(written) if "enum" in written else written

    def _definition(self, name: str) -> Json:
        """A definition in its place, or a reference to it where it is recursive."""
        if name in self._open or name in self._recursive:
            self._recursive.setdefault(name, {})
            return {"$ref": f"{_REFERENCE}{name}"}
        self._open.append(name)
        written = self._write(self._definitions[name])
        self._open.remove(name)
        if name not in self._recursive:
            return cast(Json, written)
        self._recursive[name] = written
        return {"$ref": f"{_REFERENCE}{name}"}

    def _record(self, schema: Json, hints: Mapping[str, Any]) -> Json:
        told = documented(schema.pop("description", None))
        order = {name: index for index, name in enumerate(hints)}  # msgspec sorts those of a TypedDict
        names = sorted(schema["properties"], key=lambda name: order.get(name, -1))
        properties = {name: self._write(schema["properties"][name]) for name in names}
        for name, field in properties.items():
            if get_origin(hints.get(name)) is Annotated:
                field |= _said(_flat(get_args(hints[name])[1:]))
            if name in told.parameters:
                field["description"] = told.parameters[name]
        written = {**schema, "properties": properties}
        is_open = written.pop("additionalProperties", None) is True
        needed = [name for name in names if name in schema.get("required", ())]
        written.pop("required", None)
        return {
            **written,
            **({"required": needed} if needed else {}),
            **({} if is_open else {"additionalProperties": schema.get("additionalProperties", False)}),
            **({"description": told.description} if told.description else {}),
        }


def _choice(schema: Json) -> Json:
    """An enumeration with its type, and `null` beside it: providers want it so."""
    others: list[object] = [value for value in schema["enum"] if value is not None]
    types = {_ENUM_TYPES.get(type(value)) for value in others}
    written = {**schema, **({"type": types.pop()} if len(types) == 1 else {}), "enum": others}
    return written if len(others) == len(schema["enum"]) else {"anyOf": [written, {"type": "null"}]}


def _default(value: Any) -> Json:
    """`default` as it stands in a schema; nothing where JSON cannot express it."""
    if isinstance(value, float) and not isfinite(value):
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value, order="deterministic"))}
    except (TypeError, ValueError, RecursionError):
        return {}
