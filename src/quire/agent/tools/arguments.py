"""The arguments of a call as a model wrote them, on their way to values; what is wrong is a `Misfit`."""

import json
from collections.abc import Mapping
from typing import Any, cast

from quire.agent.tools.shapes import Misfit, called
from quire.errors import cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

MAX_VALUES = 500_000
"""Values in all, counting those inside others."""

_AROUND = 30  # characters that are shown around a fault


def read_json(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as an object: whole, of a size that is sane, and with nothing said twice."""
    if isinstance(arguments, str):
        fields = _object(_decoded(arguments))
    elif isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        fields = dict(arguments)
    else:
        raise Misfit(f"the arguments are a JSON object, not {called(arguments)}")
    _check(fields)
    return fields


def read_value(text: str) -> Any:
    """Any value as JSON, of a size that is sane, and with nothing said twice."""
    value = _decoded(text)
    _check(value)
    return value


def _decoded(text: str) -> Any:
    if len(text) > MAX_ARGUMENTS:
        raise Misfit(f"the arguments have {len(text):,} characters; {MAX_ARGUMENTS:,} are allowed")
    if nests_deeper(text, MAX_DEPTH):
        raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    value = _loaded(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):  # written twice, as some models do
        value = _loaded(value)
    return value


def _object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Misfit(f"the arguments are a JSON object, not {called(value)}")
    return cast("dict[str, Any]", value)


def _loaded(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as fault:
        raise Misfit(f"the arguments are not JSON: {_shown(text, fault)}") from None
    except (RecursionError, ValueError) as fault:  # a number of thousands of digits
        raise Misfit(f"the arguments are not JSON: {cut(str(fault))}") from None


def _shown(text: str, fault: json.JSONDecodeError) -> str:
    before, after = text[max(fault.pos - _AROUND, 0) : fault.pos], text[fault.pos : fault.pos + _AROUND]
    what = fault.msg[:1].lower() + fault.msg[1:]
    place = f"at line {fault.lineno}, column {fault.colno}"
    return (
        f"{what} {place}, here: {before}⟨here⟩{after}"
        if after
        else f"{what} {place}, at the end of {before!r}"
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Misfit(f"{cut(twice)!r} is given twice")
    return fields


def _no_number(word: str) -> Any:
    raise Misfit(f"the arguments are not JSON: {word} is no number")


# Line breaks inside texts are no JSON, but leave no doubt. Made once: making it takes longer than reading.
_decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_constant=_no_number)


def _check(fields: Any) -> None:
    """Refuse what is too deep, too much, or no text: without going down the caller's stack."""
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
            _check_text(value)
        elif isinstance(value, Mapping):
            for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
                waiting += ((key, depth), (inner, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += ((inner, depth + 1) for inner in cast("list[Any]", value))


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misfit("the arguments hold half of a surrogate pair, which is no text") from None
