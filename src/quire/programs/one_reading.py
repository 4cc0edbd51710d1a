"""Texts and numbers that are read as equal values, in one spelling."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from quire.agent.tools import Misfit
from quire.agent.tools.shapes.containers import unpacked
from quire.agent.tools.shapes.scalars import NUMBER, TRUTH, WHOLE
from quire.programs.values import plain

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)

_WORDS = {"integer": WHOLE, "number": NUMBER, "boolean": TRUTH}
"""What models also write as texts, by its type."""

_FORMATS: Mapping[str, Any] = {
    "uuid": UUID,
    "date": date,
    "time": time,
    "date-time": datetime,
    "duration": timedelta,
}
"""Texts that are written in several ways, by their format."""


def meant(value: Any, schema: Mapping[str, Any]) -> Any:
    """What a value stands for, as tools read it: numbers that are equal are one, whoever wrote them how."""
    kind = schema.get("type")
    if isinstance(value, str):
        value = _read(value, kind, schema.get("format"))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Where a text is wanted, only a decimal is read from a number.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number and kind == "string" else value


def _read(text: str, kind: Any, form: Any) -> Any:
    if kind in ("object", "array"):
        found = unpacked(text)
        return text if found is None else found
    with suppress(Misfit, msgspec.ValidationError):
        if isinstance(kind, str) and kind in _WORDS:
            return _WORDS[kind].read(text, True)
        if isinstance(form, str) and form in _FORMATS and kind == "string":
            return plain(msgspec.convert(text, _FORMATS[form]))
    return text


def as_read(value: Any, kind: Any) -> Any:
    """A value in the spelling of what is read from it, for types that read several as the same."""
    if kind is Decimal:
        return exact(value)
    return _moment(value) if kind is datetime and isinstance(value, str) else value


def exact(value: Any) -> Any:
    """A number that is read digit by digit, from a text or from a number; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    text = value if isinstance(value, str) else repr(value)
    if not _NUMBER.fullmatch(text):
        return value
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).lstrip("0")
    short = written.rstrip("0")
    if not short:
        return "0"
    return f"{'-' if sign else ''}{short}E{exponent + len(written) - len(short)}"


def _moment(text: str) -> str:
    """A moment is the same in any zone. One without a zone is no moment, and stays as it is."""
    try:
        read = msgspec.convert(text, datetime)
        return text if read.tzinfo is None else read.astimezone(UTC).isoformat()
    except (msgspec.ValidationError, OverflowError):
        return text
