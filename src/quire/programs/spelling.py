"""Calls by all that they say, in one spelling: by it the same call is known, however it was written.

The spelling is of what was given, and not of what a tool reads from it. To read may draw an id or a time, so
that nothing is ever read twice; and what was read may hide a secret, so that what differs looks the same.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from inspect import Parameter
from typing import Any, cast
from uuid import UUID

import msgspec

from quire.agent import Tool
from quire.agent.tools.arguments import read_json
from quire.agent.tools.shapes import Json, Misfit
from quire.agent.tools.shapes.containers import unpacked
from quire.agent.tools.shapes.scalars import NUMBER, TRUTH, WHOLE
from quire.programs.fitting import Fitting
from quire.programs.values import LARGE, plain

_MOST_REFERENCES = 20
"""From one schema to the next, before the one that says something."""

_DEEPEST_DEFAULT = 3
"""Defaults within defaults: a type may hold itself."""

_NULL = {"type": "null"}

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


async def key_of(tool: Tool, arguments: str) -> str:
    """What a call is known by: those that say the same have the same."""
    if len(arguments) <= LARGE:
        return _key(tool, arguments)
    return await asyncio.to_thread(_key, tool, arguments)  # where it holds up nobody


def _key(tool: Tool, arguments: str) -> str:
    parameters: Json = tool.definition["parameters"]
    try:
        given = {**_defaults(tool, parameters), **read_json(arguments)}
    except Misfit:  # no tool is run with these
        return f"{tool.name} {arguments}"
    return f"{tool.name} {json.dumps(_Spelling(parameters).of(given, parameters), sort_keys=True)}"


def _defaults(tool: Tool, parameters: Json) -> Json:
    """The defaults that the function has and the schema does not say, such as models and paths."""
    found: Json = {}
    for one in tool.signature.order:
        schema = parameters.get("properties", {}).get(one.name)
        if one.default is not Parameter.empty and schema is not None and "default" not in schema:
            with suppress(Exception):  # it is written by code of its own
                found[one.name] = plain(one.default)
    return found


class _Spelling:
    """Values on their way through the schema of what a tool takes."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def of(self, value: Any, schema: Any, deep: int = 0) -> Any:
        """A value in its one spelling, with the defaults of what is left out."""
        schema = self._settled(value, schema)
        value = _meant(value, schema)
        if isinstance(value, dict):
            return self._fields(cast(Any, value), schema, deep)
        if isinstance(value, list):
            return self._rows(cast(Any, value), schema, deep)
        return value

    def _rows(self, value: list[Any], schema: Mapping[str, Any], deep: int) -> list[Any]:
        first, rest = schema.get("prefixItems") or (), schema.get("items")
        inside = (first[index] if index < len(first) else rest for index in range(len(value)))
        return [self.of(one, inner, deep) for one, inner in zip(value, inside, strict=True)]

    def _fields(self, value: Json, schema: Mapping[str, Any], deep: int) -> Json:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        rest = schema.get("additionalProperties")
        spelled = {name: self.of(one, properties.get(name, rest), deep) for name, one in value.items()}
        for name, inner in properties.items():
            is_said = isinstance(inner, Mapping) and "default" in inner
            if is_said and name not in value and deep < _DEEPEST_DEFAULT:
                spelled[name] = self.of(inner["default"], inner, deep + 1)
        return spelled

    def _settled(self, value: Any, schema: Any) -> Mapping[str, Any]:
        """The schema that says what a value is: what is referred to, and of several the first that fits."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(schema, Mapping):
                break
            told = cast("Mapping[str, Any]", schema)
            several = told.get("anyOf") or told.get("oneOf") or told.get("allOf")
            if isinstance(told.get("$ref"), str):
                schema = self._referred(told["$ref"])
            elif several and "properties" not in told:
                schema = self._chosen(value, several)
            else:
                return told
        return {}

    def _chosen(self, value: Any, several: Sequence[Any]) -> Any:
        said = [one for one in several if one != _NULL]
        fitting = (one for one in several if self._fits(value, one))
        return next(fitting, said[0] if len(said) == 1 else None)

    def _referred(self, name: str) -> Any:
        with suppress(Misfit):
            return Fitting(self._root).referred(name)
        return None

    def _fits(self, value: Any, schema: Any) -> bool:
        try:
            Fitting(self._root).check(value, schema, "")
        except (Misfit, ValueError):
            return False
        return True


def _meant(value: Any, schema: Mapping[str, Any]) -> Any:
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
