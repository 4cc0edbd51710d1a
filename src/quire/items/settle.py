"""How a field comes to its stored form when an item or a part is made.

Structs do not look at their arguments, so each kind checks itself. What may be converted is (a list of parts
to a tuple, an integer to a time), free values are frozen, and what is wrong is named by its field, never by
its value.
"""

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args

import msgspec

from quire.errors import InvalidValue, QuireError, TooLarge, WrongType
from quire.items.frozen import NOTHING, FrozenDict, freeze

_SETS = (set, frozenset)
_SIMPLE = (str, bytes, int, float, bool, NoneType)
NOT_ONE_OF = "not one of the values it may have"
HALF_A_PAIR = "holds half of a surrogate pair"
MAX_TEXT = 32 * 1024 * 1024
"""Characters that one text of one item may have: several times the largest window on the market."""


def settle(struct: msgspec.Struct) -> None:
    """Bring every field to its stored form, or say which one cannot be."""
    for name, where, wanted, final in _fields(type(struct)):
        value = getattr(struct, name)
        if type(value) in final:
            if type(value) is str:
                check_length(value, where)
            continue
        settled = _settled(where, wanted, value)
        if settled is not value:
            msgspec.structs.force_setattr(struct, name, settled)


@cache  # looking a struct's types up takes longer than everything else here
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any, frozenset[type]]]:
    return [
        (field.name, f"{kind.__name__}.{field.name}", field.type, _final_types(field.type))
        for field in msgspec.structs.fields(kind)
    ]


def _final_types(wanted: Any) -> frozenset[type]:
    """The types whose values are stored as they are: simple ones, and structs that settled themselves."""
    choices = get_args(wanted) if isinstance(wanted, UnionType) else (wanted,)
    types = (choice for choice in choices if isinstance(choice, type))
    return frozenset(kind for kind in types if kind in _SIMPLE or issubclass(kind, msgspec.Struct))


def check_length(text: str, where: str) -> None:
    """Refuse a text that no model could read and that would stall whoever counts it."""
    if len(text) > MAX_TEXT:
        raise TooLarge(f"{where} has {len(text):,} characters; one text may have {MAX_TEXT:,}")


def _settled(where: str, wanted: Any, value: Any) -> Any:
    if wanted is Any:
        return _frozen(where, value)
    if wanted == Mapping[str, Any]:
        return _frozen_mapping(where, value)
    if isinstance(value, _SETS):
        raise WrongType(f"{where} must be in order, not a set")
    try:
        # Bytes are given as bytes here; without being told, msgspec takes any text for base64.
        settled = msgspec.convert(value, wanted, builtin_types=(bytes,))
    except msgspec.ValidationError as fault:
        raise _explained(where, fault) from None
    except UnicodeEncodeError:  # it would quote the text
        raise InvalidValue(f"{where} {HALF_A_PAIR}") from None
    settled = _exact(settled)
    _check_texts(where, settled)
    return settled


def _exact(settled: Any) -> Any:
    """The same with plain texts: a subclass, such as a text marked as safe, is written by no format."""
    if isinstance(settled, str):
        return settled if type(settled) is str else str.__str__(settled)
    if type(settled) is tuple and any(isinstance(part, str) for part in settled):  # pyright: ignore
        return tuple([_exact(part) for part in settled])  # pyright: ignore
    return settled  # pyright: ignore[reportUnknownVariableType]


def _frozen(where: str, value: Any) -> Any:
    try:
        return freeze(value)
    except InvalidValue as fault:
        raise type(fault)(f"{where}: {fault}") from None


def _frozen_mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongType(f"{where} must be a mapping, not {type(value).__name__}")
    if not value:
        return NOTHING
    if not all(isinstance(key, str) for key in value):  # pyright: ignore[reportUnknownVariableType]
        raise WrongType(f"{where} has a key that is no text")
    return value if type(value) is FrozenDict else _frozen(where, dict(value))  # pyright: ignore


def _check_texts(where: str, settled: Any) -> None:
    if isinstance(settled, str):
        check_length(settled, where)
    elif isinstance(settled, tuple):
        for part in settled:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(part, str):
                check_length(part, where)


def _explained(where: str, fault: msgspec.ValidationError) -> QuireError:
    text, place = without_content(str(fault))
    if text == NOT_ONE_OF:
        return InvalidValue(f"{where}{place} is {text}")
    error = InvalidValue if isinstance(fault.__cause__, InvalidValue) else WrongType
    return error(f"{where}{place}: {text}")


def without_content(fault: str) -> tuple[str, str]:
    """What msgspec says is wrong, without the value that it may quote, and the place below the one given."""
    text, _, place = fault.partition(" - at `$")
    if text.startswith(("Invalid enum value", "Invalid value")):
        text = NOT_ONE_OF
    elif text.startswith("Object contains unknown field"):
        text = "holds a field that is not known here"
    return text, place.partition("`")[0]
