"""Texts, numbers and what JSON writes as text: dates, ids, bytes."""

import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path, PurePath
from typing import Any, NamedTuple, cast

import msgspec

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Shape, wanted

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,400}\s*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?\s*")


class Scalar(NamedTuple):
    """A value of JSON that holds no others.

    `mended` gives what a near miss stands for; for one that stands for nothing it raises `ValueError`.
    """

    words: str
    json: Mapping[str, Any]
    fits: Callable[[Any], bool]
    mended: Callable[[Any], Any]

    def schema(self, _definitions: Definitions) -> Json:
        """Its type."""
        return dict(self.json)

    def read(self, value: Any, lenient: bool) -> Any:
        """The value itself, or what a near miss stands for."""
        if self.fits(value):
            return value
        if lenient:
            try:
                return self.mended(value)
            except (ValueError, OverflowError):
                pass
        raise wanted(self.words, value)


class Written(NamedTuple):
    """A value that JSON writes as text, read by msgspec."""

    kind: type
    words: str
    json: Mapping[str, Any]

    def schema(self, _definitions: Definitions) -> Json:
        """A text, with its format."""
        return dict(self.json)

    def read(self, value: Any, _lenient: bool) -> Any:
        """The value of a text; one that is made already stays."""
        if isinstance(value, self.kind):
            return value
        try:
            read: Any = msgspec.convert(value, cast("type[Any]", self.kind))
            return read
        except msgspec.ValidationError:
            raise wanted(self.words, value) from None


class FilePath(NamedTuple):
    """A path, which JSON writes as text."""

    kind: type[PurePath]
    words: str = "a path, as text"

    def schema(self, _definitions: Definitions) -> Json:
        """A text."""
        return {"type": "string"}

    def read(self, value: Any, _lenient: bool) -> Any:
        """The path that a text names."""
        if isinstance(value, self.kind):
            return value
        if not isinstance(value, str) or "\0" in value:
            raise wanted(self.words, value)
        return self.kind(value)


class Anything(NamedTuple):
    """Any JSON value, taken as it is."""

    words: str = "anything"

    def schema(self, _definitions: Definitions) -> Json:
        """No restriction."""
        return {}

    def read(self, value: Any, _lenient: bool) -> Any:
        """The value."""
        return value


def _never(_value: Any) -> Any:
    raise ValueError


def _whole(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    raise ValueError


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError
    read = float(value)
    if not isfinite(read):
        raise ValueError
    return read


def _truth(value: Any) -> bool:
    if isinstance(value, str) and (word := value.strip().lower()) in ("true", "false"):
        return word == "true"
    raise ValueError


def _nothing(value: Any) -> None:
    if not isinstance(value, str) or value.strip().lower() not in ("null", "none"):
        raise ValueError


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_nothing(value: Any) -> bool:
    return value is None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)


TEXT = Scalar("a text", {"type": "string"}, _is_text, _never)
WHOLE = Scalar("a whole number", {"type": "integer"}, _is_whole, _whole)
NUMBER = Scalar("a number", {"type": "number"}, _is_finite, _number)
TRUTH = Scalar("true or false", {"type": "boolean"}, _is_truth, _truth)
NOTHING = Scalar("null", {"type": "null"}, _is_nothing, _nothing)
ANYTHING = Anything()

_TIME = {"type": "string", "format": "time"}
_MOMENT = {"type": "string", "format": "date-time"}
_BYTES = {"type": "string", "contentEncoding": "base64", "description": "Bytes, in base64."}
_SPAN = {"type": "string", "format": "duration"}
_EXACT = {"type": "string", "description": "A decimal number, such as 12.50."}

SCALARS: dict[Any, Shape] = {
    str: TEXT,
    int: WHOLE,
    float: NUMBER,
    bool: TRUTH,
    None: NOTHING,
    type(None): NOTHING,
    Any: ANYTHING,
    object: ANYTHING,
    bytes: Written(bytes, "bytes in base64", _BYTES),
    bytearray: Written(bytearray, "bytes in base64", _BYTES),
    datetime.datetime: Written(datetime.datetime, "a date and time such as 2026-05-01T12:00:00Z", _MOMENT),
    datetime.date: Written(datetime.date, "a date such as 2026-05-01", {"type": "string", "format": "date"}),
    datetime.time: Written(datetime.time, "a time such as 12:00:00", _TIME),
    datetime.timedelta: Written(datetime.timedelta, "a duration such as PT90S", _SPAN),
    uuid.UUID: Written(uuid.UUID, "a UUID", {"type": "string", "format": "uuid"}),
    decimal.Decimal: Written(decimal.Decimal, "a decimal number", _EXACT),
    Path: FilePath(Path),
    PurePath: FilePath(PurePath),
}
"""What has a shape of its own, by type."""
