"""Values of programs: JSON on the way in and out, names and arguments, and what tools return."""

import builtins
import json
import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast, get_args
from unicodedata import normalize

import msgspec

from quire.agent.tools import Json, Tool, schema_of
from quire.errors import InvalidValue, WrongType
from quire.items import Audio, File, Image, Note, replace_surrogates

FOR_MODELS = (Note, Image, Audio, File, bytes, bytearray, memoryview)
"""Results that a model is shown; a program gets their text."""

STUB_NAMES = frozenset(
    {
        *("Any", "Literal", "NotRequired", "TypedDict", "Output", "output"),
        *("bool", "dict", "float", "int", "list", "str"),
    }
)
"""Names that mean something in every program: no input and no function has them."""

_NOT_JSON = (TypeError, ValueError, RecursionError, OverflowError)


# JSON


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON cannot write is its `str`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    try:
        return json.loads(_written(value))
    except _NOT_JSON:
        return str(value)


def as_text(value: Any) -> str:
    """A value as JSON text, the same as that of its `plain` form."""
    try:
        text = _written(value)
    except _NOT_JSON:
        text = json.dumps(str(value), ensure_ascii=False)
    return replace_surrogates(text)


def _written(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(_with_names(value), enc_hook=_dumped), ensure_ascii=False)


def _with_names(value: Any) -> Any:
    """A value whose named tuples are dicts, as their schemas say."""
    if isinstance(value, dict):
        return {key: _with_names(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        rows = [_with_names(one) for one in cast("Iterable[Any]", value)]
        names = getattr(value, "_fields", None)  # pyright: ignore[reportUnknownArgumentType]
        return rows if names is None else dict(zip(names, rows, strict=True))
    return value


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True) if callable(dump) and not isinstance(value, type) else str(value)


def encodable(value: Any) -> Any:
    """A plain value whose texts UTF-8 can encode: a file name may hold half of a surrogate pair."""
    try:
        msgspec.json.encode(value)
        return value
    except _NOT_JSON:  # msgspec also refuses large integers, which are fine
        return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


# Names and arguments


def legal_name(name: str, taken: Collection[str] = (), *, is_function: bool = False) -> str:
    """A name that a program can use: not taken, and if it is a function, no builtin."""
    legal = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in normalize("NFKC", name))
    legal = legal if legal.isidentifier() else f"_{legal}"
    while (
        legal in taken
        or legal in STUB_NAMES
        or keyword.iskeyword(legal)
        or (is_function and hasattr(builtins, legal))
    ):
        legal += "_"
    return legal


def by_name(parameters: Mapping[str, Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name: in the order of its stub, required parameters come first."""
    required = set(parameters.get("required", ()))
    order = sorted(parameters.get("properties", {}), key=lambda name: name not in required)
    if len(args) > len(order):
        raise TypeError(f"{len(args)} arguments are given by place; there are {len(order)}")
    placed = dict(zip(order, args, strict=False))
    twice = next((name for name in given if name in placed), None)
    if twice is not None:
        raise TypeError(f"the argument {twice!r} is given twice")
    return {**placed, **given}


# What tools return


def returned_by(tool: Tool) -> Json | None:
    """The schema of what a tool returns; None if it is not annotated, or returns what is for models."""
    returned = getattr(tool, "output_schema", None) or tool.signature.returns
    if tool.kind == "generator" or returned is None or _is_for_models(returned):
        return None
    try:
        return _serialized(returned) or None
    except (NameError, WrongType, InvalidValue):
        return None


def _is_for_models(kind: Any) -> bool:
    return kind in FOR_MODELS if isinstance(kind, type) else any(map(_is_for_models, get_args(kind)))


def _serialized(kind: Any) -> Json:
    """The schema of values as they are written: a model of pydantic writes computed fields too."""
    if not _holds_model(kind):
        return schema_of(kind)
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except Exception:  # pydantic has many ways to refuse
        return schema_of(kind)


def _holds_model(kind: Any) -> bool:
    return hasattr(kind, "model_json_schema") or any(map(_holds_model, get_args(kind)))
