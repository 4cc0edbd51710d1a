"""Arguments and answers as a model writes them: JSON of a bounded size."""

import json
from collections.abc import Mapping
from typing import Any, cast

from quire.errors import cut
from quire.items import MAX_DEPTH
from quire.providers import nests_deeper

Json = dict[str, Any]

MAX_ARGUMENTS = 8 * 1024 * 1024
"""Characters of arguments: more than any model writes in one reply."""

_AROUND = 30
"""Characters that are shown around an error in JSON."""


class Misfit(ValueError):
    """A value that a tool cannot take: where it is and why, in words for the model."""


def read_json(arguments: str | Mapping[str, Any]) -> Json:
    """Arguments as an object; none for an empty text."""
    value = read_value(arguments) if isinstance(arguments, str) else arguments
    if value is not None and not isinstance(value, Mapping):
        raise Misfit(f"the arguments are a JSON object, not {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value or {}))


def read_value(text: str) -> Any:
    """Any JSON value: of a bounded size, and with no name given twice in an object."""
    if len(text) > MAX_ARGUMENTS:
        raise Misfit(f"the arguments have {len(text):,} characters; {MAX_ARGUMENTS:,} are allowed")
    if nests_deeper(text, MAX_DEPTH):
        raise Misfit(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    value = _decode(text) if text.strip() else None
    if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice, as some models do
        return _decode(value)
    return value


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as fault:
        before, after = text[max(fault.pos - _AROUND, 0) : fault.pos], text[fault.pos : fault.pos + _AROUND]
        what = f"{fault.msg[:1].lower()}{fault.msg[1:]} at line {fault.lineno}, column {fault.colno}"
        place = f"here: {before}⟨here⟩{after}" if after else f"at the end of {before!r}"
        raise Misfit(f"the arguments are not JSON: {what}, {place}") from None
    except Misfit:
        raise
    except (RecursionError, ValueError) as fault:  # a number of thousands of digits
        raise Misfit(f"the arguments are not JSON: {cut(str(fault))}") from None


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
