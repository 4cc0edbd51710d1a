"""Values of programs: JSON in and out, names and arguments, and the return values of tools."""

import builtins
import json
import keyword
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast, get_args
from unicodedata import normalize

import msgspec

from quire.agent.tools import Json, Tool, schema_of
from quire.errors import InvalidValue, WrongType
from quire.items import Audio, File, Image, Note, replace_surrogates

FOR_MODELS = (Note, Image, Audio, File, bytes, bytearray, memoryview)
"""Results for models; a program receives their text."""

STUB_NAMES = frozenset(
    {
        *("Any", "Literal", "NotRequired", "TypedDict", "Output", "output"),
        *("bool", "dict", "float", "int", "list", "str"),
    }
)
"""Names with a meaning in every program, which no input or function may have."""

_NOT_JSON = (TypeError, ValueError, RecursionError, OverflowError)


# JSON


def plain(value: Any) -> Any:
    """A value as plain JSON; a value that JSON cannot express becomes its `str`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    try:
        return json.loads(_to_json(value))
    except _NOT_JSON:
        return str(value)


def as_text(value: Any) -> str:
    """A value as JSON text, equal to the text of its `plain` form."""
    try:
        text = _to_json(value)
    except _NOT_JSON:
        text = json.dumps(str(value), ensure_ascii=False)
    return replace_surrogates(text)


def _to_json(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(_tuples_as_dicts(value), enc_hook=_dump), ensure_ascii=False)


def _tuples_as_dicts(value: Any) -> Any:
    """A value with its named tuples as dicts, as in their schemas."""
    if isinstance(value, dict):
        return {key: _tuples_as_dicts(element) for key, element in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        rows = [_tuples_as_dicts(element) for element in cast("Iterable[Any]", value)]
        names = getattr(value, "_fields", None)  # pyright: ignore[reportUnknownArgumentType]
        return rows if names is None else dict(zip(names, rows, strict=True))
    return value


def _dump(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True) if callable(dump) and not isinstance(value, type) else str(value)


def encodable(value: Any) -> Any:
    """A plain value that UTF-8 can encode: a file name may contain a lone surrogate."""
    try:
        msgspec.json.encode(value)
        return value
    except _NOT_JSON:  # msgspec also refuses large integers, which stay as they are
        return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


# Names and arguments


def legal_name(name: str, reserved: Collection[str] = (), *, is_function: bool = False) -> str:
    """A name that a program can use: a legal one that is not reserved; a function hides no builtin."""
    legal = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in normalize("NFKC", name))
    legal = legal if legal.isidentifier() else f"_{legal}"
    while (
        legal in reserved
        or legal in STUB_NAMES
        or keyword.iskeyword(legal)
        or (is_function and hasattr(builtins, legal))
    ):
        legal += "_"
    return legal


def by_name(schema: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name. Positional ones have the order of the stub: required ones first."""
    required = set(schema.get("required", ()))
    order = sorted(schema.get("properties", {}), key=lambda name: name not in required)
    if len(args) > len(order):
        raise TypeError(f"{len(args)} positional arguments; there are {len(order)} parameters")
    positional = dict(zip(order, args, strict=False))
    duplicate = next((name for name in kwargs if name in positional), None)
    if duplicate is not None:
        raise TypeError(f"the argument {duplicate!r} is given twice")
    return {**positional, **kwargs}


# Return values of tools


def returned_by(tool: Tool) -> Json | None:
    """The schema of a tool's return value; None if it has no annotation, or is for models."""
    returned = getattr(tool, "output_schema", None) or tool.signature.returns
    if tool.kind == "generator" or returned is None or _is_for_models(returned):
        return None
    try:
        return _serialized_schema(returned) or None
    except (NameError, WrongType, InvalidValue):
        return None


def _is_for_models(kind: Any) -> bool:
    return kind in FOR_MODELS if isinstance(kind, type) else any(map(_is_for_models, get_args(kind)))


def _serialized_schema(kind: Any) -> Json:
    """The schema of a serialized value, with the computed fields of pydantic models."""
    if not _holds_model(kind):
        return schema_of(kind)
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except Exception:  # pydantic may raise any error
        return schema_of(kind)


def _holds_model(kind: Any) -> bool:
    return hasattr(kind, "model_json_schema") or any(map(_holds_model, get_args(kind)))
