"""What a tool is given on the record: data, or what its parameters make of it again."""

import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from quire.agent import Tool as Function
from quire.agent.tools import Misfit
from quire.bridges.a1.schemas import fields_of
from quire.errors import WrongType, cut
from quire.programs.values import plain

_TOLD_AS_TEXT = (bytes, bytearray, memoryview, datetime, date, time, timedelta, Decimal, UUID)


def check_data(tool: Function, given: Mapping[str, Any]) -> None:
    """An error where a tool would be given a text in the place of what is no data.

    The record is JSON. A date is a date again where the tool asks for one, and a text where it asks for
    anything.
    """
    told = {name: value for name, value in given.items() if not _is_data(value)}
    if not told:
        return
    read = _read(tool, given)
    for name, value in told.items():
        if name in read and read[name] != value:
            raise WrongType(f"{cut(name)!r} of {cut(tool.name)!r} is data, not a {type(value).__name__}")


def _is_data(value: Any) -> bool:
    try:
        built = msgspec.to_builtins(value, str_keys=True, builtin_types=_TOLD_AS_TEXT, enc_hook=_model)
        json.dumps(built)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return False
    return True


def _model(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        raise TypeError
    return dump(mode="json", by_alias=True)


def _read(tool: Function, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the tool would be given; of what does not fit, the call itself says so."""
    try:
        read = tool.signature.read(plain(dict(given)))
    except Misfit:
        return {}
    return read if read.keys() <= given.keys() else {**read, **_fields(read)}


def _fields(read: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of an input that is one value of a schema."""
    values = list(read.values())
    try:
        return fields_of(values[0]) if len(values) == 1 else {}
    except WrongType:
        return {}
