"""Values on their way into a program and out of it: of the kinds that JSON has, under names Python takes."""

import builtins
import json
import keyword
from collections.abc import Collection, Mapping
from typing import Any
from unicodedata import normalize

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.items import Audio, File, Image, Note, replace_surrogates
from quire.programs.written import ready

STUB_NAMES = frozenset(
    {
        *("Any", "Literal", "NotRequired", "TypedDict", "Output", "output"),
        *("bool", "dict", "float", "int", "list", "str"),
    }
)
"""Names that mean something in every program: no input and no function has them."""

_UNWRITABLE = (TypeError, ValueError, RecursionError, OverflowError)

LARGE = 20_000
"""Characters of arguments from which on it matters where and how they are read."""

TOLD = (Note, Image, Audio, File, bytes, bytearray, memoryview)
"""What a model is told of in words, and a program too."""


def plain(value: Any) -> Any:
    """A value in the kinds that JSON has; what has no such form says of itself what it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    try:
        return json.loads(_written(value))  # rows become lists
    except _UNWRITABLE:
        return str(value)


def as_text(value: Any) -> str:
    """A value as JSON text, in the kinds that it has as a plain one."""
    try:
        text = _written(value)
    except _UNWRITABLE:
        text = json.dumps(str(value), ensure_ascii=False)
    return replace_surrogates(text)


def size_of(value: Any) -> int:
    """About how many characters a plain value has as JSON."""
    if isinstance(value, str):
        return len(value)
    try:
        return len(msgspec.json.encode(value))
    except _UNWRITABLE:  # such as a large number, or half of a sign
        return len(json.dumps(value, default=str, skipkeys=True))


def encodable(value: Any) -> Any:
    """A plain value whose texts UTF-8 can encode: a file name may hold half of a surrogate pair."""
    try:
        msgspec.json.encode(value)
        return value
    except _UNWRITABLE:  # msgspec also refuses large integers, which are fine
        return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


def _written(value: Any) -> str:
    built = msgspec.to_builtins(ready(value), str_keys=True, enc_hook=_plain)
    return json.dumps(built, ensure_ascii=False)


def legal_name(name: str, taken: Collection[str] = (), *, is_function: bool = False) -> str:
    """A name that a program can use: not one that is taken, nor a function's that Python itself has."""
    legal = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in normalize("NFKC", name))
    if not legal.isidentifier():
        legal = f"_{legal}"
    while (
        legal in taken
        or legal in STUB_NAMES
        or keyword.iskeyword(legal)
        or (is_function and hasattr(builtins, legal))
    ):
        legal += "_"
    return legal


def given_once(given: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """What is given in one mapping and by keywords, where nothing is given by both."""
    if given is None:
        return dict(named)
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"the input is a mapping of values by name, not {type(given).__name__}")
    twice = next((name for name in named if name in given), None)
    if twice is not None:
        raise InvalidValue(f"the input {cut(twice)!r} is given twice")
    return {**given, **named}


def by_name(parameters: Mapping[str, Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its parameters: those that are required come first."""
    order = _order(parameters)
    if len(args) > len(order):
        raise TypeError(f"{len(args)} arguments are given by place; there are {len(order)}")
    placed = dict(zip(order, args, strict=False))
    twice = next((name for name in given if name in placed), None)
    if twice is not None:
        raise TypeError(f"the argument {twice!r} is given twice")
    return {**placed, **given}


def _order(parameters: Mapping[str, Any]) -> list[str]:
    required = set(parameters.get("required", ()))
    return sorted(parameters.get("properties", {}), key=lambda name: name not in required)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", by_alias=True)
    return str(value)
