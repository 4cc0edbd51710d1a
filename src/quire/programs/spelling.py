"""Calls by all that they say, in one spelling: by it the same call is known, however it was written.

The spelling is of what was given, and not of what a tool reads from it. To read may draw an id or a time, so
that nothing is ever read twice; and what was read may hide a secret, so that what differs looks the same.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import Parameter
from typing import Any, cast

from quire.agent import Tool
from quire.agent.tools import Json, Misfit, read_json
from quire.agent.tools.shapes import MISSING
from quire.programs.fitting import Fitting
from quire.programs.kinds import UNKNOWN, Kind, taken_by
from quire.programs.one_reading import as_read, exact, meant
from quire.programs.values import LARGE, plain
from quire.stores.threads import COMPUTING

_MOST_REFERENCES = 20
"""From one schema to the next, before the one that says something."""

_DEEPEST_DEFAULT = 3
"""Defaults within defaults: a type may hold itself."""

_NULL = {"type": "null"}

_DECIMAL = "^(?!^[-+.]*$)"
"""How the pattern of a decimal begins, as pydantic writes it."""


async def key_of(tool: Tool, arguments: str) -> str:
    """What a call is known by: those that say the same have the same."""
    if len(arguments) <= LARGE:
        return _key(tool, arguments)
    return await COMPUTING.do(_key, tool, arguments)  # where it holds up nobody


def _key(tool: Tool, arguments: str) -> str:
    parameters: Json = tool.definition["parameters"]
    try:
        given = {**_defaults(tool, parameters), **read_json(arguments)}
    except Misfit:  # no tool is run with these
        return f"{tool.name} {arguments}"
    spelled = _Spelling(parameters).of(given, parameters, taken_by(tool))
    return f"{tool.name} {json.dumps(spelled, sort_keys=True)}"


def _defaults(tool: Tool, parameters: Json) -> Json:
    """The defaults that the function has and the schema does not say, such as models and paths."""
    found: Json = {}
    properties: Json = parameters.get("properties") or {}
    for one in tool.signature.order:
        if one.default is Parameter.empty or one.name not in properties:
            continue
        if not _says_default(properties[one.name]):
            with suppress(Exception):  # it is written by code of its own
                found[one.name] = plain(one.default)
    return found


class _Spelling:
    """Values on their way through the schema of what a tool takes."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def of(self, value: Any, schema: Any, kind: Kind = UNKNOWN, deep: int = 0) -> Any:
        """A value in its one spelling, with the defaults of what is left out.

        One that has none stays as it was given. So no call fails of it, none is taken for another, and one
        that is written the same way is not made again.
        """
        try:
            return self._spelled(value, schema, kind, deep)
        except Exception:  # schemas and types are anybody's
            return value

    def _spelled(self, value: Any, schema: Any, kind: Kind, deep: int) -> Any:
        is_exact = self._is_exact(schema)
        schema = self._settled(value, schema)
        value = meant(value, schema)
        kind = kind.of(value)
        if isinstance(value, dict):
            return self._record(cast(Any, value), schema, kind, deep)
        if isinstance(value, list):
            return self._rows(cast(Any, value), schema, kind, deep)
        return exact(value) if is_exact else as_read(value, kind.type)

    def _fields(self, value: Json, schema: Mapping[str, Any], kinds: Mapping[str, Kind], deep: int) -> Json:
        """The fields of an object, with the defaults that the schema says."""
        properties: Mapping[str, Any] = schema.get("properties") or {}
        rest = schema.get("additionalProperties")
        spelled = {
            name: self.of(one, properties.get(name, rest), kinds.get(name, UNKNOWN), deep)
            for name, one in value.items()
        }
        for name, inner in properties.items():
            if _says_default(inner) and name not in value and deep < _DEEPEST_DEFAULT:
                spelled[name] = self.of(inner["default"], inner, kinds.get(name, UNKNOWN), deep + 1)
        return spelled

    def _record(self, value: Json, schema: Mapping[str, Any], kind: Kind, deep: int = 0) -> Json:
        """An object without those fields that say what is made where they are left out."""
        properties: Mapping[str, Any] = schema.get("properties") or {}
        kinds = {name: kind.entry(name) for name in (*value, *properties)}
        spelled = self._fields(value, schema, kinds, deep)
        for name, held in kind.fields.items():
            inner = properties.get(name)
            if held.made is None or _says_default(inner) or name not in value or deep >= _DEEPEST_DEFAULT:
                continue
            made = held.made.value()
            if made is not MISSING and _is_same(self.of(made, inner, kinds[name], deep + 1), spelled[name]):
                del spelled[name]
        return spelled

    def _rows(self, value: list[Any], schema: Mapping[str, Any], kind: Kind, deep: int) -> list[Any]:
        first, rest = schema.get("prefixItems") or (), schema.get("items")
        inside = (first[index] if index < len(first) else rest for index in range(len(value)))
        rows = enumerate(zip(value, inside, strict=True))
        return [self.of(one, inner, kind.row(index), deep) for index, (one, inner) in rows]

    def _is_exact(self, schema: Any) -> bool:
        """Whether this is how pydantic says that it reads a decimal: a number, or one as a text."""
        said: Any = cast("Mapping[str, Any]", schema).get("anyOf") if isinstance(schema, Mapping) else None
        match [one for one in cast("list[Any]", said or []) if one != _NULL]:
            case [{"type": "number"}, {"type": "string", "pattern": str(pattern)}]:
                return pattern.startswith(_DECIMAL)
            case _:
                return False

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


def _says_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def _is_same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
