"""Answers that models give to programs, read as JSON and held to a JSON schema.

The schema is the program's, which is not trusted: what it can ask for is bounded, and patterns are not looked
at, since matching one can take for ever.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from quire.agent.answer import unfenced
from quire.agent.tools import Misfit, read_value
from quire.errors import cut

_DEEPEST = 100

_MOST_STEPS = 100_000
"""What a run may take beyond what its answers pay for: a second or so of computing."""

_STEPS_OF_A_CHARACTER = 20
"""What an answer pays for: more than any schema of use takes, whose alternatives are few."""

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_RANGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}
_SIZES: Mapping[str, tuple[type, str, int]] = {
    "minLength": (str, "characters", 1),
    "maxLength": (str, "characters", -1),
    "minItems": (list, "items", 1),
    "maxItems": (list, "items", -1),
    "minProperties": (dict, "fields", 1),
    "maxProperties": (dict, "fields", -1),
}


class Steps:
    """What the looking at answers may take in one run: long answers pay for themselves, schemas do not."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def paid_by(self, words: str) -> None:
        """Add what an answer pays for."""
        self._left += _STEPS_OF_A_CHARACTER * len(words)

    def take(self, count: int) -> None:
        """Take some, or raise a `ValueError` where too few are left."""
        if count > self._left:
            raise ValueError("the model's answer cannot be checked: its schema is too involved")
        self._left -= count


def fitted(words: str, schema: Any, steps: Steps | None = None) -> Any:
    """The value that a model wrote, in a fence or without; a `ValueError` where it does not fit a schema.

    It may take its time: a loop has it in a thread. The `steps` are those of the run.
    """
    steps = steps or Steps()
    steps.paid_by(words)
    try:
        value = read_value(unfenced(words))
    except Misfit as fault:
        raise ValueError(f"the model's answer is no JSON: {fault}") from None
    try:
        Fitting(schema, steps).check(value, schema, "")
    except Misfit as fault:
        raise ValueError(f"the model's answer does not fit its schema: {fault}") from None
    return value


class Fitting:
    """One value on its way through one schema."""

    def __init__(self, root: Any, steps: Steps | None = None) -> None:
        self._root = root
        self._steps = steps or Steps()
        self._depth = 0
        self._allowed: dict[int, tuple[frozenset[str], str]] = {}

    def check(self, value: Any, schema: Any, place: str) -> None:
        """Raise a `Misfit` that says where a value does not fit."""
        if not isinstance(schema, Mapping):
            if schema is False:
                raise _misfit(place, "nothing is allowed here")
            return
        self._steps.take(1)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("the model's answer cannot be checked: its schema is too involved")
        self._all(value, cast("Mapping[str, Any]", schema), place)
        self._depth -= 1

    def _all(self, value: Any, schema: Mapping[str, Any], place: str) -> None:
        if isinstance(schema.get("$ref"), str):
            self.check(value, self.referred(schema["$ref"], place), place)
        self._single(value, schema, place)
        self._sized(value, schema, place)
        if isinstance(value, dict):
            self._fields(cast(Any, value), schema, place)
        elif isinstance(value, list):
            self._items(cast(Any, value), schema, place)
        for one in _listed(schema, "allOf"):
            self.check(value, one, place)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                self._alternatives(value, _listed(schema, several), place, only_one=several == "oneOf")

    def _single(self, value: Any, schema: Mapping[str, Any], place: str) -> None:
        kinds = schema.get("type")
        names = [kinds] if isinstance(kinds, str) else _listed(schema, "type")
        if names and not any(_is_of(value, name) for name in names):
            raise _misfit(place, f"it is of the type {' or '.join(map(str, names))}")
        allowed, words = self._allowed_by(schema)
        if allowed and _told(value) not in allowed:
            raise _misfit(place, f"it is one of {words}")

    def _allowed_by(self, schema: Mapping[str, Any]) -> tuple[frozenset[str], str]:
        """The values that a schema lists, each as JSON, where 1 is not true, and all of them to be told.

        They are made once, and are no longer than the schema: so they take no steps.
        """
        if id(schema) not in self._allowed:
            listed = [schema["const"]] if "const" in schema else _listed(schema, "enum")
            words = cut(json.dumps(listed, default=str)) if listed else ""
            self._allowed[id(schema)] = frozenset(map(_told, listed)), words
        return self._allowed[id(schema)]

    def _sized(self, value: Any, schema: Mapping[str, Any], place: str) -> None:
        if _is_of(value, "number"):
            for key, is_fine in _RANGES.items():
                if _is_of(schema.get(key), "number") and not is_fine(value, schema[key]):
                    raise _misfit(place, f"its {key} is {schema[key]}")
        for key, (kind, counted, sign) in _SIZES.items():
            most = schema.get(key)
            if not (isinstance(value, kind) and _is_of(most, "number")):
                continue
            if sign * len(cast("Sequence[Any]", value)) < sign * cast("float", most):
                raise _misfit(place, f"it has at {'least' if sign > 0 else 'most'} {most} {counted}")

    def _fields(self, value: dict[str, Any], schema: Mapping[str, Any], place: str) -> None:
        missing = next((name for name in _listed(schema, "required") if name not in value), None)
        if missing is not None:
            raise _misfit(place, f"{cut(str(missing))!r} is missing")
        known = schema.get("properties")
        properties = cast("Mapping[str, Any]", known if isinstance(known, Mapping) else {})
        for name, inner in value.items():
            at = f"{place}.{name}" if place else name
            if name in properties:
                self.check(inner, properties[name], at)
            elif schema.get("additionalProperties") is False:
                raise _misfit(place, f"there is no {cut(name)!r} in it")
            else:
                self.check(inner, schema.get("additionalProperties"), at)

    def _items(self, value: list[Any], schema: Mapping[str, Any], place: str) -> None:
        first = _listed(schema, "prefixItems")
        for index, inner in enumerate(value):
            self.check(
                inner, first[index] if index < len(first) else schema.get("items"), f"{place}[{index}]"
            )

    def _alternatives(self, value: Any, schemas: Sequence[Any], place: str, *, only_one: bool) -> None:
        fitting, depth = 0, self._depth
        for one in schemas:
            try:
                self.check(value, one, place)
                fitting += 1
            except Misfit:
                self._depth = depth
        if not fitting or (only_one and fitting > 1):
            raise _misfit(place, f"it fits {fitting or 'none'} of {len(schemas)} alternatives")

    def referred(self, name: str, place: str = "") -> Any:
        """What a reference stands for, or a `Misfit`."""
        found = self._root
        for step in name.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or key not in found:
                raise _misfit(place, f"the schema has no {cut(name)!r}")
            found = cast(Any, found[key])
        return found  # pyright: ignore[reportUnknownVariableType]


def _is_of(value: Any, kind: Any) -> bool:
    if kind == "integer":
        return _is_of(value, "number") and value == value // 1
    if isinstance(value, bool) and kind == "number":
        return False
    return isinstance(kind, str) and isinstance(value, _KINDS.get(kind, object))


def _listed(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = schema.get(key)
    return cast("Sequence[Any]", found) if isinstance(found, list) else ()


def _told(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _misfit(place: str, text: str) -> Misfit:
    return Misfit(f"{cut(place)}: {text}" if place else text)
