"""Arguments and answers as a model writes them: JSON of a bounded size, and values by a JSON schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, cast

from quire.errors import cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

Json = dict[str, Any]

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

MAX_VALUES = 500_000
"""Values in all, counting those inside others."""

_AROUND = 30
"""Characters that are shown around an error in JSON."""


class Misfit(ValueError):
    """A value that a tool cannot take: where it is and why, in words for the model."""


def read_json(arguments: str | Mapping[str, Any]) -> Json:
    """Arguments as an object: of a bounded size, and with no name given twice."""
    if isinstance(arguments, Mapping):
        _check_size(arguments)
        return dict(arguments)
    value = read_value(arguments) if isinstance(arguments, str) else arguments  # pyright: ignore[reportUnnecessaryIsInstance]
    if value is not None and not isinstance(value, dict):
        raise Misfit(f"the arguments are a JSON object, not {called(value)}")
    return cast(Json, value or {})


def read_value(text: str) -> Any:
    """Any JSON value: of a bounded size, and with no name given twice in an object."""
    if len(text) > MAX_ARGUMENTS:
        raise Misfit(f"the arguments have {len(text):,} characters; {MAX_ARGUMENTS:,} are allowed")
    if nests_deeper(text, MAX_DEPTH):
        raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    value = _decode(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice, as some models do
        value = _decode(value)
    _check_size(value)
    return value


def is_object(value: Any) -> TypeGuard[Json]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def called(value: Any) -> str:
    """A value in words, short."""
    if isinstance(value, str):
        return f"the text {cut(value)!r}"
    if value is None or isinstance(value, bool | int | float):
        return cut(json.dumps(value))
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as fault:
        raise Misfit(f"the arguments are not JSON: {_place_of(text, fault)}") from None
    except Misfit:
        raise
    except (RecursionError, ValueError) as fault:  # a number of thousands of digits
        raise Misfit(f"the arguments are not JSON: {cut(str(fault))}") from None


def _place_of(text: str, fault: json.JSONDecodeError) -> str:
    before, after = text[max(fault.pos - _AROUND, 0) : fault.pos], text[fault.pos : fault.pos + _AROUND]
    what = f"{fault.msg[:1].lower()}{fault.msg[1:]} at line {fault.lineno}, column {fault.colno}"
    return f"{what}, here: {before}⟨here⟩{after}" if after else f"{what}, at the end of {before!r}"


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise Misfit(f"{cut(next(name for name in names if names.count(name) > 1))!r} is given twice")
    return fields


def _no_number(word: str) -> Any:
    raise Misfit(f"the arguments are not JSON: {word} is no number")


# Line breaks inside texts are not JSON, but are unambiguous. Made once: making it takes longer than reading.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_number)


def _check_size(fields: Any) -> None:
    """Refuse what is too deep, too large, or no valid text, without recursion."""
    waiting: list[tuple[Any, int]] = [(fields, 1)]
    count = 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels, or hold themselves")
        if count > MAX_VALUES:
            raise Misfit(f"the arguments hold more than {MAX_VALUES:,} values")
        if isinstance(value, str):
            if not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
                raise Misfit("the arguments hold half of a surrogate pair, which is no text")
        elif isinstance(value, Mapping):
            for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
                waiting += ((key, depth), (inner, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += ((inner, depth + 1) for inner in cast("Sequence[Any]", value))
