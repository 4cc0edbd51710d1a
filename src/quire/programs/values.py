"""Values on their way into a program and out of it: of the kinds that JSON has, under names Python takes."""

import builtins
import json
import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast
from unicodedata import normalize

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.items import Audio, File, Image, Note, replace_surrogates
from quire.programs.written import ready

_OWN = frozenset(("output", "Output"))
"""Names that mean something in every program."""

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


def writable(value: Any) -> Any:
    """A plain value whose texts can be written as UTF-8: a name of a file may hold half of a sign."""
    try:
        msgspec.json.encode(value)
    except _UNWRITABLE:  # a large number is no fault, and hides none
        return _mended_within(value)
    return value


def _mended_within(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        rows = cast("Mapping[Any, Any]", value).items()
        return {_mended_within(key): _mended_within(one) for key, one in rows}
    return [*map(_mended_within, cast("Iterable[Any]", value))] if isinstance(value, list | tuple) else value


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
        or legal in _OWN
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
